"""Words of the held-out prompts; none of the development prompts' names, places or topics."""

from specdec.prompts.families.grammar import bank

PEOPLE = bank(
    "Dr Abara|Professor Castellan|Ms Delacroix|Mr Eklund|Mrs Fontaine|Captain Grohl|Sister Halloran|Inspector "
    "Ivanov|Mr Jimenez|"
    "Ms Kowalczyk|Mrs Lindqvist|Judge Marchetti|Dr Nakamura|Ms Okonkwo|Mr Petrakis|Mrs Quispe|Dr Rahman|Ms Santoro|"
    "Mr Tanaka|Mrs Ueland|Dr Vasquez|Ms Whitlock|Mr Xiang|Mrs Yilmaz|Ms Zeller"
)
FIRST_NAMES = bank(
    "Aisha|Bruno|Chiara|Dag|Esther|Finn|Gita|Hana|Igor|Jana|Kofi|Lars|Maeve|Noor|Otis|Priya|Quentin|Ruth|Stefan|"
    "Tomoko|"
    "Ursula|Viktor|Wanda|Ximena|Yusuf"
)
CITIES = bank(
    "Arvika|Belmonte|Corvo|Drammen|Esbjerg|Faro|Ghent|Haarlem|Izmir|Jaca|Kuopio|Lucca|Malmo|Nantes|Oulu|Pisa|"
    "Rovaniemi|Siena|"
    "Trento|Uppsala|Viborg|Winterthur|Xanten|Ystad|Zadar"
)
WEEKDAYS = bank("Mon|Tue|Wed|Thu|Fri|Sat|Sun")
MATERIALS = bank(
    "linen|basalt|zinc|cork|slate|resin|hemp|pewter|marble|felt|bamboo|quartz|leather|bronze|limestone|graphite|"
    "velvet|steel"
)
FOODS = bank(
    "lentils|saffron|figs|rye bread|goat cheese|paprika|olives|rice noodles|plums|smoked trout|chickpeas|almond "
    "paste|beetroot|"
    "barley soup|pickled ginger|quinces|mint tea|polenta"
)
MOODS = bank("cautious|hopeful|stubborn|restless|generous|silent|weary|cheerful|strict|absent-minded|bold|gentle")

PAD_OPENINGS = ("\n\nYour answer should show:", " Show:")
PAD_ITEMS = bank(
    "a steady line of thought|two concrete cases|everything that was asked|headings only where useful|sound judgement|"
    "correct quantities|links between the parts|honest gaps|a closing remark of one line|neutral language|"
    "the most urgent matter at the top|quotations kept short|proper grammar|evidence|structure|method|skill|logic|"
    "sense|flow|aim|tone|nuance|respect|restraint|economy|candour|vigour|accuracy|coherence|context|emphasis|"
    "an eye for exceptions|a fair view of both sides|careful wording|names spelt as above|"
    "realistic advice|what remains open|cause and consequence|the wider picture|practical value|"
    "some background|all relevant figures|at least eighty words|logical transitions|moderate "
    "length|"
    "a clear verdict|sensible grouping|no filler|calm confidence|attention to dates"
)

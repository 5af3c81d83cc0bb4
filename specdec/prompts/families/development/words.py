"""Words of the development prompts. The held-out prompts have banks of their own (names, places, topics)."""

from specdec.prompts.families.grammar import bank

NAMES = bank(
    "Ana|Boris|Clara|Dmitri|Elena|Farid|Greta|Hugo|Ines|Jonas|Karin|Leo|Mira|Nils|Olga|Pavel|Rosa|Samir|Tessa|Uwe|"
    "Vera|Wim|Yara|Zeno|Anton|Bella|Cosmo|Dalia|Emil|Flora"
)
TOWNS = bank(
    "Alder Quay|Birchford|Copper Mill|Dunmoor|Eastfold|Fernley|Gullhaven|Hollin Cross|Ivybridge End|Juniper Bay|"
    "Kestrel Hill|"
    "Lowmarsh|Mapleton|Northwick|Oatfield|Pebble Strand|Quarry Bank|Redwater|Saltmere|Thornby"
)
DAYS = bank("Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday")
MONTHS = bank("January|February|March|April|May|June|July|August|September|October|November|December")
JOBS = bank(
    "baker|nurse|carpenter|bus driver|gardener|librarian|tailor|beekeeper|plumber|violin teacher|postal worker|cook|"
    "electrician|florist|swimming coach|locksmith|farmer|dentist|ferry pilot|painter"
)
GOODS = bank(
    "apples|candles|notebooks|lemons|jars of honey|teacups|pencils|onions|blankets|bars of soap|postcards|eggs|"
    "ribbons|"
    "sacks of flour|lamps|pears|wooden spoons|walnuts|bottles of oil|cushions"
)
COLOURS = bank("red|amber|teal|violet|cream|navy|olive|coral|silver|brown|pink|black")
FEELINGS = bank("glad|puzzled|tired|curious|worried|pleased|annoyed|calm|proud|surprised")

PAD_OPENINGS = ("\n\nPoints to respect:", " Mind:")
PAD_ITEMS = bank(
    "plain words|one example|exact names|full sentences|no jargon|a calm tone|clear order|short paragraphs|the main "
    "idea first|"
    "numbers as given|no invented facts|a careful ending|dates in full|reasons for each step|useful comparisons|"
    "nothing left out|gentle humour at most|active verbs|a friendly voice|at least five "
    "sentences|"
    "care|time|tact|unity|rhythm|wit|pace|brevity where it helps|a natural flow|sources when known|"
    "spelling|commas|ease|clarity|honesty|patience|balance|detail|depth|focus|variety|fairness|warmth|precision|"
    "room for doubt|the reader in mind|terms explained once|consistent units|a title if it fits|the order of events|"
    "everyday pictures|examples from home|causes before effects|who did what|limits of the answer"
)

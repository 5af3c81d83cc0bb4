"""Development prose: explain a concept to named readers, shorten a public notice, answer from a chronicle."""

import random

from specdec.prompts.families.development.words import COLOURS, DAYS, FEELINGS, JOBS, MONTHS, NAMES, TOWNS
from specdec.prompts.families.grammar import Grammar, bank
from specdec.prompts.families.sketch import Family, Sketch, document

CONCEPT_BANKS = {
    "name": NAMES,
    "job": JOBS,
    "town": TOWNS,
    "feeling": FEELINGS,
    "concept": bank(
        "inflation|the tide|photosynthesis|compound interest|friction|an ecosystem|gravity|supply and demand|"
        "magnetism|evolution by selection|the water cycle|probability|an echo"
    ),
    "aspect": bank(
        "where it begins|why it never stops|how to measure it|what its absence would do|who first noticed it|"
        "how fast it works|which mistakes are common|how large it gets|what it costs|how children could test it|"
        "why books disagree|what slows it down|whether it is everywhere|which tools show it|what kitchens teach of it|"
        "why experts quarrel|how weather changes it|when it turns harmful|what hides it|why it feels slow|"
        "who profits from it|what came before it|how animals sense it|whether it can be stored|what reverses it|"
        "how cities depend on it|why it has two names|what a picture would show"
    ),
    "object": bank(
        "a kettle|a rubber band|a garden hose|a savings book|a bicycle pump|a paper boat|a mirror|a drum|"
        "a pot of basil|a deck of cards|a seesaw|a fish tank|a woollen scarf|a swing|a jar of coins|a candle stub|"
        "a wind chime|a sponge|a spinning top|a torch|a door spring|a soup ladle|a sandglass|a kite|a sundial"
    ),
    "habit": bank(
        "sketches ideas on napkins|reads only on the tram|learns best by arguing|keeps a diary of questions|"
        "trusts pictures over formulas|tries everything at once|wants the short version first|"
        "remembers stories, not rules|counts on fingers|asks the same thing twice|teaches it to a neighbour"
    ),
}
READERS = (
    "{Name}, a {job} from {town}, asks {aspect} and thinks of {object}.",
    "In {town} the {job} {name} is {feeling} about one thing: {aspect}.",
    "{Name} {habit} and would like to hear {aspect}.",
    "A {job} called {name} compares the matter with {object} and wonders {aspect}.",
    "Letter {10-99}, from {town}: {name} has tried {object} at home and now asks {aspect}.",
    "{Name} ({job}, {18-80} years old) {habit}; the question is {aspect}.",
    "Two friends in {town}, {name} and {name}, disagree on {aspect}; {object} started the quarrel.",
    "The {job} {name} was {feeling} when {object} seemed to show {aspect}.",
    "For the {job}s of {town}, {object} is proof enough; {name} still wants to hear {aspect}.",
    "{Name} once explained it to a {job} with {object} and got stuck on the point {aspect}.",
    "Is it true, asks {name} of {town}, that {object} and {object} obey the same rule, and {aspect}?",
    "Nobody at the table of {name} in {town} could say {aspect}, not even the {job} with {object}.",
    "{Name} {habit}, {name} {habit}: both are {feeling}, and both ask {aspect}.",
    "A postcard with {object} on it comes from {name}, who lives near a {job} in {town} and asks {aspect}.",
    "On page {12-96} of a schoolbook {name} found {object}, but not a word on {aspect}.",
    "The {feeling} {job} {name} offers {object} to whoever can say {aspect}.",
)

NOTICE_BANKS = {
    "day": DAYS,
    "month": MONTHS,
    "town": TOWNS,
    "name": NAMES,
    "colour": COLOURS,
    "service": bank(
        "the swimming pool|bus line 7|the public library|the recycling yard|the weekly market|the ferry|"
        "the town archive|the ice rink|the night bus|the allotment gate|the youth centre|the clinic"
    ),
    "cause": bank(
        "a burst water main|new roof tiles|a staff meeting|the autumn fair|fresh asphalt|a film crew|"
        "a nesting falcon|cable repairs|the annual stocktaking|a loose chimney|tree felling|an inspection"
    ),
    "duty": bank(
        "bring proof of address|use the side entrance|keep dogs on a lead|return borrowed keys|"
        "park behind the fire station|book a time by telephone|leave bicycles at the fence|carry small change|"
        "collect a numbered ticket|label every box|arrive ten minutes early|sign the list at the desk"
    ),
}
NOTICES = (
    "From {day} {2-28} {month} {service} in {town} stays closed because of {cause}.",
    "Residents of {town} must {duty} until {day} at {7-11} o'clock.",
    "Questions about {service} go to {name} in room {100-480}, open on {day} and {day}.",
    "Because of {cause}, {service} moves to {town} for {2-9} weeks from {month} on.",
    "Visitors with a {colour} card may skip the queue but must {duty}.",
    "The charge for {service} rises from {2-9} to {10-19} crowns on {2-28} {month}.",
    "Whoever lives within {50-900} metres of {cause} should {duty} before {day}.",
    "A {colour} flag above {town} hall means that {service} runs {10-50} minutes late.",
    "On {2-28} {month} councillor {name} explains {cause} at {town} school, room {1-40}.",
    "Refunds for {service} end on {2-28} {month}; please {duty}.",
    "{Name} and {name} collect complaints about {cause} every {day} in {town}.",
    "Please {duty} even if {service} looks open, since {cause} can last {3-30} days.",
)

CHRONICLE_BANKS = {
    "name": NAMES,
    "town": TOWNS,
    "month": MONTHS,
    "colour": COLOURS,
    "ship": bank("the Sandpiper|the Marigold|the Old Thrush|the Penny Wise|the Northern Hare|the Blue Acorn"),
    "find": bank(
        "a bronze bell|seven sealed jars|a map drawn on bark|a broken sextant|a carved whale tooth|"
        "a chest of dried figs|a child's wooden boat|a stone with tally marks|a ring of iron keys|"
        "a bundle of letters|a compass without a needle|a clay whistle|an unknown {colour} shell"
    ),
    "weather": bank(
        "in thick fog|under a hard frost|after three days of rain|in a dry wind|by moonlight|during a hailstorm|"
        "on a windless morning|just before the thaw|through drifting smoke"
    ),
    "site": bank(
        "the lower cave|the salt meadow|the ruined pier|the goat path|the second spring|the watch stone|"
        "the drowned orchard|the gravel bank|the north landing|the hollow oak|the tide gate|the kiln"
    ),
}
CHRONICLE = (
    "On {2-28} {month} {name} reached {site} {weather} and found {find}.",
    "{Name} measured {site}: {12-96} paces long, {3-11} wide, with {colour} clay at the bottom.",
    "{Weather}, the crew of {ship} carried {find} from {site} to {town}.",
    "A quarrel between {name} and {name} over {find} ended at {site} on {2-28} {month}.",
    "{Name} wrote that {site} smelled of {colour} moss and that {find} lay {2-40} feet below.",
    "When {ship} left {town}, {name} stayed behind to guard {site} for {2-30} nights.",
    "Nobody in {town} believed {name}, although {find} had been drawn {weather}.",
    "The {colour} tents at {site} were struck {weather}, and {name} counted {20-90} pegs.",
    "{Name} traded {find} for {3-60} loaves in {town}, {weather}.",
    "In {month} a {colour} signal from {site} told {ship} that {name} had come upon {find}.",
    "{Name} and the {colour} dog slept at {site}, {weather}, with {find} between them.",
    "Of {20-90} letters from {site}, one by {name} mentions {find}, torn {weather}.",
    "{Weather} a {colour} lamp was seen at {site}; {name} took it for {ship}.",
    "The cook of {ship} swore that {find} came from {town}, not from {site}.",
    "{Name} paid {name} {3-40} coins to dig at {site} {weather}.",
    "{Find} was lost again {weather} between {site} and {site}.",
)


def explain_concept(rng: random.Random) -> Sketch:
    """Readers' questions, then: explain one concept to all of them."""
    words = Grammar(rng, CONCEPT_BANKS)
    concept = words.pick("concept")
    head = f"I write a column that explains {concept} to people without training. These readers have written in:\n\n"
    tail = (
        f"\n\nExplain {concept} so that all of them can follow. Begin with an everyday situation, say what happens "
        "step "
        "by step, and answer at least two of the readers by name."
    )
    briefs = words.stream(
        (
            "Explain {concept} simply.",
            "What is {concept}?",
            "Explain {concept} with the help of {object}.",
            "Tell a {job} what {concept} means and {aspect}.",
            "Describe {concept} to {name}, who {habit}.",
        )
    )
    return Sketch(document(head, tail), words.paragraphs(READERS), briefs)


def summarize_notice(rng: random.Random) -> Sketch:
    """A municipal notice, then: a short version for the notice board."""
    words = Grammar(rng, NOTICE_BANKS)
    town = words.pick("town")
    head = f"Notice of the county, posted in {town}\n\n"
    tail = (
        "\n\nShorten this notice for the board beside the town hall door. Keep every closing date and every duty that "
        "a resident has, drop the rest, and write five to eight sentences."
    )
    briefs = words.stream(
        (
            "Shorten: {service} is shut.",
            "Write a notice: {service} closes on {day} because of {cause}.",
            "Sum up for neighbours: due to {cause}, people must {duty}.",
            "Announce that {service} moves to {town} in {month}, and ask people to {duty}.",
        )
    )
    return Sketch(document(head, tail), words.paragraphs(NOTICES, 2, 4), briefs)


def passage_question(rng: random.Random) -> Sketch:
    """An island chronicle, then: a question about one of its people."""
    words = Grammar(rng, CHRONICLE_BANKS)
    island, person, site = words.pick("colour").capitalize() + " Island", words.pick("name"), words.pick("site")
    planted = words.say(f"On {{2-28}} {{month}} {person} opened {site} {{weather}} and found {{find}}.")
    head = f"From the chronicle of {island}.\n\n{planted} "
    tail = (
        f"\n\nQuestion: according to the chronicle, what did {person} do, and what was found at {site}? Quote the "
        "words that "
        "support your answer, then explain in a few sentences how sure one can be."
    )
    briefs = words.stream(
        (
            "Who might hide {find}?",
            "Why would {name} bury {find}?",
            "{Name} found {find} at {site}. What might it have been for?",
            "Guess how {find} came to {town} {weather}, and give three reasons.",
        )
    )
    return Sketch(document(head, tail), words.paragraphs(CHRONICLE, 3, 6), briefs)


PROSE = (
    Family("explain_concept", "development", "explain", "a concept for readers who wrote in", explain_concept),
    Family("summarize_notice", "development", "summarise", "a municipal notice for the board", summarize_notice),
    Family(
        "passage_question", "development", "question on a text", "a detail of an island chronicle", passage_question
    ),
)

"""Development prose: explain a concept to named readers, shorten a public notice, answer from a chronicle."""

import random

from specdec.prompts.families.development.words import COLOURS, DAYS, FEELINGS, JOBS, MONTHS, NAMES, TOWNS
from specdec.prompts.families.grammar import Grammar
from specdec.prompts.families.sketch import Family, Sketch, document

CONCEPT_BANKS = {
    "name": NAMES,
    "job": JOBS,
    "town": TOWNS,
    "feeling": FEELINGS,
    "concept": (
        *("inflation", "the tides", "photosynthesis", "compound interest", "friction", "an ecosystem", "gravity"),
        *("supply and demand", "magnetism", "evolution by selection", "the water cycle", "probability", "sound waves"),
    ),
    "aspect": (
        *("where it begins", "why it never quite stops", "how one could measure it", "what would happen without it"),
        *("who first noticed it", "how fast it works", "which mistakes people make about it", "how large it can get"),
        *("what it costs in daily life", "how children could test it", "why books describe it differently"),
        *("what slows it down", "whether it is the same everywhere", "which tools make it visible"),
        *("how it shows itself in a kitchen", "why experts argue over it", "what it has to do with the weather"),
    ),
    "object": (
        *("a kettle", "a rubber band", "a garden hose", "a savings book", "a bicycle pump", "a paper boat", "a mirror"),
        *("a drum", "a pot of basil", "a deck of cards", "a seesaw", "a fish tank", "a woollen scarf", "a swing"),
        *("a jar of coins", "a candle stub", "a wind chime", "a sponge"),
    ),
    "habit": (
        *(
            "sketches ideas on napkins",
            "reads only on the tram",
            "learns best by arguing",
            "keeps a diary of questions",
        ),
        *("trusts pictures over formulas", "tries everything at once", "wants the short version first"),
        *(
            "remembers stories, not rules",
            "counts on fingers",
            "asks the same thing twice",
            "teaches it to a neighbour",
        ),
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
)

NOTICE_BANKS = {
    "day": DAYS,
    "month": MONTHS,
    "town": TOWNS,
    "name": NAMES,
    "colour": COLOURS,
    "service": (
        *(
            "the swimming pool",
            "bus line 7",
            "the public library",
            "the recycling yard",
            "the weekly market",
            "the ferry",
        ),
        *("the town archive", "the ice rink", "the night bus", "the allotment gate", "the youth centre", "the clinic"),
    ),
    "cause": (
        *("a burst water main", "new roof tiles", "a staff meeting", "the autumn fair", "fresh asphalt", "a film crew"),
        *(
            "a nesting falcon",
            "cable repairs",
            "the annual stocktaking",
            "a loose chimney",
            "tree felling",
            "an inspection",
        ),
    ),
    "duty": (
        *("bring proof of address", "use the side entrance", "keep dogs on a lead", "return borrowed keys"),
        *(
            "park behind the fire station",
            "book a time by telephone",
            "leave bicycles at the fence",
            "carry small change",
        ),
        *("collect a numbered ticket", "label every box", "arrive ten minutes early", "sign the list at the desk"),
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
    "ship": (
        "the Sandpiper",
        "the Marigold",
        "the Old Thrush",
        "the Penny Wise",
        "the Northern Hare",
        "the Blue Acorn",
    ),
    "find": (
        *("a bronze bell", "seven sealed jars", "a map drawn on bark", "a broken sextant", "a carved whale tooth"),
        *("a chest of dried figs", "a child's wooden boat", "a stone with tally marks", "a ring of iron keys"),
        *("a bundle of letters", "a compass without a needle", "a clay whistle", "an unknown {colour} shell"),
    ),
    "weather": (
        *("in thick fog", "under a hard frost", "after three days of rain", "in a dry wind", "by moonlight"),
        *("during a hailstorm", "on a windless morning", "just before the thaw", "through drifting smoke"),
    ),
    "site": (
        *(
            "the lower cave",
            "the salt meadow",
            "the ruined pier",
            "the goat path",
            "the second spring",
            "the watch stone",
        ),
        *("the drowned orchard", "the gravel bank", "the north landing", "the hollow oak", "the tide gate", "the kiln"),
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
    "{Find} was lost again {weather} between {site} and {site}.",
)


def explain_concept(rng: random.Random) -> Sketch:
    """Readers' questions, then: explain one concept to all of them."""
    words = Grammar(rng, CONCEPT_BANKS)
    concept = words.pick("concept")
    head = f"I write a column that explains {concept} to people without training. These readers have written in:\n\n"
    tail = (
        f"\n\nExplain {concept} so that all of them can follow. Begin with an everyday situation, say what happens step "
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
    head = f"Municipal notice, {town}\n\n"
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
    head = f"From the chronicle of {island}, where {person} led the search at {site}.\n\n"
    tail = (
        f"\n\nQuestion: according to the chronicle, what did {person} do, and what was found at {site}? Quote the words that "
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

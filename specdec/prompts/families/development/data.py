"""Development prompts on data: pull records out of prose, correct a paragraph, solve a market sum."""

import random
from collections.abc import Iterator

from specdec.prompts.families.development.words import COLOURS, DAYS, GOODS, JOBS, MONTHS, NAMES, TOWNS
from specdec.prompts.families.grammar import Grammar, bank
from specdec.prompts.families.sketch import Family, Sketch, document

PARCEL_BANKS = {
    "name": NAMES,
    "town": TOWNS,
    "goods": GOODS,
    "colour": COLOURS,
    "day": DAYS,
    "month": MONTHS,
    "state": bank("dented|late|complete|soaked|opened|unlabelled|too heavy|well packed"),
    "carrier": bank("the morning van|a cargo bicycle|the night train|courier Finch|the river barge|a cousin's lorry"),
}
PARCELS = (
    "Parcel {1000-9999} with {2-90} {goods} left {town} on {day} for {name}, paid in cash.",
    "{Name} in {town} got number {1000-9999}, {3-40} {goods} in a {colour} box, brought by {carrier}.",
    "By {carrier} came {4-60} {goods} for {name}; the slip says {1000-9999} and the box was {state}.",
    "On {2-28} {month} {name} sent back {2-30} {goods}, {state}, under number {1000-9999}.",
    "Number {1000-9999} is still in {town}: {5-80} {goods}, weight {2-40} kilos, wanted by {name}.",
    "{Name} asks for {carrier} to take {2-50} {goods} to {town} by {day}, file {1000-9999}.",
    "The {colour} crate {1000-9999}, {state}, holds {6-70} {goods} that {name} ordered in {month}.",
    "For {name}: {2-25} {goods} and a {colour} bow, {1000-9999}, from {town} with {carrier}.",
)

DRAFT_BANKS = {
    "name": NAMES,
    "town": TOWNS,
    "job": JOBS,
    "colour": COLOURS,
    "day": DAYS,
    "goods": GOODS,
    "exhibit": bank(
        "the clock room|a stuffed heron|the map table|an iron loom|the coin drawer|a diving bell|the glass beehive|"
        "a sleigh|the fossil wall|a printing press|the puppet stage|an old tram"
    ),
    "slip": bank("realy|allways|definately|sudenly|allmost|probly|usualy|finaly|quitely|certanly|oftenly|mabye"),
    "double": bank("the the|was was|and and|of of|in in|to to"),
}
DRAFT = (
    "On {day} we saw {exhibit}, {slip} the guide {name} said it it came from {town}.",
    "{Name} draw {exhibit} in a {colour} notebook, and {double} {job} beside her smile.",
    "My uncle, a {job}, {slip} liked {exhibit} more then {exhibit}.",
    "There was {3-90} {goods} under {exhibit}, {double} label was {colour}.",
    "We walks from {exhibit} to {exhibit} in {2-20} minute, {name} being {slip} slow.",
    "In {town} they has {exhibit} too, but {slip} ours are {colour}.",
    "The {job} who mend {exhibit} told {name} {double} secret about {goods}.",
    "{Slip} {day} is quiet, {name} could touch {exhibit} with {double} {colour} glove.",
    "I has bought {2-9} {goods} in the shop, {slip} {exhibit} were closed for {name}s class.",
    "Behind {exhibit} a {colour} door lead {double} cellar where a {job} keep {goods}.",
)

MARKET_BANKS = {
    "name": NAMES,
    "goods": GOODS,
    "town": TOWNS,
    "day": DAYS,
    "colour": COLOURS,
    "job": JOBS,
}
MARKET = (
    "{Name} brings {12-96} {goods} to the {town} market and asks {2-9} coins for each.",
    "On {day} {name} buys {3-11} {goods} and pays with {60-99} coins.",
    "The {job} {name} swaps {2-9} {goods} for {10-30} {goods}.",
    "By noon {name} has sold {5-48} {goods}, among them {2-4} in {colour} paper.",
    "A stall in {town} costs {name} {6-24} coins and a share of {2-5} {goods}.",
    "{Name} drops {2-8} {goods} on the road from {town} and gives {2-6} more to a {job}.",
    "Each {colour} basket of {name} holds {4-15} {goods}; on {day} there were {2-7} baskets.",
    "For every {3-6} {goods} that {name} sells, the {job} adds {2-4} {goods} for nothing.",
)


def extract_record(rng: random.Random) -> Sketch:
    """A clerk's notes about parcels, then: one record of key-value lines per parcel."""
    words = Grammar(rng, PARCEL_BANKS)
    head = "Notes of the parcel desk, taken down in a hurry:\n\n"
    tail = (
        "\n\nTurn the notes into records, one per parcel in the order above. Write each record as lines 'number:', "
        "'person:', 'goods:', 'amount:' and 'remark:', with a blank line between records and 'unknown' where "
        "nothing is said."
    )
    briefs = words.stream(
        (
            "List the facts: {2-90} {goods}.",
            "Make a record: parcel {1000-9999}, {goods}, {name}.",
            "Split into fields: {name} of {town} got {2-90} {goods} on {day}.",
        )
    )
    return Sketch(document(head, tail), words.lines(PARCELS), briefs)


def edit_paragraph(rng: random.Random) -> Sketch:
    """A pupil's essay with slips, then: the same text corrected."""
    words = Grammar(rng, DRAFT_BANKS)
    head = "A pupil has written about a museum visit:\n\n"
    tail = (
        "\n\nCopy the whole essay and correct it: spelling, doubled words, verb forms and plurals. Change nothing "
        "else, keep "
        "the order of the sentences, and give only the corrected essay."
    )
    briefs = words.stream(
        (
            "Correct: {slip} cat sleep.",
            "Correct this: we was at {exhibit}.",
            "Correct and repeat: {name} see {exhibit} on {day}, {slip} it rain.",
        )
    )
    return Sketch(document(head, tail), words.paragraphs(DRAFT, 4, 7), briefs)


def word_problem(rng: random.Random) -> Sketch:
    """Market facts, then: a sum over some of them, with the working shown."""
    words = Grammar(rng, MARKET_BANKS)
    person, goods = words.pick("name"), words.pick("goods")
    n, price, gift, spent = words.number(24, 90), words.number(3, 9), words.number(2, 12), words.number(15, 60)
    head = "Some of these market facts matter, others do not.\n\n"
    tail = (
        f"\n\nLate in the day {person} arrives with {n} {goods}, gives away {gift}, sells all the others at {price} "
        "coins apiece "
        f"and spends {spent} coins on supper. How many coins does {person} take home? Show the working line by line "
        "and check it."
    )
    briefs = words.stream(
        (
            "Add {12-96}, {12-96} and {12-96}.",
            "{Name} sells {12-96} {goods} at {2-9} coins. Total?",
            "{Name} has {30-96} {goods} and gives {2-20} to each of {2-4} friends. What is left? Show the steps.",
        )
    )
    return Sketch(document(head, tail), _numbered(words), briefs)


def _numbered(words: Grammar) -> Iterator[str]:
    for number, fact in enumerate(words.stream(MARKET), start=1):
        yield f"{chr(10) if number > 1 else ''}{number}. {fact}"


DATA = (
    Family("extract_record", "development", "extract", "parcel notes into key-value records", extract_record),
    Family("edit_paragraph", "development", "edit", "a pupil's essay, copied with corrections", edit_paragraph),
    Family("word_problem", "development", "arithmetic", "a market sum among other facts", word_problem),
)

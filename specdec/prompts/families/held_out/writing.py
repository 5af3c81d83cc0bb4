"""Held-out writing: a list under constraints, a short story from a notebook, an e-mail from scattered notes."""

import random
from collections.abc import Iterator

from specdec.prompts.families.grammar import Grammar, bank
from specdec.prompts.families.held_out.words import CITIES, FIRST_NAMES, FOODS, MATERIALS, MOODS, PEOPLE, WEEKDAYS
from specdec.prompts.families.sketch import Family, Sketch, document

PARTY_BANKS = {
    "first": FIRST_NAMES,
    "food": FOODS,
    "city": CITIES,
    "mood": MOODS,
    "material": MATERIALS,
    "event": bank(
        "a stargazing night|a bicycle tour|a book swap|a neighbourhood brunch|a lantern walk|a repair party|"
        "a boat picnic"
    ),
    "limit": bank(
        "cannot eat {food}|arrives after {16-22}:{10-50}|brings {2-9} folding chairs|is afraid of dogs|"
        "lends a {material} table|needs a seat near the door|must leave by tram|is allergic to {food}|"
        "has a budget of {8-90} euros|wants everyone to sing|only helps before {9-12} o'clock"
    ),
}
PARTY = (
    "{First} from {city} {limit} and {limit}.",
    "{First}, {mood} lately, {limit}; {first} knows why.",
    "With {2-9} children, {first} {limit}.",
    "Last year {food} ran out after {20-90} minutes, so {first} {limit}.",
    "{First} {limit}, whereas {first} {limit}.",
    "The hall in {city} has {2-30} {material} benches; {first} {limit}.",
)

TALE_BANKS = {
    "first": FIRST_NAMES,
    "city": CITIES,
    "mood": MOODS,
    "material": MATERIALS,
    "food": FOODS,
    "secret": bank(
        "a tunnel under the bakery|a twin nobody mentions|a tune that opens doors|a letter never posted|"
        "a key made of {material}|a debt to the ferryman|a garden on the roof|a map sewn into a coat|"
        "a talking weathercock|an unsigned portrait|a bell that rings by itself|a drawer full of snow"
    ),
    "habit": bank(
        "counts stairs|never wears {material}|speaks to lamps|walks backwards on {day}s|collects shadows|"
        "smells of {food}|sleeps at noon|answers with questions|carries a cage|hums off key"
    ),
    "day": bank("Advent Sunday|market day|leap day|midsummer|the last day of term|carnival"),
}
TALE = (
    "{First}: {mood}, {16-90} years old, {habit}, guards {secret}.",
    "{City}, {day}. {First} hears of {secret} and turns {mood}.",
    "Perhaps {first} and {first} both want {secret}, for {food}?",
    "{Secret} smells of {food} and is wrapped in {material}.",
    "{First} {habit} whenever {first} is {mood}.",
    "Idea {1-90}: on {day} {secret} reaches {city} by mistake.",
    "{First} lies about {secret}, {habit}, and leaves {city} on {day}.",
    "House {2-70} in {city}: {material} walls, {mood} owner, {secret}.",
)

DESK_BANKS = {
    "who": PEOPLE,
    "first": FIRST_NAMES,
    "city": CITIES,
    "weekday": WEEKDAYS,
    "material": MATERIALS,
    "mood": MOODS,
    "topic": bank(
        "the {material} exhibition|travel to {city}|the spring catalogue|the sponsor's dinner|loan agreement {10-99}|"
        "the press preview|customs papers for {city}|the lighting plan|the audio guide|"
        "insurance of the {material} vase|the guard roster|school visits"
    ),
    "ask": bank(
        "confirm {topic}|send {2-30} labels|move {topic} to {weekday}|find {40-900} euros|call {who} back|"
        "cancel {topic}|approve {topic}|meet {first} in {city}|correct page {2-90}|count the {material} frames"
    ),
}
DESK = (
    "{Weekday} {8-17}:{10-55} {who}: please {ask} before we {ask}.",
    "{First} is {mood} about {topic} and cannot {ask}.",
    "Open: {topic}, {topic}; {who} waits since {weekday}.",
    "{Who} will {ask} only if {first} can {ask}.",
    "{Topic} costs {100-990} euros, {who} paid {10-99}.",
    "Sticky note, {material} desk: {ask}, then {ask}, says {first}.",
    "{City} office closed on {weekday}; {first} has to {ask}.",
)


def list_making(rng: random.Random) -> Sketch:
    """Guests and their limits, then: a numbered list of preparations."""
    words = Grammar(rng, PARTY_BANKS)
    event, first = words.pick("event"), words.pick("first")
    planted = words.say(f"{first} {{limit}} and {{limit}}.")
    head = f"We are preparing {event}. What we know so far about the guests:\n\n{planted} "
    tail = (
        f"\n\nMake a numbered list of fifteen preparations for {event}, sorted by urgency. Behind every entry put "
        "who is in charge, why it "
        f"is needed and what it may cost, and make certain that {first} feels welcome."
    )
    briefs = words.stream(
        (
            "List ten tips for {event}.",
            "List what to pack for {event} in {city}.",
            "List twelve ideas for {event} when {first} {limit}.",
        )
    )
    return Sketch(document(head, tail), words.paragraphs(PARTY, 2, 5), briefs)


def short_story(rng: random.Random) -> Sketch:
    """A writer's notebook, then: a story from it."""
    words = Grammar(rng, TALE_BANKS)
    first, secret, city, mood = words.pick("first"), words.pick("secret"), words.pick("city"), words.pick("mood")
    planted = words.say(f"{first} {{habit}}. In {city} somebody whispers about {secret}.")
    head = f"Pages from a novelist's notebook:\n\n{planted}\n"
    tail = (
        f"\n\nWrite the opening of a short story out of these jottings. {first} is its {mood} narrator, {city} its "
        f"stage, and {secret} must "
        "appear before the second paragraph ends. Include one conversation and stop at a turning point."
    )
    briefs = words.stream(
        (
            "A tale about {secret}, please.",
            "Write a story: {first} finds {secret}.",
            "Invent a story in which {first}, who {habit}, loses {secret} in {city}.",
        )
    )
    return Sketch(document(head, tail), words.lines(TALE), briefs)


def write_email(rng: random.Random) -> Sketch:
    """Scattered office notes, then: one e-mail that settles them."""
    words = Grammar(rng, DESK_BANKS)
    who, first, topic = words.pick("who"), words.pick("first"), words.pick("topic")
    planted = words.say(f"- {who} still has to {{ask}}, and {topic} cannot wait beyond {{weekday}}.")
    head = f"Loose notes from the museum office, gathered by {first}:\n\n{planted}\n"
    tail = (
        f"\n\nCompose an e-mail from {first} to {who} about {topic}. Give it a subject line, thank the recipient, "
        "settle what the notes allow, "
        "ask for whatever is missing with a deadline for each item, and sign courteously."
    )
    briefs = words.stream(
        (
            "E-mail {who}: {ask}.",
            "Draft an e-mail asking {who} to {ask}.",
            "Draft an e-mail to {who}: {first} cannot {ask}, {topic} is late.",
        )
    )
    return Sketch(document(head, tail), _dashes(words), briefs)


def _dashes(words: Grammar) -> Iterator[str]:
    for number, line in enumerate(words.stream(DESK)):
        yield f"{chr(10) if number else ''}- {line}"


WRITING = (
    Family("list_making", "held_out", "list", "preparations for an event with awkward guests", list_making),
    Family("short_story", "held_out", "story", "the opening of a story from a notebook", short_story),
    Family("write_email", "held_out", "e-mail", "one e-mail that settles scattered notes", write_email),
)

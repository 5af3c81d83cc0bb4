"""Held-out data: bookings to JSON, a table to prose, a service log to a diagnosis, a story with a sum in it."""

import random
from collections.abc import Iterator

from specdec.prompts.families.grammar import Grammar, bank
from specdec.prompts.families.held_out.words import CITIES, FIRST_NAMES, FOODS, MATERIALS, MOODS, PEOPLE, WEEKDAYS
from specdec.prompts.families.sketch import Family, Sketch, document

BOOKING_BANKS = {
    "first": FIRST_NAMES,
    "who": PEOPLE,
    "city": CITIES,
    "weekday": WEEKDAYS,
    "food": FOODS,
    "room": bank("attic double|garden single|family suite|corner twin|tower room|ground-floor studio|quiet cabin|loft"),
    "wish": bank(
        "a cot|late arrival at {20-23}:{10-55}|no feathers|a desk by the window|parking for a van|a bathtub|"
        "an early taxi|a vegan breakfast|a room away from the lift|two extra towels|an invoice to {city}"
    ),
}
BOOKINGS = (
    "{Who} writes: the {room} for {2-14} nights from {weekday} {1-28}/{1-12}, with {wish}.",
    "{First} from {city} rang, {2-6} guests, {room}, code {100-999}-{10-99}, hopes for {wish}.",
    "Cancel {100-999}-{10-99} ({who}); instead {first} takes the {room} at {60-240} euros.",
    "{First} and {first} share the {room}, deposit {20-190} euros, dinner with {food}, {wish}.",
    "Group from {city}: {7-40} people under {who}, {weekday} to {weekday}, {wish} and {food}.",
    "Change for {first}: not {weekday} but {weekday} {1-28}/{1-12}, {room} kept, plus {wish}.",
    "{Who} paid {60-980} euros twice for the {room}; {first} must be told about {wish}.",
)

TABLE_BANKS = {
    "city": CITIES,
    "material": MATERIALS,
    "who": PEOPLE,
    "trend": bank("rising|falling|flat|erratic|seasonal|unclear|recovering"),
    "remark": bank(
        "new owner|gauge replaced|partial year|strike in spring|subsidy ended|record month|estimate only|"
        "merged with {city}|export banned|second shift|flood damage|sample of {3-90}"
    ),
}
ROW = ("{city} | {material} | {100-999} | {10-99}.{0-9} | {trend} | {remark}",)

LOG_BANKS = {
    "host": bank("heron|kite|plover|osprey|dunlin|avocet|merlin|harrier"),
    "unit": bank("mailer|indexer|gateway|scheduler|ledgerd|thumbnailer|authd|replicator|cachewarm|exporter"),
    "task": bank(
        "full backup|index merge|cache flush|report run|key rotation|log upload|mail batch|user import|health probe"
    ),
}
EVENTS = (
    "INFO  {host} {unit}: lease renewed by {host}, {task} next",
    "INFO  {host} {unit}: {task} done in {2-900} s, {100-9999} rows",
    "DEBUG {host} {unit}: config reload {10-99}, {2-40} keys changed",
    "INFO  {host} {unit}: queue depth {100-9999}, {task} waiting",
    "DEBUG {host} {unit}: {task} skipped, ran {2-50} minutes ago on {host}",
    "WARN  {host} {unit}: {task} slow, {200-9000} ms for shard {10-99}",
    "WARN  {host} {unit}: retry {2-9} of 10 against {host}:{1024-9999}",
    "WARN  {host} {unit}: heap at {70-99} percent during {task}",
    "WARN  {host} {unit}: clock drift {20-800} ms, reference {host}",
    "WARN  {host} {unit}: dropped {3-900} messages of client {100-999}",
    "ERROR {host} {unit}: checksum mismatch in block {1000-9999}",
    "ERROR {host} {unit}: connection reset by {host}:{1024-9999}",
    "ERROR {host} {unit}: token refused for client {100-999}, {task} stopped",
    "ERROR {host} {unit}: disk full on {host}, {task} moved to {host}",
)

STORY_BANKS = {
    "first": FIRST_NAMES,
    "city": CITIES,
    "food": FOODS,
    "mood": MOODS,
    "material": MATERIALS,
    "vessel": bank("a barge|the cable car|an old tram|a hay wagon|the mail coach|a rowing boat|the school bus"),
}
STORY = (
    "{Vessel} leaves {city} with {first}, {12-80} sacks of {food} and {2-9} {mood} passengers.",
    "{Kilometres} kilometres on, {first} unloads {2-30} crates of {material} and takes in {3-40} of {food}.",
    "In {city} {first}, {mood} as ever, trades {4-36} ladles for {2-12} bowls of {food}.",
    "{Vessel} waits {5-55} minutes while {first} counts {13-90} rolls of {material}.",
    "{First} eats {2-7} portions of {food}, leaves {10-60} cents and walks to {city}.",
    "Rain ruins {3-19} bales of {material}; {first} hides the other {20-70} under {vessel}.",
    "Near {city} {vessel} meets {first}, who owes {first} {6-90} tickets and {food}.",
)


def extract_json(rng: random.Random) -> Sketch:
    """A guest house's messages, then: a JSON array of bookings."""
    words = Grammar(rng, BOOKING_BANKS)
    head = f"Inbox of the guest house in {words.pick('city')}, unsorted:\n\n"
    tail = (
        "\n\nReturn one JSON array and no other text. Each message becomes an object with the fields "
        '"guest", "room", "from", "nights", "party", "price_eur" and "wishes" (an array); use null for whatever '
        "a message leaves out."
    )
    briefs = words.stream(
        (
            "JSON for: {first}, {room}.",
            'As JSON with "guest" and "room": {who}, {room}.',
            "Turn into a JSON object: {who} books the {room} with {wish}.",
        )
    )
    return Sketch(document(head, tail), (f"{line}" for line in _bullets(words, BOOKINGS)), briefs)


def table_to_text(rng: random.Random) -> Sketch:
    """A table of quarries and mills, then: a newspaper paragraph about it."""
    words = Grammar(rng, TABLE_BANKS)
    city = words.pick("city")
    head = (
        f"Table kept by {words.pick('who')}:\n\nsite | product | output | price | trend | remark\n--- | --- | --- | "
        "--- | --- | ---\n" + words.say(city + ROW[0].removeprefix("{city}"))
    )
    tail = (
        f"\n\nDescribe this table as flowing text for the business page. Compare {city} with the other sites, "
        "mention highest and "
        "lowest output, say what the trends have in common, and use no bullet points."
    )
    briefs = words.stream(
        (
            "{City}: {10-99}, {city}: {10-99}. Describe.",
            "Put into prose: {city} {material} {100-999}, {city} {material} {100-999}, {trend}.",
        )
    )
    return Sketch(document(head, tail), ("\n" + row[0].upper() + row[1:] for row in words.stream(ROW)), briefs)


def log_analysis(rng: random.Random) -> Sketch:
    """A service log, then: what went wrong, in which order, and what to do."""
    words = Grammar(rng, LOG_BANKS)
    unit, host = words.pick("unit"), words.pick("host")
    planted = words.say(f"02:{{10-59}}:{{10-59}}.{{100-999}} WARN  {host} {unit}: {{task}} {{2-40}} minutes late")
    head = f"```\n{planted}\n"
    tail = (
        "\n```\nUsers saw outages during this window. Work out from the log which component failed first, whether "
        f"{unit} on {host} "
        "was cause or victim, quote the decisive lines, and propose two checks for the operator on duty."
    )
    briefs = words.stream(
        (
            "Why is the {task} late?",
            "{Unit} on {host} is down. Diagnose.",
            "The {task} of {unit} stopped on {host}, then on {host}. What may have failed first?",
        )
    )
    return Sketch(document(head, tail), _log(words), briefs)


def arithmetic_story(rng: random.Random) -> Sketch:
    """A journey with many quantities, then: a sum about one of its people."""
    words = Grammar(rng, {**STORY_BANKS, "kilometres": tuple(str(n) for n in range(11, 60))})
    hero, food, friend = words.pick("first"), words.pick("food"), words.pick("first")
    boxes, each, lost, part = words.number(6, 19), words.number(8, 24), words.number(5, 30), words.number(2, 5)
    head = f"A travel tale in which quantities come and go, told by {hero}.\n\n"
    tail = (
        f"\n\nAt the last stop {hero} opens {boxes} boxes holding {each} servings of {food} each. {lost} servings "
        "are spoilt, and the rest is "
        f"split evenly among {part} kitchens, any remainder going to {friend}. What does every kitchen receive, and "
        f"what does {friend} get? "
        "Reason aloud, one operation per sentence."
    )
    briefs = words.stream(
        (
            "What is {12-90} times {3-19}?",
            "{First} splits {40-99} {food} by {3-9}. Explain.",
            "{First} walks {12-60} km to {city}, then {2-30} back. Work it out.",
        )
    )
    return Sketch(document(head, tail), words.paragraphs(STORY, 4, 6), briefs)


def _bullets(words: Grammar, templates: tuple[str, ...]) -> Iterator[str]:
    for number, line in enumerate(words.stream(templates)):
        yield f"{chr(10) if number else ''}* {line}"


def _log(words: Grammar) -> Iterator[str]:
    """Lines in order of time; the clock runs on by up to some seconds per line."""
    clock_ms = words.number(10_800_000, 80_000_000)  # after the planted line, at 3 o'clock or later
    before = ""
    while True:
        clock_ms = (clock_ms + words.number(3, 9_000)) % 86_400_000
        seconds, millis = divmod(clock_ms, 1000)
        stamp = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{millis:03d}"
        yield before + stamp + " " + words.one_of(EVENTS)
        before = "\n"


DATA = (
    Family("extract_json", "held_out", "extract", "guest-house messages into a JSON array", extract_json),
    Family("table_to_text", "held_out", "table to text", "a table of sites as newspaper prose", table_to_text),
    Family("log_analysis", "held_out", "analyse", "a service log: what failed first", log_analysis),
    Family("arithmetic_story", "held_out", "arithmetic", "a travel tale with a division at its end", arithmetic_story),
)

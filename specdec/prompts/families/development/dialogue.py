"""Development dialogue: a customer and a support desk, turn by turn, until the last question."""

import random

from specdec.prompts.families.development.words import COLOURS, DAYS, NAMES, TOWNS
from specdec.prompts.families.grammar import Grammar, bank
from specdec.prompts.families.sketch import Family, Sketch, conversation

BANKS = {
    "name": NAMES,
    "town": TOWNS,
    "day": DAYS,
    "colour": COLOURS,
    "feeling": bank("worried|annoyed|puzzled|tired|impatient|sorry|relieved|doubtful|curious"),
    "part": bank(
        "lid|filter|battery|left button|display|cable|wheel|hinge|sensor|fuse|tank|antenna|outer ring|clip|knob|"
        "rubber seal|"
        "switch|small lamp|plug|drawer|grille|handle|spring|timer"
    ),
    "symptom": bank(
        "blinks twice and stops|smells of warm rubber|hums louder every hour|shows error {10-99}|starts by itself "
        "at night|"
        "loses its settings|will not close|drips on the floor|stays cold|counts backwards|refuses the code "
        "{1000-9999}|"
        "clicks like a clock|rattles above speed {3-9}|glows after {2-50} minutes|forgets the {colour} programme|"
        "turns itself {2-9} times|gets stuck at {20-95} percent|whistles when it rains"
    ),
    "cure": bank(
        "hold the reset pin for {5-30} seconds|rinse it under lukewarm water|turn it by a quarter|leave it "
        "unplugged overnight|"
        "press it down until it clicks|update it to version {2-9}.{0-9}|swap it with the spare from the box|"
        "wipe the contacts with a dry cloth|check screw {2-12}|tilt it by {10-80} degrees|feed it with {2-9} drops "
        "of oil|"
        "choose menu {11-99}|warm it with both hands|mark it with {colour} tape|send a picture to {name}"
    ),
}
TURNS = (
    "The {part=p} {symptom} since {day}. Should I {cure}?\nRather {cure}, and check the {=p} again on {day}.",
    "I did, but the {part=p} {symptom} and {name} is {feeling}.\n"
    "Stay calm, {name} fixed that too: {cure}. In {2-40} minutes the {=p} rests.",
    "A {colour=c} light shines by the {part}; {town=t} says: {cure}.\n"
    "{=T} is right on {=c} lights. If it still {symptom}, {cure}.",
    "{Name=n} uses it after supper, and then the {part=p} {symptom}.\n"
    "Could {=n} {cure} before bed? The {=p} is meant for {2-9} hours a day.",
    "Is the {part=p} covered if it {symptom} after {2-30} months?\n"
    "For {31-60}, unless somebody did {cure}. Keep that {=p} and the {town} slip.",
    "Before I {cure}: is the {colour=c} {part=p} older?\nYes, {=c} means {town}, model {10-99}. Then {cure} instead.",
    "{Town=t} has no spare {part=p}. What else can I do when it {symptom}?\n"
    "I can post one to {=t} by {day}. Until then, {cure}.",
    "Yesterday it {symptom=s} {2-9} times while {name} stood beside it.\n"
    "Before or after the {colour} {part} was changed? If after, {cure}.",
    "My {feeling} neighbour {name=n} says that one must {cure}.\n"
    "Then {=n} owns the {colour} model. Yours wants the {part} first: {cure}.",
    "Which comes first, to {cure} or to {cure}?\nThe second, or the {part} {symptom}; see drawing {1000-9999}.",
    "It works, but the {part=p} is {colour=c} instead of {colour}. Is that a fault?\n"
    "{2-90} hours are left when the {=p} looks {=c}. {Cure} on {day}.",
    "How long does the repair in {town} take? I am {feeling} because it {symptom}.\n"
    "{3-20} days, says {name}, who will {cure} and ring on {day}.",
    "The booklet, page {2-90}, tells me to {cure}. The {part=p} is not even shown.\n"
    "Page {10-99} shows the {colour} version; your {=p} is below the {part}.",
    "Since {name} tried to {cure}, it {symptom}.\n"
    "Let {name} undo that, loosen the {part}, wait {2-50} minutes, then {cure}.",
    "Would it harm the {part=p} to {cure}?\n"
    "Not a {colour} {=p}. Others {cure} first, as {name} found in {town} on {day}.",
    "There is a {colour} crack of {2-30} millimetres beside the {part}, and it {symptom}.\n"
    "Under {31-60} it is harmless; {cure} and tell {name} in {town}.",
)
STORY = (
    "The {part} came from {town}.",
    "On {day} it {symptom} again, {2-9} times.",
    "{Name} tried to {cure}, without luck.",
    "I wrote down the number {1000-9999} from the {colour} {part}.",
)
DEVICES = bank(
    "coffee machine|router|vacuum cleaner|doorbell|printer|thermostat|bread maker|heat pump|sewing machine|baby monitor"
)


def support_dialogue(rng: random.Random) -> Sketch:
    """Earlier turns about one device, then the customer's request for a whole plan."""
    words = Grammar(rng, {**BANKS, "device": DEVICES})
    device, part, person = words.pick("device"), words.pick("part"), words.pick("name")
    opening = f"Hello, this is {person}. I need help with my {device}, above all with its {part}."
    reply = f"Good day, {person}. Tell me what the {device} does and I will look it up."
    last = (
        f"Before I call anyone, please go over all of this once more: what could be wrong with the {device}, in "
        "which order "
        "should I try your advice, and when must I stop and send it in?"
    )
    briefs = words.stream(
        (
            "My {device} {symptom}. Help!",
            "What if the {part} of my {device} {symptom}?",
            "Hello, {name} here: the {device} {symptom}, and I did {cure}. What next?",
        )
    )
    return Sketch(
        conversation((opening, reply), last), words.stream(TURNS), briefs, (f" {say}" for say in words.stream(STORY))
    )


DIALOGUE = (Family("support_dialogue", "development", "dialogue", "a customer and a support desk", support_dialogue),)

"""Development dialogue: a customer and a support desk, turn by turn, until the last question."""

import random
from collections.abc import Iterator

from specdec.prompts.families.development.words import COLOURS, DAYS, FEELINGS, NAMES, TOWNS
from specdec.prompts.families.grammar import Grammar
from specdec.prompts.families.sketch import Family, Sketch, conversation

BANKS = {
    "name": NAMES,
    "town": TOWNS,
    "day": DAYS,
    "colour": COLOURS,
    "feeling": FEELINGS,
    "device": (
        *(
            "coffee machine",
            "router",
            "vacuum cleaner",
            "doorbell",
            "printer",
            "thermostat",
            "bread maker",
            "hearing aid",
        ),
        *("electric bicycle", "lawn mower", "baby monitor", "sewing machine"),
    ),
    "part": tuple(["lid", "filter", "battery", "left button", "display", "cable", "wheel", "hinge", "sensor", "fuse", "tank", "antenna"]),
    "symptom": (
        *("blinks twice and stops", "smells of warm rubber", "hums louder every hour", "shows error {10-99}"),
        *("starts by itself at night", "loses its settings", "will not close", "drips on the floor", "stays cold"),
        *("counts backwards", "refuses the code {1000-9999}", "clicks like a clock"),
    ),
    "cure": (
        *("hold the reset pin for {5-30} seconds", "rinse it under lukewarm water", "turn it by a quarter"),
        *("leave it unplugged overnight", "press it down until it clicks", "update it to version {2-9}.{0-9}"),
        *("swap it with the spare from the box", "wipe the contacts with a dry cloth", "check screw {2-12}"),
    ),
}
QUESTIONS = (
    "My {device} {symptom} since {day}. Should I open the {part}?",
    "I did that, but now the {part} {symptom}, and I am rather {feeling}.",
    "The {colour} light near the {part} is on; in {town} the shop told me to {cure}. Is that right?",
    "Sorry, {name} is using the {device} now, and it {symptom}. What about the {part}?",
    "Is the {part} covered if the {device} {symptom} after {2-30} months?",
    "Before I {cure}, may I ask whether the {colour} {part} is the older kind?",
)
ANSWERS = (
    "Please {cure}, then look at the {part}; on a {colour} model this takes {2-20} minutes.",
    "Thank you, {name}. When it {symptom}, the {part} is worn; kindly {cure}.",
    "That {part} was recalled on {day} in {town}. You may {cure} in the meantime.",
    "No, leave the {colour} {part} alone and {cure}; ticket {1000-9999} is now open.",
    "If the {device} still {symptom}, our workshop in {town} will {cure} for you.",
    "I understand that you are {feeling}. First {cure}, then tell me what the {part} does.",
)
STORY = (
    "The {part} came from {town}.",
    "On {day} it {symptom} again, {2-9} times.",
    "{Name} tried to {cure}, without luck.",
    "I wrote down the number {1000-9999} from the {colour} {part}.",
)


def support_dialogue(rng: random.Random) -> Sketch:
    """Earlier turns about one device, then the customer's request for a whole plan."""
    words = Grammar(rng, BANKS)
    device, part, person = words.pick("device"), words.pick("part"), words.pick("name")
    opening = f"Hello, this is {person}. I need help with my {device}, above all with its {part}."
    reply = f"Good day, {person}. Tell me what the {device} does and I will look it up."
    last = (
        f"Before I call anyone, please go over all of this once more: what could be wrong with the {device}, in which order "
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
        conversation((opening, reply), last), _turns(words), briefs, (f" {say}" for say in words.stream(STORY))
    )


def _turns(words: Grammar) -> Iterator[str]:
    while True:
        yield f"{words.one_of(QUESTIONS)}\n{words.one_of(ANSWERS)}"


DIALOGUE = (Family("support_dialogue", "development", "dialogue", "a customer and a support desk", support_dialogue),)

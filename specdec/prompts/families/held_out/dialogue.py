"""Held-out dialogue: two travellers' plans, refined with an assistant over many turns."""

import random
from collections.abc import Iterator

from specdec.prompts.families.grammar import Grammar
from specdec.prompts.families.held_out.words import CITIES, FIRST_NAMES, FOODS, MOODS
from specdec.prompts.families.sketch import Family, Sketch, conversation

BANKS = {
    "first": FIRST_NAMES,
    "city": CITIES,
    "food": FOODS,
    "mood": MOODS,
    "sight": (
        *(
            "the puppet museum",
            "the roof gardens",
            "a quarry concert",
            "the canal lift",
            "the butterfly house",
            "an open-air bath",
        ),
        *(
            "the cartoon trail",
            "the observatory",
            "the spice market",
            "the glass bridge",
            "the typewriter café",
            "the moor walk",
        ),
    ),
    "ride": (
        "the sleeper train",
        "a rented tandem",
        "the coastal bus",
        "a shared taxi",
        "the lake steamer",
        "a funicular",
    ),
    "worry": (
        *(
            "{first} gets seasick",
            "the budget is {200-900} euros",
            "{sight} shuts at {14-19} o'clock",
            "we own one suitcase",
        ),
        *("{first} will not fly", "it may rain in {city}", "our tent leaks", "{ride} was full last time"),
    ),
}
WISHES = (
    "Could we fit {sight} between {city} and {city}, although {worry}?",
    "{First} would rather see {sight} than {sight}, and {worry}.",
    "How long is {ride} from {city}, and do they serve {food}?",
    "Drop {city}. {First} read about {sight}; besides, {worry}.",
    "We feel {mood} about {ride}; what else reaches {sight} by noon?",
    "Is day {2-14} too full with {sight}, {food} and {ride}?",
)
PLANS = (
    "Yes: take {ride} at {7-11}:{10-55}, see {sight}, and eat {food} in {city}.",
    "Then {city} moves to day {2-14}, and {sight} costs {5-60} euros each.",
    "{Ride} needs {2-9} hours, so I would skip {sight} and keep {first} {mood}.",
    "Since {worry}, stay {2-5} nights in {city} near {sight}.",
    "I have swapped {sight} for {sight}; {first} may take {ride} alone.",
    "Noted that {worry}. {Food} can be had beside {sight} for {4-40} euros.",
)
ASIDES = (
    "By the way, {worry}.",
    "{First} now also dreams of {sight}.",
    "And {food} in {city}, {mood} or not.",
    "{Ride} leaves on day {2-14}, I think.",
)


def dialogue_history(rng: random.Random) -> Sketch:
    """A long planning chat, then: the whole itinerary, with what was decided when."""
    words = Grammar(rng, BANKS)
    city, sight, first = words.pick("city"), words.pick("sight"), words.pick("first")
    opening = (
        f"{first} and I plan a fortnight starting in {city}, with {sight} as its high point. Shall we begin?",
        f"Gladly. {city} is a fine start; tell me your limits and I keep track of the itinerary.",
    )
    last = (
        f"Now put together what we agreed in this chat: a day-by-day itinerary from {city} on, where {sight} fits, what was dropped and for "
        f"which reason, plus anything {first} still has to decide."
    )
    briefs = words.stream(
        (
            "Plan two days in {city}.",
            "Plan a trip from {city} to {sight} by {ride}.",
            "Plan a weekend in {city} for {first} and me; note that {worry}.",
        )
    )
    return Sketch(conversation(opening, last), _turns(words), briefs, (f" {aside}" for aside in words.stream(ASIDES)))


def _turns(words: Grammar) -> Iterator[str]:
    while True:
        yield f"{words.one_of(WISHES)}\n{words.one_of(PLANS)}"


DIALOGUE = (
    Family("dialogue_history", "held_out", "dialogue", "a travel plan refined over many turns", dialogue_history),
)

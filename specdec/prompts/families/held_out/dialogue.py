"""Held-out dialogue: two travellers' plans, refined with an assistant over many turns."""

import random

from specdec.prompts.families.grammar import Grammar, bank
from specdec.prompts.families.held_out.words import CITIES, FIRST_NAMES, FOODS, MOODS
from specdec.prompts.families.sketch import Family, Sketch, conversation

BANKS = {
    "first": FIRST_NAMES,
    "city": CITIES,
    "food": FOODS,
    "mood": MOODS,
    "sight": bank(
        "the puppet museum|the roof gardens|the quarry concert|the canal lift|the butterfly house|the open-air bath|"
        "the cartoon trail|the observatory|the spice market|the glass bridge|the typewriter café|the moor walk|"
        "the echo tower|the tram depot|the poppy fields|the old mint|the fog harbour|the salt caves|the opera cellar"
    ),
    "ride": bank(
        "the sleeper train|the rented tandem|the coastal bus|the shared taxi|the lake steamer|the funicular|the "
        "hop-on tram|"
        "the car ferry|the post bus|the chairlift|the night coach|the canoe"
    ),
    "worry": bank(
        "{first} gets seasick|the budget is {200-900} euros|{sight} shuts at {14-19} o'clock|we own one suitcase|"
        "{first} will not fly|it may rain in {city}|our tent leaks|{ride} was full last time"
    ),
}
TURNS = (
    "Could we fit {sight=s} between {city=c} and {city}, although {worry}?\n"
    "Yes: take {ride} at {7-11}:{10-55}, see {=s}, and eat {food} back in {=c}.",
    "{First=f} would rather see {sight=s} than {sight=o}, and {worry}.\n"
    "Then {=o} must wait. Tickets for {=s} are {5-60} euros, and {=f} could go there by {ride}.",
    "How long is {ride=r} from {city=c}, and do they serve {food}?\n"
    "From {=c} {=r} needs {2-9} hours; bring {food} yourselves, {mood} travellers that you are.",
    "Drop {city=c}. {First=f} read about {sight=s}; besides, {worry}.\n"
    "Gone is {=c}. Day {2-14} now belongs to {=s}, and {=f} chooses the supper, perhaps {food}.",
    "We feel {mood=m} about {ride=r}; what else reaches {sight=s} by noon?\n"
    "{Ride}, at {8-11}:{10-55}. For {=m} people I would keep {=r} as plan B and add {food}.",
    "Is day {2-14} too full with {sight=s}, {food=d} and {ride}?\n"
    "A little. Leave {=d} for {city}, see {=s} alone, and remember that {worry}.",
    "Please count again: {200-900} euros for {city=c}, {2-90} for {sight=s}?\n"
    "My count is {20-190} more for {=c}, since {=s} and {ride} were not in it.",
    "{First=f} wrote from {city}: {sight=s} is closed, and {worry}.\n"
    "A pity. {Sight}, {mood} as we are, can replace {=s}; I will move {=f} to day {2-14}.",
    "What if it pours when we want {sight=s}? {First} hates wet {food}.\n"
    "Wait in {city} until {13-18}:{10-55}, then {sight} instead of {=s}, all under one roof.",
    "{City=c} for {2-6} nights seems long. Would {sight} be worth {ride}?\n"
    "Halve {=c}, yes. {Ride} at {7-12}:{10-55} even leaves time for {food} and {first}.",
    "Where do we leave {first=f} while we visit {sight}?\n"
    "In {city}, with {food}, as {=f} is {mood} by then; {ride} picks everybody up at {15-20}:{10-55}.",
    "Our {mood} landlady in {city=c} praises {sight}. True?\n"
    "Partly: {first} gave it {2-9} of ten, but {=c} also has {sight}, at {5-60} euros by {ride}.",
    "Swap days {2-6} and {7-14}, because {worry}.\n"
    "Swapped. {City} comes first, {sight} follows, and {ride} is booked for {first}.",
    "Can {first=f} bring {food=d} aboard {ride=r}?\n"
    "On {=r}, up to {2-9} kilos. Otherwise {=f} may eat {=d} at {sight}, near {city}.",
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
        f"Now put together what we agreed in this chat: a day-by-day itinerary from {city} on, where {sight} fits, "
        "what was dropped and for "
        f"which reason, plus anything {first} still has to decide."
    )
    briefs = words.stream(
        (
            "Plan two days in {city}.",
            "Plan a trip from {city} to {sight} by {ride}.",
            "Plan a weekend in {city} for {first} and me; note that {worry}.",
        )
    )
    return Sketch(
        conversation(opening, last), words.stream(TURNS), briefs, (f" {aside}" for aside in words.stream(ASIDES))
    )


DIALOGUE = (
    Family("dialogue_history", "held_out", "dialogue", "a travel plan refined over many turns", dialogue_history),
)

"""Held-out transformations: a stiff letter rewritten, and sentences translated."""

import random
from collections.abc import Iterator

from specdec.prompts.families.grammar import Grammar, bank
from specdec.prompts.families.held_out.words import CITIES, FIRST_NAMES, FOODS, MATERIALS, MOODS, PEOPLE
from specdec.prompts.families.sketch import Family, Sketch, document

LETTER_BANKS = {
    "who": PEOPLE,
    "city": CITIES,
    "material": MATERIALS,
    "mood": MOODS,
    "matter": bank(
        "the leaking skylight|clause {2-40} of the lease|the missing {material} sample|the shared driveway|"
        "the survey of {city}|the overdue royalty|the choir's rehearsal room|the damaged harpsichord|"
        "the boundary hedge|the caretaker's flat|the unsigned addendum|the heating allowance|the rooftop aerial|"
        "the cellar key|the piano hoist|the well cover|parking bay {2-90}"
    ),
    "phrase": bank(
        "it is hereby brought to your attention that|notwithstanding our previous communication,|"
        "be advised, with all due respect, that|pursuant to what {who} stated,|it cannot but be regretted that|"
        "in the event that no reply is forthcoming,|as per the undersigned's understanding,|"
        "subject to the approval of {who},"
    ),
    "claim": bank(
        "{matter} remains unresolved|{who} declines to inspect {matter}|{matter} has cost {40-900} francs|"
        "{matter} falls to the office in {city}|{who} was not consulted on {matter}|{matter} awaits a {mood} reader|"
        "{who} has mislaid {2-40} papers on {matter}|{matter} is older than {who} admits|"
        "{who} left {city} because of {matter}"
    ),
    "deed": bank(
        "an adjustment|a visit|a refund of {20-600} francs|written consent|the return of the keys|arbitration"
    ),
}
LETTER = (
    "{Phrase} {claim}, and {deed} is requested within {3-40} days.",
    "Regarding {matter}, {who} is of the opinion that {deed} would be {mood}.",
    "{Phrase} {deed} shall be effected by {who} in {city}.",
    "If {claim}, the tenant of number {2-180} reserves the right to {deed}.",
    "Enclosed please find {2-12} copies concerning {matter}, marked {100-999} by {who}.",
    "{Phrase} neither {deed} nor {deed} can replace a {mood} answer about {matter}.",
    "{Who} will not, as of {1-28}/{1-12}, entertain {deed} where {matter} is concerned.",
    "The {mood} tone of letter {100-999} from {city} has caused {who} to demand {deed}.",
    "Attention is drawn to annex {2-40}, in which {who} links {matter} with {matter}.",
    "For want of {deed}, {matter} was referred to {who} in {city}, file {100-999}.",
    "{Phrase} {claim}; {who}, being {mood}, insists upon {deed}.",
    "In the matter of {matter}, the sum of {40-900} francs was remitted to {who} on {1-28}/{1-12}.",
    "Failing {deed} by {1-28}/{1-12}, {who} shall instruct counsel in {city}.",
    "Reference is made to {who} in {city}, whose remarks on {matter} were {mood}.",
)

TRAVEL_BANKS = {
    "first": FIRST_NAMES,
    "city": CITIES,
    "food": FOODS,
    "mood": MOODS,
    "material": MATERIALS,
    "language": bank("French|Spanish|German|Italian|Portuguese"),
    "action": bank(
        "waited for the bus|lost a glove|sang in the kitchen|bought a stamp|missed the bridge|found a cat|"
        "wrote three postcards|slept on deck|painted a fence|repaired a flute|fed the geese|learned to skate"
    ),
    "when": bank(
        "yesterday evening|at sunrise|last winter|every second week|before the concert|after the exam|"
        "during the power cut|on the way home|while it snowed|at half past {2-11}"
    ),
}
SENTENCES = (
    "{When} {first} {action} and shared {food} with {first}.",
    "Why has {first} never eaten {food} in {city}?",
    "{First} is {mood} because {first} {action} {when}.",
    "The {material} chair from {city} costs {20-300} euros more than ours.",
    "If you visit {city}, take {first} some {food} and a {material} box.",
    "{First} {action} {when}, although {city} was {mood}.",
    "Nobody told {first} that {first} {action}.",
    "{Mood} people in {city} rarely {present} {when}.",
    "There were {3-90} kinds of {food} at the fair where {first} {action}.",
)
PRESENT = bank(
    "lend umbrellas|whistle|argue|dance|wear {material}|order {food}|walk fast|telephone|write to {first}|knock"
)


def rewrite_text(rng: random.Random) -> Sketch:
    """A stiff official letter, then: the same in friendly everyday language."""
    words = Grammar(rng, LETTER_BANKS)
    head = f"Dear {words.pick('who')},\n\n"
    tail = (
        f"\n\nYours faithfully,\n{words.pick('who')}\n\nRewrite the letter above in friendly everyday language. "
        "Keep every fact, number and "
        "name as well as the sequence of points; replace only the stiff phrases, and reproduce salutation and "
        "signature."
    )
    briefs = words.stream(
        (
            "Say it kindly: {deed} is due.",
            "Rewrite in a friendly way: {claim}.",
            "Rewrite politely and simply: {phrase} {claim}.",
        )
    )
    return Sketch(document(head, tail), words.paragraphs(LETTER, 2, 4), briefs)


def translate_sentences(rng: random.Random) -> Sketch:
    """Lettered sentences, then: all of them in another language."""
    words = Grammar(rng, {**TRAVEL_BANKS, "present": PRESENT})
    language = words.pick("language")
    head = f"Exercise sheet for the {language} evening class\n\n"
    tail = (
        f"\n\nTranslate all sentences of the sheet into {language}. Put each translation on its own line behind the "
        "label of its "
        "sentence, leave names of people and towns unchanged, and pay heed to tenses."
    )
    briefs = words.stream(
        (
            "In {language}: '{First} {action}.'",
            "Translate into {language}: '{First} {action} {when}.'",
            "How do you say '{First} {action} in {city}' in {language}?",
        )
    )
    return Sketch(document(head, tail), _lettered(words), briefs)


def _lettered(words: Grammar) -> Iterator[str]:
    for number, sentence in enumerate(words.stream(SENTENCES)):
        label = chr(ord("a") + number % 26) + (str(number // 26) if number >= 26 else "")
        yield f"{chr(10) if number else ''}({label}) {sentence}"


TRANSFORMING = (
    Family("rewrite_text", "held_out", "rewrite", "a stiff letter in everyday language, mostly copied", rewrite_text),
    Family(
        "translate_sentences", "held_out", "translate", "an exercise sheet into another language", translate_sentences
    ),
)

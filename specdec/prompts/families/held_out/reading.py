"""Held-out reading: workshop logs, a yearly report, a biography, and a folder of short documents."""

import random
from collections.abc import Iterator

from specdec.prompts.families.grammar import Grammar, bank
from specdec.prompts.families.held_out.words import CITIES, FIRST_NAMES, MATERIALS, MOODS, PEOPLE
from specdec.prompts.families.sketch import Family, Sketch, document

PROCESS_BANKS = {
    "who": PEOPLE,
    "city": CITIES,
    "material": MATERIALS,
    "process": bank(
        "how paper is made by hand|how glass is blown|how cheese ripens|how bricks are fired|how wool is dyed|"
        "how bells are cast|how barrels are coopered|how ink is brewed|how leather is tanned|how salt is raked"
    ),
    "tool": bank(
        "tongs|a sieve|the long paddle|a felt press|the copper vat|a hand bellows|the drying rack|a brass gauge|"
        "the plumb bob|a wire frame|the soaking trough|a beech mallet"
    ),
    "step": bank(
        "stirred the slurry|skimmed the surface|turned every sheet|let the mass rest|raised the heat|"
        "weighed the batch|rinsed off the ash|scraped the mould|tested the grain|covered the kiln|"
        "poured off the clear part|beat the fibres|cooled the rim|marked the lid with chalk"
    ),
    "sign": bank(
        "bubbles the size of peas|a dull ring when struck|no stickiness left|an even honey tint|steam without smell|"
        "edges that curl inward|a skin like parchment|drops that hold their shape|a faint crackle|cold to the wrist"
    ),
}
PROCESS_LOG = (
    "{6-11}:{10-59} {who} {step}, {12-95} degrees, with {tool}.",
    "After {3-55} minutes the sign was {sign}, so {who} {step}.",
    "Batch {100-999} took {2-30} litres and {tool}; {who} reported {sign}.",
    "In {city} they would have used {material} here, noted {who}, and {step} twice.",
    "Failure: {sign} came {4-45} minutes early because nobody {step}.",
    "{Who} {step} again, this time over {material}, until {sign}.",
    "The {material} lining held {20-98} degrees while {who} worked with {tool}.",
    "Visitors from {city} touched {tool}, whereupon {who} {step} from the start.",
    "Sample {1-99}: {sign}, {2-60} grams, dried on {material}.",
)

REPORT_BANKS = {
    "who": PEOPLE,
    "city": CITIES,
    "unit": bank(
        "the lighthouse service|harbour dredging|the seed bank|the mountain railway|air rescue|the map office|"
        "river monitoring|the tunnel team|coastal forestry|the ice patrol|the wind farm|the quarantine lab"
    ),
    "metric": bank(
        "call-outs|fuel use|overtime|visitor numbers|unplanned stops|spare-part orders|insurance claims|"
        "training days|energy costs|false alarms|passenger kilometres|sick leave"
    ),
    "reason": bank(
        "a late thaw|the new tariff|one lost contract|better maintenance|a shortage of pilots|cheaper steel|"
        "the closed canal|two retirements|a change of supplier|the long drought|stricter audits|a software fault"
    ),
    "plan": bank(
        "lease two boats|merge both depots|train {3-40} volunteers|replace the sensors|renegotiate the lease|"
        "postpone the extension|hire an outside auditor|sell the older turbine|open a branch in {city}"
    ),
}
REPORT = (
    "{Metric} of {unit} went from {200-480} to {490-990}, chiefly owing to {reason}.",
    "{Who} puts the loss at {2-90} thousand and blames {reason} as well as {reason}.",
    "For next year {unit} means to {plan}, with {metric} below {30-95}.",
    "The {city} site reported {metric} of {11-99} per month, {2-40} percent under budget.",
    "An audit by {who} found that {reason} had doubled {metric} in {city}.",
    "{Unit} could not {plan}, because {reason} tied up {3-70} staff.",
    "Compared with {city}, the figure for {metric} looks moderate: {10-49} against {50-99}.",
    "The board asked {who} to {plan} before quarter {1-4} and to watch {metric}.",
    "Savings of {5-80} thousand in {unit} came from {reason}, not from lower {metric}.",
    "Risk {1-40}: if {reason} persists, {unit} must {plan}.",
    "{Who} doubts the figure for {metric} in {city}, an estimate made during {reason}.",
)

LIFE_BANKS = {
    "first": FIRST_NAMES,
    "city": CITIES,
    "mood": MOODS,
    "who": PEOPLE,
    "work": bank(
        "a treatise on eclipses|the botanical gates|a tuning system|an atlas of winds|the silent film archive|"
        "a school for divers|the folding theatre|a grammar of whistles|the glacier survey|a hospital garden|"
        "an opera about bees|the tidal clock|a catalogue of lace|the first braille atlas"
    ),
    "obstacle": bank(
        "a fire in the print shop|an unpaid debt|a border closed overnight|a rival's pamphlet|failing eyesight|"
        "a lost trunk|a strike of stonemasons|an outbreak of fever|a forged signature|a broken engagement"
    ),
    "helper": bank(
        "a retired judge|twin sisters from {city}|an exiled composer|the harbour doctor|a clockmaker's widow|"
        "an impatient editor|a cousin in {city}|the night porter|a former pupil|two monks"
    ),
}
LIFE = (
    "In {1701-1899} the {mood} scholar moved to {city}, where {helper} paid for {work}.",
    "{Work} was delayed by {obstacle} and finished {2-19} years later in {city}.",
    "Letters to {first} speak of {obstacle} but never of {work}.",
    "{Helper} described the house in {city} as {mood}, full of drafts for {work}.",
    "After {obstacle}, only {helper} and {first} still defended {work}.",
    "The {mood} years between {1701-1799} and {1800-1899} passed in {city} with {helper}.",
    "{Who} later claimed credit for {work}, until {helper} produced {12-90} dated sketches.",
    "A fee of {30-900} florins for {work} went to {helper}, a sum lost through {obstacle}.",
    "{First} copied {work} by night in {city}, {mood} after {obstacle}.",
    "Between {obstacle} and {obstacle} lay only {3-30} weeks, {mood} ones, in {city}.",
    "{First} was {mood} about {work}; {helper} burned {2-60} pages of it in {city}.",
    "The {city} gazette of {1701-1899} praises {work}, {helper} and, oddly, {obstacle}.",
    "{Who} dates {work} to {1701-1899}, {first} to {1701-1899}, and {helper} to neither.",
    "A {mood} portrait from {city} shows {helper} with {first} and a model of {work}.",
    "Without {helper}, wrote {first}, {obstacle} would have ended in {city}.",
    "To escape {obstacle}, the family left {city} for {city} with {3-30} crates.",
)

FOLDER_BANKS = {
    **REPORT_BANKS,
    **{k: LIFE_BANKS[k] for k in ("first", "mood", "obstacle")},
    "material": MATERIALS,
    "amount": ("euros", "tonnes", "hours"),
}
FOLDER = (
    "{Who} offers {unit} {20-990} {amount} of {material} against delivery in {city}.",
    "{First} visited {city} and calls the {material} there {mood}, {2-9} out of ten.",
    "Because of {obstacle}, {unit} will {plan} without {who}.",
    "{First} and {first} vote to {plan}; {who} abstains over {metric}.",
    "Item {1000-9999}: {material}, {3-99} {amount}, payable by {unit} to {first}.",
    "{Metric} in {city} came to {100-999} {amount} under {who}, a {mood} result.",
    "{Who} warns {first} that {reason} makes {material} from {city} unsafe.",
    "{First} wants {who} to {plan}, ring back on line {10-99}.",
)
SORTS = bank("Memo|Letter|Minutes|Field note|Press cutting|Delivery slip|Diary page|Radio transcript")


def explain_process(rng: random.Random) -> Sketch:
    """A workshop's running log, then: explain the process behind it to apprentices."""
    words = Grammar(rng, PROCESS_BANKS)
    process = words.pick("process")
    head = f"Running log from a workshop that shows visitors {process}:\n\n"
    tail = (
        f"\n\nA new apprentice starts tomorrow. Drawing on the log, explain {process}, stage by stage, what the "
        "hands do at each "
        "stage, how one recognises that it is finished, and which two errors cost most."
    )
    briefs = words.stream(
        (
            "Tell me {process}.",
            "Walk an apprentice through {process}.",
            "Lay out {process}: stages, tools such as {tool}, and errors.",
        )
    )
    return Sketch(document(head, tail), words.lines(PROCESS_LOG), briefs)


def summarize_report(rng: random.Random) -> Sketch:
    """A yearly report in paragraphs, then: an executive summary."""
    words = Grammar(rng, REPORT_BANKS)
    unit, who = words.pick("unit"), words.pick("who")
    planted = words.say(f"{{Metric}} of {unit} rose by {{2-60}} percent after {{reason}}, says {{who}}.")
    head = f"ANNUAL REPORT on {unit}, compiled by {who}\n\n{planted} "
    tail = (
        f"\n\nProduce an executive summary for a minister with two minutes to spare: the overall state of {unit}, "
        "the three "
        "weightiest developments with their figures, open risks, and the decision that is needed now."
    )
    briefs = words.stream(
        (
            "Outline {unit}.",
            "Report: {reason} raised {metric}. Outline it.",
            "In a short brief, say how {reason} changed {metric} of {unit}.",
        )
    )
    return Sketch(document(head, tail), words.paragraphs(REPORT, 3, 5), briefs)


def passage_answer(rng: random.Random) -> Sketch:
    """A biography, then: a question that needs two of its places."""
    words = Grammar(rng, LIFE_BANKS)
    work, helper = words.pick("work"), words.pick("helper")
    planted = words.say(f"Begun in {{1701-1899}}, {work} suffered from {{obstacle}} until {helper} came to {{city}}.")
    head = f"Biographical dictionary, entry 'Originator of {work}'\n\n{planted} "
    tail = (
        f"\n\nUsing nothing but this entry: which difficulties stood in the way of {work}, what part did {helper} "
        "play, and "
        "where does the entry contradict itself or stay vague? Answer in one full paragraph."
    )
    briefs = words.stream(
        (
            "Could {obstacle} stop {work}?",
            "How might {helper} support {work}?",
            "Imagine that {obstacle} ended {work}. Who loses most?",
        )
    )
    return Sketch(document(head, tail), words.paragraphs(LIFE, 3, 6), briefs)


def multi_document(rng: random.Random) -> Sketch:
    """Short documents with headings, then: a question across them, answered with their numbers."""
    words = Grammar(rng, FOLDER_BANKS)
    unit, city = words.pick("unit"), words.pick("city")
    planted = words.say(
        f"In {city}, {unit} counted {{metric}} of {{100-999}} before {{reason}}, and {{who}} signed for it."
    )
    head = f"The folder below was gathered for an inquiry into {unit}.\n\n[1] Circular, {city}\n{planted}"
    tail = (
        f"\n\nWhich of these documents bear on {city} or on {unit}, and do they agree? Go through them, cite each "
        "one by its number "
        "in square brackets, and end with the single most reliable statement."
    )
    briefs = words.stream(
        (
            "Compare {material} with {material}.",
            "Do {reason} and {metric} go together?",
            "{Who} says {reason}, {first} says {reason}. Weigh both.",
        )
    )
    return Sketch(document(head, tail), _folder(words), briefs, (f" {line}" for line in words.stream(FOLDER)))


def _folder(words: Grammar) -> Iterator[str]:
    for number, sort in enumerate(words.stream(SORTS), start=2):
        yield f"\n\n[{number}] {sort}, {words.pick('city')}\n{words.one_of(FOLDER)}"
        for _ in range(words.number(1, 3)):
            yield f" {words.one_of(FOLDER)}"


READING = (
    Family("explain_process", "held_out", "explain", "a craft, from a workshop's log", explain_process),
    Family("summarize_report", "held_out", "summarise", "a yearly report for a minister", summarize_report),
    Family("passage_answer", "held_out", "question on a text", "a biography that contradicts itself", passage_answer),
    Family("multi_document", "held_out", "retrieval", "one question across many short documents", multi_document),
)

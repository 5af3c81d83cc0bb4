"""Development code: a Python module about a warehouse whose last function stops half-way."""

import random
from collections.abc import Iterator

from specdec.prompts.families.grammar import Grammar, bank
from specdec.prompts.families.sketch import Family, Sketch, code_to_continue

BANKS = {
    "item": bank("crate|pallet|drum|reel|carton|barrel|bundle|sack|bottle|tray|spool|plank"),
    "measure": bank("weight|height|volume|price|age|rank|width|score|margin|duty"),
    "verb": bank("collect|arrange|audit|reserve|release|merge|inspect|forecast|balance|trim"),
    "place": bank("aisle|dock|shelf|yard|depot|bay|ramp|vault"),
    "why": bank(
        "the scales round down|two shifts overlap|the scanner skips damp labels|the owner counts in dozens|"
        "returns come in at night|the forklift cannot turn here|old stock goes first|the ledger is closed early|"
        "spare parts have no label|the lift holds only half a load|the insurers want it so"
    ),
}
FUNCTIONS = (
    '''def {verb}_{item=i}s_by_{measure=m}({=i}s, limit={10-900}):
    """Keep each {=i} whose {=m} is at most limit, because {why}."""
    kept = []
    for {=i} in {=i}s:
        if {=i}.{=m} <= limit:
            kept.append({=i})
    return sorted(kept, key=lambda {=i}: {=i}.{=m})
''',
    '''def total_{measure=m}_per_{place=p}({item=i}s):
    """Sum the {=m} of every {=i} by {=p}; {why}."""
    totals = {}
    for {=i} in {=i}s:
        totals[{=i}.{=p}] = totals.get({=i}.{=p}, {0-3}) + {=i}.{=m}
    return totals
''',
    '''def {verb}_{place=p}(stock, {item=i}, extra={2-60}):
    """Move one {=i} into the {=p}; {why}."""
    if {=i} not in stock:
        raise KeyError(f"no such {=i} for the {=p}: {{=i}}")
    stock[{=i}]["{=p}"] = stock[{=i}].get("{=p}", 0) + extra
    return stock[{=i}]["{=p}"]
''',
    '''class {Item=i}{Place=p}:
    """One {item} of the {place}; {why}."""

    def __init__(self, {measure=a}, {measure=b}):
        self.{=a} = {=a}
        self.{=b} = {=b} * {2-40}

    def {verb}_ratio(self):
        return self.{=a} / max(self.{=b}, {1-9})
''',
    '''def {verb}_pairs_of_{item=i}s({=i}s, gap={2-80}):
    """Pair neighbours whose {measure=m} differs by less than gap: {why}."""
    ordered = sorted({=i}s, key=lambda one: one.{=m})
    pairs = zip(ordered, ordered[1:])
    return [(left, right) for left, right in pairs if right.{=m} - left.{=m} < gap]
''',
    '''def {verb}_until_{place=p}_full({item=i}s, room={20-990}):
    """Fill the {=p} with {=i}s, largest {measure=m} first; {why}."""
    chosen, used = [], {0-9}
    for {=i} in sorted({=i}s, key=lambda each: -each.{=m}):
        if used + {=i}.{=m} > room - {2-19}:
            continue
        chosen.append({=i})
        used += {=i}.{=m}
    return chosen, room - used
''',
    '''def {measure=m}_report({place=p}, {item=i}s, unit="{measure}"):
    """One line for each {=i} in the {=p}; {why}."""
    lines = [f"{=p} {len({=i}s)}: {=i}s by {=m}"]
    lines += [f"  {{=i}.name:<{8-30}} {{=i}.{=m}:>{4-12}} {unit}" for {=i} in {=i}s]
    return " / ".join(lines)
''',
    '''def next_{item=i}(queue, {place=p}=None, patience={3-90}):
    """Wait for a {=i} that fits the {=p}, but not for ever, as {why}."""
    while queue and patience > {0-2}:
        {=i} = queue.popleft()
        if {=p} is None or {=i}.{measure} < {=p}.{measure}_limit:
            return {=i}
        patience -= {1-9}
    return None
''',
    '''def {verb}_by_{measure=m}_band({item=i}s, low={2-40}, high={41-990}):
    """Split {=i}s into three bands of {=m}: {why}."""
    bands = {"below": [], "inside": [], "above": []}
    for {=i} in {=i}s:
        name = "below" if {=i}.{=m} < low else "above" if {=i}.{=m} > high else "inside"
        bands[name].append({=i}.{measure})
    return bands
''',
    '''def check_{place=p}({place=p}, expected={5-400}):
    """Raise if the {=p} has lost {item=i}s since {why}."""
    missing = expected - sum(1 for {=i} in {=p} if {=i}.{measure=m} > {1-30})
    if missing > {0-8}:
        raise ValueError(f"{=p} lacks {missing} {=i}s, see their {=m}")
''',
)
CONSTANTS = (
    "{ITEM=i}_{MEASURE=m}_{PLACE=p} = {2-990}  # {why}\n",
    "# {Why}, so no {item} leaves the {place} without its {measure}.\n",
    "MAX_{ITEM=i}_{MEASURE=m} = {2-990} + {2-40}  # see {place} {2-90}\n",
)


def continue_function(rng: random.Random) -> Sketch:
    """A module of finished functions and an unfinished one."""
    words = Grammar(rng, BANKS)
    item, measure, place = words.pick("item"), words.pick("measure"), words.pick("place")
    head = (
        "Continue this Python module exactly where it stops. Finish the last function in the style of the others, "
        "then add a "
        f"second function that reports the {measure} of each {item}, with a docstring."
    )
    tail = (
        f"\n\ndef busiest_{place}({item}s, {measure}_floor):\n"
        f'    """Name the {place} with most {item}s above the floor."""\n'
        f"    counts = {{}}\n    for {item} in {item}s:\n"
    )
    briefs = words.stream(
        (
            "Write Python: sum a list of {item}s.",
            "Write a Python function that sorts {item}s by {measure}.",
            "Write a Python class for a {item} with its {measure} and {place}, and two methods.",
        )
    )
    return Sketch(code_to_continue(head, tail), _functions(words), briefs, _constants(words))


def _functions(words: Grammar) -> Iterator[str]:
    for function in words.stream(FUNCTIONS):
        yield "\n\n" + function.rstrip("\n") + "\n"


def _constants(words: Grammar) -> Iterator[str]:
    for number, constant in enumerate(words.stream(CONSTANTS)):
        yield constant if number else "# Stock rules of the warehouse.\n" + constant


CODE = (Family("continue_function", "development", "continue code", "a Python warehouse module", continue_function),)

"""Held-out code: a JavaScript toolbox to be continued, and a Python program whose test fails."""

import random
from collections.abc import Iterator

from specdec.prompts.families.grammar import Grammar, bank
from specdec.prompts.families.sketch import Family, Sketch, code_to_continue, document

SCRIPT_BANKS = {
    "noun": bank("planet|comet|moon|orbit|probe|signal|antenna|crater|rover|eclipse|beacon|nebula"),
    "prop": bank("mass|phase|radius|albedo|azimuth|period|flux|tilt|epoch|parallax"),
    "act": bank("track|chart|spin|sample|lock|drift|calibrate|decode|render|poll"),
    "event": bank("rise|set|dock|lost|found|ping|wake|fault"),
    "note": bank(
        "angles are in degrees here|the oldest reading wins|night frames arrive twice|"
        "gaps longer than a pass are ignored|callers own the buffer|negative values mean no contact|"
        "the sky map is lazily loaded|ties go to the nearer one"
    ),
}
SCRIPTS = (
    """// {Note}.
export function {act}{Noun=n}({=n}, { {prop=p} = {2-90}, {prop=q} = {2-90} } = {}) {
  const ratio = {=n}.{=p} / Math.max({=q}, {1-9});
  return ratio > {2-70} ? { ...{=n}, {=q}: ratio } : null;
}""",
    """export const {prop=p}Of{Noun=n} = (list) =>
  list.filter(({=n}) => {=n}.{=p} >= {3-80}) // {note}
    .map(({=n}) => ({ id: {=n}.id, {=p}: {=n}.{=p} - {1-60} }));""",
    """class {Noun=n}{Act=a} {
  #{prop=p} = {2-500};
  {=a}({noun=m}) {
    // {note}
    this.#{=p} += {=m}.{=p} ?? {1-40};
    return this;
  }
}""",
    """bus.on("{noun=n}:{event}", ({ {prop=p}, {prop=q} }) => {
  if ({=p} < {2-90}) return {act}({=q});
  bus.emit("{noun}:{event}", {=p} * {2-30}); // {note}
});""",
    """/** {Note}. */
async function {act}All{Noun=n}s(source, wait = {20-900}) {
  for await (const {=n} of source) {
    await pause(wait + {=n}.{prop=p});
    if ({=n}.{=p} === {0-40}) break;
  }
}""",
)
SCRIPT_NOTES = (
    "// {Note}; see {noun} {10-99}.\n",
    "const {NOUN=n}_{PROP=p} = {2-900}; // {note}\n",
    "// {Prop} {0-9}.{0-9} of each {noun}: {note}.\n",
)

RECIPE_BANKS = {
    "dish": bank("stew|broth|pie|curry|salad|pudding|dumpling|omelette|risotto|waffle"),
    "grain": bank("salt|pepper|sugar|thyme|butter|cumin|cream|garlic|vinegar|nutmeg"),
    "cook": bank("simmer|chop|whisk|season|roast|blend|knead|glaze|drain|plate"),
    "why": bank(
        "guests arrive in pairs|the oven holds two trays|portions are never halved|leftovers count as well|"
        "the recipe was written for six|scales show grams only|a pinch is a fixed amount|the cellar is cold|"
        "spoons differ in size|the cook is left-handed|children eat half|steam carries some away|"
        "two pots share one lid"
    ),
}
RECIPES = (
    """def {cook}_{dish=d}({grain=g}, guests={2-30}):
    # {why}
    portion = {=g} * {2-90} // guests
    leftover = {=g} - portion * guests
    return {"{=d}": portion, "rest": leftover}
""",
    """def {cook}_all({dish=d}_queue, {grain=g}={1-40}):
    {cook=c}_done = []
    while {=d}_queue:
        pot = {=d}_queue.pop()  # {why}
        pot.{=g} -= {=g} / {2-20}
        {=c}_done.append(pot.{cook}())
    return {=c}_done
""",
    """def cheapest_{dish=d}(menu):
    # {why}, so {grain} is left out
    best = menu[{0-9}]
    for {cook=c} in menu:
        if {=c}["{grain=g}"] < best["{=g}"] - {1-30}:
            best = {=c}
    return best["{=d}"]
""",
    """def {grain=g}_for_{dish=d}(grams, hot=True):
    if hot and grams > {40-900}:
        return grams - {2-39}  # {why}
    return {cook}({=g}=grams, {=d}=not hot)
""",
    """def menu_{cook}(days, {dish=d}_price={3-30}):
    # {why}
    {dish=m}_plan = [None] * days
    for day in range(0, days, {2-9}):
        {=m}_plan[day] = ("{=d}", {=d}_price + day % {2-12}, "{grain}")
    return {=m}_plan
""",
    """class {Dish=d}Pot:
    # {why}
    def __init__(self, {grain=g}, liters={2-60}):
        self.{=g}, self.liters = {=g}, liters
    def {cook}(self, minutes):
        self.liters -= minutes / {5-90}
        return self.liters * self.{=g} > {1-40}
""",
    """def {cook}_or_{cook}({dish=d}, clock={6-22}):
    # after {1-12} o'clock {why}
    late = clock + {=d}.minutes // {30-59} >= {18-23}
    return "{grain}" if late else {=d}.{grain}_left()
""",
    """def {grain=g}_bill(orders, discount=0.{1-9}):
    # {why}
    prices = sorted((order.{=g} * {2-15} for order in orders), reverse=True)
    free = prices[: len(prices) // {3-9}]
    return sum(prices) - discount * sum(free)
""",
    """def swap_{grain=g}({dish=d}, stock):
    # {why}, hence no {grain} at all
    spare = stock.pop("{=g}", {0-5})
    while spare > {6-60} and {=d}.wants("{=g}"):
        spare = {=d}.{cook}(spare, step={1-9})
    stock["{=g}"] = spare
""",
)
RECIPE_NOTES = ("# {Cook} the {dish} for {4-90} minutes: {why}.\n", "{GRAIN=g}_PER_{DISH=d} = {2-400}  # {why}\n")
BUGS = (
    ("    for step in range(1, len(amounts)):\n        total += amounts[step]\n", "the first amount is never added"),
    ("    for amount in amounts:\n        total = amount\n", "only the last amount comes out"),
    ("    for amount in amounts:\n        total += amount\n        return total\n", "the loop ends too soon"),
)


def continue_code(rng: random.Random) -> Sketch:
    """A JavaScript toolbox whose last class is open."""
    words = Grammar(rng, SCRIPT_BANKS)
    noun, prop, act = words.pick("noun"), words.pick("prop"), words.pick("act")
    head = (
        "Here is a JavaScript toolbox for sky watchers. Write on from its last line: close the open class, give it "
        "a method that "
        f"averages {prop}, and export one more helper in the same manner. Output code alone."
    )
    title = noun.capitalize()
    tail = (
        f"\n\nexport class {title}Book {{\n  constructor(rows = []) {{\n    this.rows = rows;\n  }}\n\n"
        f"  {act}({prop}) {{\n"
    )
    briefs = words.stream(
        (
            "Code {act}({noun}) in JavaScript.",
            "Write JavaScript that finds the {noun} with most {prop}.",
            "Give me a JavaScript class {Noun} with {prop}, {prop} and {act}().",
        )
    )
    return Sketch(
        code_to_continue(head, tail), ("\n\n" + s for s in words.stream(SCRIPTS)), briefs, _notes(words, SCRIPT_NOTES)
    )


def fix_code(rng: random.Random) -> Sketch:
    """A Python program, the message of its failing test, and the request for a corrected copy."""
    words = Grammar(rng, RECIPE_BANKS)
    dish, grain, first, second = words.pick("dish"), words.pick("grain"), words.number(3, 40), words.number(41, 90)
    body, symptom = BUGS[words.number(0, len(BUGS) - 1)]
    head = "One routine of this kitchen program is wrong:\n\n```python\n"
    broken = f"\n\ndef {grain}_in_{dish}(amounts):\n    total = 0\n{body}" + (
        "" if "return" in body else "    return total\n"
    )
    tail = (
        f"{broken}```\n\nThe check `{grain}_in_{dish}([{first}, {second}]) == {first + second}` fails: {symptom}. "
        "Explain the mistake in two sentences, "
        "then print that routine again in full, repaired, together with three further checks."
    )
    briefs = words.stream(
        (
            "Fix: def {cook}(): retrun {2-90}",
            "Repair: for {grain} in range({dish}) print({grain})",
            "Why does `{dish} = [{2-90}][1]` fail? Repair it.",
        )
    )
    return Sketch(
        document(head, tail),
        _routines(words),
        briefs,
        ("\n" + note.rstrip("\n") for note in words.stream(RECIPE_NOTES)),
    )


def _routines(words: Grammar) -> Iterator[str]:
    for number, routine in enumerate(words.stream(RECIPES)):
        yield ("\n\n" if number else "") + routine


def _notes(words: Grammar, templates: tuple[str, ...]) -> Iterator[str]:
    yield from words.stream(templates)


CODE = (
    Family("continue_code", "held_out", "continue code", "a JavaScript toolbox with an open class", continue_code),
    Family("fix_code", "held_out", "fix code", "a Python routine whose check fails", fix_code),
)

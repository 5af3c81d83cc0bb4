"""Whom to ask, and for how much: what each source is expected to save in this text against what it costs.

Numbers on the host alone. A copied token is right with a chance that depends on how many tokens in front of it match
an earlier place, the copied ones that were right among them: on development texts 0.2 behind one matching token and
0.98 behind sixteen. Each chance begins at a prior and follows what this text has shown.
"""

from dataclasses import dataclass, field

MATCH_STEPS = (1, 2, 4, 8, 16)
"""Shortest matches of the classes that share a chance; longer than the last is the last."""

PRIOR_WEIGHT = 4.0
"""Decided tokens that a prior counts for; of 4, 8 and 16, all within 1 % of each other on development texts."""

FADING = 0.995
"""Share of what was seen that a round leaves: a source that failed is tried again now and then, some rounds apart."""


@dataclass(frozen=True)
class Prices:
    """What is weighed against what, in target steps (see ``specdec.config.drafting.Weighing``)."""

    draft_cost: float
    row_cost: float
    pace: float
    model_rate: float
    lookup_rates: tuple[float, ...]
    block_cost: float = 0.0
    next_rate: float = 0.5

    def beyond_plain(self, copied: int, modelled: int) -> float:
        """Target steps that a round takes beyond a plain one."""
        return self.beyond(copied + modelled, modelled)

    def beyond(self, n_drafted: int, n_forwards: int) -> float:
        """The same by the tokens that are verified and the draft forwards that were run."""
        return (self.block_cost + self.row_cost * n_drafted if n_drafted else 0.0) + self.draft_cost * n_forwards


@dataclass(frozen=True)
class Plan:
    """Whom to ask for how many tokens: ``copied`` of the lookup, ``modelled`` of the model, or neither."""

    copied: int = 0
    modelled: int = 0


@dataclass
class Rate:
    """A chance of acceptance: a prior, and what was seen since."""

    prior: float
    accepted: float = 0.0
    reached: float = 0.0

    @property
    def value(self) -> float:
        """The chance now."""
        return (self.prior * PRIOR_WEIGHT + self.accepted) / (PRIOR_WEIGHT + self.reached)

    def learn(self, accepted: bool) -> None:
        """One more token was decided."""
        self.accepted += accepted
        self.reached += 1.0

    def fade(self) -> None:
        """A round went by."""
        self.accepted *= FADING
        self.reached *= FADING


@dataclass
class Weighing:
    """The chances of one text and the choice that follows from them."""

    prices: Prices
    model: Rate = field(init=False)
    lookups: list[Rate] = field(init=False)
    tokens: float = field(init=False)
    steps: float = field(init=False)

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """A new text: back to the priors."""
        self.model = Rate(self.prices.model_rate)
        self.lookups = [Rate(prior) for prior in self.prices.lookup_rates]
        self.tokens, self.steps = PRIOR_WEIGHT * self.prices.pace, PRIOR_WEIGHT

    @property
    def pace(self) -> float:
        """Tokens per target step in this text: what the time of a step is worth."""
        return self.tokens / self.steps

    def choose(self, matched: int, k: int, model_k: int) -> Plan:
        """The plan with the most to gain over a plain step; ``matched`` tokens stand in front of the copy (0: none).

        A draft of ``d`` tokens gains the tokens it is expected to have accepted and costs ``pace`` tokens for each
        target step that it takes beyond a plain one: time could otherwise be spent at that pace. A model's token
        behind one that stood stands with ``next_rate``.
        """
        best, most = Plan(), 0.0
        expected, stands = 0.0, 1.0
        for d in range(1, k + 1 if matched else 1):
            stands *= self.lookup(matched + d - 1).value
            expected += stands
            gain = expected - self.pace * self.prices.beyond_plain(d, 0)
            if gain > most:
                best, most = Plan(copied=d), gain
        expected, stands = 0.0, self.model.value
        for d in range(1, min(k, model_k) + 1):
            expected += stands
            stands *= self.prices.next_rate
            gain = expected - self.pace * self.prices.beyond_plain(0, d)
            if gain > most:
                best, most = Plan(modelled=d), gain
        return best

    def learn(self, plan: Plan, matched: int, accepted: int, beyond: float | None = None) -> None:
        """``accepted`` tokens of what was planned stood; the next one, if there was one, did not.

        ``beyond`` are the target steps that the round took beyond a plain one, where it was not run as planned.
        """
        planned = self.prices.beyond_plain(plan.copied, plan.modelled)
        self.tokens = FADING * self.tokens + accepted + 1
        self.steps = FADING * self.steps + 1.0 + (planned if beyond is None else beyond)
        for rate in (self.model, *self.lookups):
            rate.fade()
        for index in range(min(accepted + 1, plan.copied)):
            self.lookup(matched + index).learn(index < accepted)
        if plan.modelled:
            self.model.learn(accepted > 0)

    def lookup(self, matched: int) -> Rate:
        """The chance of a token behind ``matched`` (at least 1) matching ones."""
        return self.lookups[sum(matched >= step for step in MATCH_STEPS) - 1]

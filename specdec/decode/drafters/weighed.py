"""Lookup and a model, weighed: before each round the one that is expected to save more than it costs, or neither.

Where the controller watches the model's probabilities, it says how deep the model's chain goes, and the plan only
whether there is one.
"""

from specdec.decode.committed import Committed
from specdec.decode.drafters.hybrid import HybridDrafter
from specdec.decode.drafters.ngram import NgramDrafter, match_length
from specdec.decode.drafters.weighing import MATCH_STEPS, Plan, Prices, Weighing
from specdec.decode.parts import ChainRule, Draft, Drafter


class WeighedDrafter(HybridDrafter):
    """Asks whom ``Weighing`` chooses; learns from how far the text has grown when the caches are settled."""

    def __init__(self, lookup: NgramDrafter, model: Drafter, model_k: int, prices: Prices) -> None:
        super().__init__(lookup, model, model_k)
        self._weighing = Weighing(prices)
        self._prices = prices
        self._asked: tuple[Plan, int, Draft] | None = None  # the plan, its match, what was drafted
        self._n_committed = 0

    def begin(self, committed: Committed) -> None:
        """Begin both; nothing is known of this text."""
        super().begin(committed)
        self._weighing.reset()
        self._asked = None
        self._n_committed = len(committed)

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """The draft of the source that is worth most; nothing if none is worth its cost."""
        start = self.lookup.find(committed)
        matched = 0 if start is None else match_length(committed.ids, start, MATCH_STEPS[-1])
        plan = self._weighing.choose(matched, k, self._model_k)
        if start is not None and plan.copied:
            draft = self.lookup.copy(committed, start, plan.copied)
        else:
            watched = plan.modelled > 0 and rule.signal is not None
            draft = self.model.propose(committed, min(k, self._model_k) if watched else plan.modelled, rule)
        self._asked = (plan, matched, draft)
        self._n_committed = len(committed)  # the prefill's token came in without a round
        return draft

    def settle(self, committed: Committed) -> None:
        """Learn from the round, or forget it if the text was rewound; settle both."""
        super().settle(committed)
        grown = len(committed) - self._n_committed
        if grown < 0:
            self._weighing.reset()
        elif self._asked is not None:
            plan, matched, draft = self._asked
            beyond = self._prices.beyond(draft.size, draft.depth if plan.modelled else 0)
            self._weighing.learn(plan, matched, min(grown - 1, draft.depth), beyond)
        self._asked = None
        self._n_committed = len(committed)

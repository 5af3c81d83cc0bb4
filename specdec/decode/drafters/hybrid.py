"""Lookup first, a model when it finds nothing: copies are free, so the model's forward is spent only where needed."""

from specdec.decode.committed import Committed
from specdec.decode.drafters.ngram import NgramDrafter
from specdec.decode.parts import ChainRule, Draft, Drafter, Tally


class HybridDrafter:
    """Prompt lookup with ``k`` tokens, otherwise up to ``model_k`` tokens of the model.

    While lookup serves, the model's cache falls behind; what is pending rides along with its next forward.
    """

    def __init__(self, lookup: NgramDrafter, model: Drafter, model_k: int) -> None:
        self.lookup = lookup
        self.model = model
        self._model_k = model_k

    @property
    def tally(self) -> Tally:
        """The model's forwards (lookup runs none)."""
        return self.model.tally

    def begin(self, committed: Committed) -> None:
        """Begin both."""
        self.lookup.begin(committed)
        self.model.begin(committed)

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """The lookup's draft if it found one."""
        draft = self.lookup.propose(committed, k, rule)
        return draft if draft.size else self.model.propose(committed, min(k, self._model_k), rule)

    def settle(self, committed: Committed) -> None:
        """Settle both."""
        self.lookup.settle(committed)
        self.model.settle(committed)

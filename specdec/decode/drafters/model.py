"""An independent language model that drafts a greedy chain, with a cache of its own.

Its cache may lag behind the committed tokens: by the anchor always, by one more token after a fully
accepted draft with a bonus token, by many after rounds without a draft. What is pending rides along with
the first draft forward (``lazy``, the cheapest), is fed in a forward of its own at once (``eager``, as study B's
engine), or the first forward always takes two tokens (``fixed2``, one shape for a captured graph).
"""

import torch

from specdec.config.tree import MOST_NODES, chain_with_siblings
from specdec.decode.committed import Committed
from specdec.decode.drafters.siblings import Choice, likeliest
from specdec.decode.model_part import HostModelPart
from specdec.decode.parts import ChainRule, Draft
from specdec.models.executor import Executor


class ModelDrafter(HostModelPart):
    """Greedy chain of a smaller model; a rule that looks at probabilities gets its signal of each token.

    ``choice`` may put siblings beside the chain's tokens; ``n_positions`` is then the target's, behind whose last
    position none has room. Without room for all of them, there or in a block, the chain is drafted alone.
    """

    def __init__(
        self,
        executor: Executor,
        n_extra: int,
        chunk: int,
        catch_up: str = "lazy",
        source: str = "model",
        choice: Choice = likeliest,
        n_positions: int | None = None,
    ) -> None:
        super().__init__(executor, n_extra, chunk)
        self.source = source
        self._catch_up = catch_up
        self._choice = choice
        self._n_positions = n_positions or executor.n_positions
        self._n_true: int | None = None  # leading tokens of the cache that stay true whichever sibling is accepted
        self._nothing = Draft(torch.empty(0, dtype=torch.int64, device=executor.device), None, "none")

    def begin(self, committed: Committed) -> None:
        """Prefill the drafter's cache with the prompt."""
        self.fill(committed.prompt)

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """Draft up to ``k`` tokens; fewer when the rule stops the chain or the drafter's positions end."""
        cache = self.held
        k = min(k, self.executor.n_positions - len(committed))
        if k <= 0:
            return self._nothing
        if self._catch_up == "fixed2":
            cache.rollback(min(cache.length, len(committed) - 2))
        ids = committed.since(cache.length)
        levels: list[torch.Tensor] = []
        signals: list[torch.Tensor] = []
        for depth in range(1, k + 1):
            self.tally.add("draft", ids.shape[0])
            logits = self.executor.forward(ids, cache.length, cache, last_only=True)[0]
            levels.append(self._choose(logits, committed, depth))
            ids = levels[-1][:1]
            value = None if rule.signal is None else rule.signal(logits)
            if value is not None:
                signals.append(value)
            if depth == k or not rule.goes_on(depth, value):
                break
        widths = tuple(level.shape[0] for level in levels)
        if sum(widths) == len(widths):
            return Draft(torch.cat(levels), torch.stack(signals) if signals else None, self.source)
        if sum(widths) > min(MOST_NODES, self._n_positions - len(committed)):
            return Draft(torch.cat([level[:1] for level in levels]), None, self.source)
        tree = chain_with_siblings(widths)
        self._n_true = len(committed)
        return Draft(torch.cat(levels), None, self.source, tree)

    def settle(self, committed: Committed) -> None:
        """Drop rejected tokens, the chain too where it had siblings; feed a pending token at once if ``eager``."""
        cache = self.held
        n_true = cache.length if self._n_true is None else self._n_true
        cache.rollback(min(cache.length, len(committed) - 1, n_true))
        self._n_true = None
        pending = len(committed) - 1 - cache.length
        # behind the drafter's last position nothing is drafted any more, so nothing need catch up
        if self._catch_up == "eager" and pending == 1 and cache.length < self.executor.n_positions:
            self.tally.add("catch_up", 1)
            self.executor.forward(committed.since(cache.length)[:1], cache.length, cache, last_only=True)

    def _choose(self, logits: torch.Tensor, committed: Committed, depth: int) -> torch.Tensor:
        """Tokens drafted from logits ``[V]``, the chain's first: int64 ``[m]``."""
        return self._choice(logits, depth)

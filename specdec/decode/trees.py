"""Verifying a draft that branches: most misses are near misses, so the lossless answer is to verify siblings too.

The target scores all nodes in one block in which each sees its own ancestors alone (Miao et al. 2024,
"SpecInfer", section 4.2). At temperature 0 the target's choice behind the anchor picks at most one child, its choice
behind that one picks the next, and so on: the accepted path. Every emitted token is still the target's argmax.
"""

import torch

from specdec.decode.acceptance import GreedyAcceptance
from specdec.decode.committed import Committed
from specdec.decode.parts import Draft, Judgement
from specdec.decode.tree_layout import tree_layout
from specdec.decode.verifiers import AnchoredVerifier
from specdec.models.branches import TreeExecutor


class TreeVerifier(AnchoredVerifier):
    """``[anchor, node 1 .. node n]`` as one block; chains (of lookup, in a hybrid) run as ``anchored`` runs them."""

    executor: TreeExecutor

    def __init__(self, executor: TreeExecutor, n_extra: int, chunk: int) -> None:
        super().__init__(executor, n_extra, chunk)

    def score(self, committed: Committed, draft: Draft) -> torch.Tensor:
        """Logits ``[n+1, V]``: row 0 judges the nodes at depth 1, row ``i`` the children of node ``i``."""
        if draft.tree is None:
            return super().score(committed, draft)
        block = torch.cat([committed.anchor, draft.tokens])
        self.tally.add("verify", block.shape[0])
        branches = tree_layout(draft.tree, block.device).block
        return self.executor.forward_tree(block, len(committed) - 1, self.held, branches)

    def compact(self, committed: Committed, judgement: Judgement) -> None:
        """Move the accepted path's entries behind the anchor's; ``settle`` then drops the rest by its number."""
        if judgement.path is not None:
            self.executor.keep_path(self.held, len(committed) - 1, judgement.path)


class TreeAcceptance(GreedyAcceptance):
    """Walk from the anchor to the child that is the target's choice, as long as there is one; chains as ever."""

    def judge(self, draft: Draft, logits: torch.Tensor) -> Judgement:
        """Tokens along the accepted path and the target's own behind its end, int64 ``[depth+1]``."""
        if draft.tree is None:
            return super().judge(draft, logits)
        layout = tree_layout(draft.tree, logits.device)
        choice = logits.argmax(dim=-1)
        right = draft.tokens == choice.index_select(0, layout.parents)
        # a node stands if it and all its ancestors are right; siblings differ, so one at most stands at each depth
        stands = (right | ~layout.lineage).all(dim=1)
        path = torch.zeros(layout.depth, dtype=torch.int64, device=choice.device)
        path.scatter_add_(0, layout.levels, layout.rows * stands)
        from_anchor = torch.cat([path.new_zeros(1), path])
        return Judgement(choice.index_select(0, from_anchor), stands.sum(), self._bonus, path)

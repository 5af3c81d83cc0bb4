"""How far a drafter's chain follows the target's greedy text: ``a_j`` at each depth, without running a chain.

Greedy drafting depends on the committed prefix alone, and while a chain is accepted its prefix is the text. So the
states of all depths over the text hold every chain that could begin anywhere in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch


@dataclass
class Acceptance:
    """Chains that reached each depth and those accepted there, counted from depth 1 on."""

    reached: list[int] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)

    def count(self, right: list[torch.Tensor], counts: torch.Tensor) -> None:
        """Add texts: ``right[d - 1]`` bool ``[batch, m]`` at depth ``d``; ``counts`` bool ``[batch, m]`` real rows."""
        alive = counts
        for depth, hits in enumerate(right):
            # the chain that began at row s stands at row s + depth
            reached = alive[:, : alive.shape[1] - depth] & counts[:, depth:]
            accepted = reached & hits[:, depth:]
            self._add(depth, int(reached.sum()), int(accepted.sum()))
            alive = torch.nn.functional.pad(accepted, (0, depth))

    @property
    def rates(self) -> list[float]:
        """``a_j``: accepted of those reached; 0 where no chain came."""
        return [a / r if r else 0.0 for a, r in zip(self.accepted, self.reached, strict=True)]

    @property
    def tokens_per_round(self) -> list[float]:
        """Expected tokens of a round with K = 1, 2 ..: ``1 + a_1 + a_1 a_2 + ..``."""
        total, alive, values = 1.0, 1.0, []
        for rate in self.rates:
            alive *= rate
            total += alive
            values.append(total)
        return values

    def _add(self, depth: int, reached: int, accepted: int) -> None:
        for counts in (self.reached, self.accepted):
            counts += [0] * (depth + 1 - len(counts))
        self.reached[depth] += reached
        self.accepted[depth] += accepted


def pooled(texts: Sequence[Acceptance]) -> Acceptance:
    """The counts of all texts together."""
    total = Acceptance()
    for text in texts:
        for depth, (reached, accepted) in enumerate(zip(text.reached, text.accepted, strict=True)):
            total._add(depth, reached, accepted)
    return total


def standard_errors(texts: Sequence[Acceptance]) -> list[float]:
    """How far ``pooled(texts).rates`` would move with other texts of the kind: one standard error per depth.

    Positions of a text are alike, so texts are what varies: the linearised variance of a ratio of sums over clusters
    (Cochran 1977, Sampling Techniques, section 2.11).
    """
    total = pooled(texts)
    errors = []
    for depth, rate in enumerate(total.rates):
        squares = sum((text.accepted[depth] - rate * text.reached[depth]) ** 2 for text in texts)
        correction = len(texts) / max(len(texts) - 1, 1)
        errors.append((squares * correction) ** 0.5 / max(total.reached[depth], 1))
    return errors

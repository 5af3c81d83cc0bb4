"""No drafter: target-only decoding is the loop with this part."""

import torch

from specdec.decode.committed import Committed
from specdec.decode.parts import ChainRule, Draft, Tally


class NoDrafter:
    """Proposes nothing, costs nothing."""

    def __init__(self, device: torch.device) -> None:
        self.tally = Tally()
        self._nothing = Draft(torch.empty(0, dtype=torch.int64, device=device), None, "none")

    def begin(self, committed: Committed) -> None:
        """No state."""

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """Nothing."""
        return self._nothing

    def settle(self, committed: Committed) -> None:
        """No state."""

"""Which drafted tokens stand: device tensors in, device tensors out, no host read.

Greedy is the lossless rule; the others exist to measure what strictness costs and are labelled so in
every record (``lossless``, ``text_valid``).
"""

from collections.abc import Sequence

import torch

from specdec.decode.parts import Draft, Judgement

N_COINS = 1 << 16
"""Random numbers that forced acceptance has in stock: enough for every round of a long generation."""


class GreedyAcceptance:
    """Accept a draft token exactly when it is the target's argmax (temperature 0; the lowest id wins a tie).

    Source: Leviathan et al. 2023, section 2.2, at temperature 0.
    """

    lossless = True
    text_valid = True

    def __init__(self, bonus: bool) -> None:
        self._bonus = bonus

    def judge(self, draft: Draft, logits: torch.Tensor) -> Judgement:
        """Accept the longest prefix of the draft that equals the target's choices."""
        choice = logits.argmax(dim=-1)
        accepted = draft.tokens == choice[:-1]
        return Judgement(tokens=choice, n_accepted=prefix_length(accepted), bonus=self._bonus)


class RelaxedAcceptance:
    """Accept a draft token whose logit is within ``delta`` of the target's top logit. Lossy for delta > 0."""

    text_valid = True

    def __init__(self, delta: float, bonus: bool) -> None:
        self._delta = delta
        self._bonus = bonus
        self.lossless = delta == 0.0

    def judge(self, draft: Draft, logits: torch.Tensor) -> Judgement:
        """Accept the longest prefix of near-top tokens; the kept tokens are the drafter's."""
        choice = logits.argmax(dim=-1)
        rows = logits[:-1].float()
        gap = rows.max(dim=-1).values - rows.gather(1, draft.tokens[:, None])[:, 0]
        # at delta 0 an equal maximum with a higher id would pass the gap test; the argmax rule must not change
        near = gap <= self._delta if self._delta > 0 else draft.tokens == choice[:-1]
        n_accepted = prefix_length(near)
        depth = torch.arange(choice.shape[0], device=choice.device)
        padded = torch.cat([draft.tokens, choice[-1:]])
        return Judgement(torch.where(depth < n_accepted, padded, choice), n_accepted, self._bonus)


class ForcedAcceptance:
    """Accept by decree: every token, or depth ``j`` with probability ``rates[j-1]`` (seeded). The text is invalid.

    ``rates`` is conditional on the depth before having been accepted; depths behind its end use its last entry.
    """

    lossless = False
    text_valid = False

    def __init__(self, rates: Sequence[float] | None, bonus: bool, seed: int) -> None:
        self._rates = None if rates is None else torch.tensor(list(rates))
        self._bonus = bonus
        # all at once and sent to the device once: a coin tossed on the host would make every round wait for it
        self._coins = torch.rand(N_COINS, generator=torch.Generator().manual_seed(seed))
        self._n_used = 0

    def judge(self, draft: Draft, logits: torch.Tensor) -> Judgement:
        """Accept as decreed; the token after it is the target's choice in that row."""
        choice = logits.argmax(dim=-1)
        size = draft.size
        if self._rates is None:
            accepted = torch.ones(size, dtype=torch.bool, device=choice.device)
        else:
            accepted = self._toss(size, self._rates, choice.device)
        n_accepted = prefix_length(accepted)
        padded = torch.cat([draft.tokens, choice[-1:]])
        position = torch.arange(size + 1, device=choice.device)
        return Judgement(torch.where(position < n_accepted, padded, choice), n_accepted, self._bonus)

    def _toss(self, size: int, rates: torch.Tensor, device: torch.device) -> torch.Tensor:
        """The next ``size`` coins, bool ``[size]``; they begin again where they end."""
        if self._coins.device != device:
            self._coins, self._rates = self._coins.to(device), rates.to(device)
        assert self._rates is not None
        start = self._n_used if self._n_used + size <= N_COINS else 0
        self._n_used = start + size
        depth = torch.arange(size, device=device).clamp(max=self._rates.shape[0] - 1)
        return self._coins[start : start + size] < self._rates[depth]


def prefix_length(flags: torch.Tensor) -> torch.Tensor:
    """Number of leading true values of bool ``[d]``, as int64 ``[]`` (0 for d = 0)."""
    return flags.cumprod(dim=0).sum()

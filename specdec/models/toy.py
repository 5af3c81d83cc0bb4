"""A model without a network, for tests of the loop: logits are a hash of everything that the cache shows.

A mock with fixed logits cannot see a cache fault. Here every visible (token, position) pair enters every
row, so that a stale, missing or misplaced entry changes the argmax almost surely; a step costs
microseconds, and the same seed gives the same text in every process and on every device.
"""

from dataclasses import dataclass

import torch

from specdec.errors import ModelError
from specdec.models.door import Door
from specdec.models.executor import Cache


class ToyCache:
    """Tokens and positions as they were written, one slot each."""

    def __init__(self, capacity: int, device: torch.device) -> None:
        self.tokens = torch.zeros(capacity, dtype=torch.int64, device=device)
        self.positions = torch.zeros(capacity, dtype=torch.int64, device=device)
        self._length = 0

    @property
    def length(self) -> int:
        """Tokens held."""
        return self._length

    def rollback(self, length: int) -> None:
        """Keep the first ``length`` tokens (0 .. ``self.length``); ``ValueError`` otherwise."""
        if not 0 <= length <= self._length:
            raise ValueError(f"cannot keep {length} tokens of a cache that holds {self._length}")
        self._length = length

    def write(self, ids: torch.Tensor, position: int) -> None:
        """Put ``ids`` behind the tokens held, as tokens of ``position ..``."""
        stop = self._length + ids.shape[0]
        self.tokens[self._length : stop] = ids
        self.positions[self._length : stop] = torch.arange(position, position + ids.shape[0], device=ids.device)
        self._length = stop


@dataclass(frozen=True)
class ToyText:
    """What the text of a toy is like.

    Attributes
    ----------
    seed : int
        Another seed is another model.
    copying : float
        Share of positions whose token is the one ``period`` places earlier (text that prompt lookup finds).
    period : int
        See ``copying``.
    agreement : float
        Share of prefixes after which the argmax is that of the undisturbed toy; after the others it is
        another token. Which ones they are follows from the prefix and ``disturbance``.
    disturbance : int
        Seed of the disagreement: two drafters of one target may err at different places.
    """

    seed: int = 0
    copying: float = 0.0
    period: int = 7
    agreement: float = 1.0
    disturbance: int = 0


class ToyExecutor:
    """See ``specdec.models.executor.Executor`` for the contract; logits are float32."""

    kind = "toy"
    dtype = torch.float32

    def __init__(
        self,
        text: ToyText | None = None,
        *,
        n_vocabulary: int = 64,
        n_positions: int = 512,
        device: torch.device | str = "cpu",
        door: Door | None = None,
    ) -> None:
        self.text = text or ToyText()
        self.n_vocabulary = n_vocabulary
        self.n_positions = n_positions
        self.device = torch.device(device)
        self.door = door or Door(self.device)
        self._columns = _mix(torch.arange(n_vocabulary, device=self.device))

    def open(self, capacity: int) -> ToyCache:
        """An empty cache for up to ``capacity`` tokens, or the toy's positions if those are fewer."""
        return ToyCache(min(capacity, self.n_positions), self.device)

    def forward(self, ids: torch.Tensor, position: int, cache: Cache, last_only: bool = False) -> torch.Tensor:
        """Logits ``[q, V]``, or ``[1, V]`` with ``last_only``; see the protocol.

        Raises
        ------
        ValueError
            If ``position`` is not the cache's length.
        ModelError
            If the block would pass the end of the cache.
        """
        if not isinstance(cache, ToyCache):
            raise TypeError(f"{type(cache).__name__} was not opened by this executor; use its own open()")
        held, q = cache.length, ids.shape[0]
        if position != held:
            raise ValueError(f"a block at position {position} does not follow a cache of {held} tokens")
        if held + q > cache.tokens.shape[0]:
            raise ModelError(f"{held + q} tokens do not fit a cache of {cache.tokens.shape[0]}; use a shorter prompt")
        if bool(((ids < 0) | (ids >= self.n_vocabulary)).any()):
            raise IndexError(f"token ids must lie in 0 .. {self.n_vocabulary - 1}")
        cache.write(ids, position)
        first_row = q - 1 if last_only else 0
        return self._logits(cache, held + first_row + 1)

    def _logits(self, cache: ToyCache, shortest: int) -> torch.Tensor:
        """Rows for the prefixes of ``shortest .. cache.length`` slots: float32 ``[rows, V]``."""
        tokens, positions = cache.tokens[: cache.length], cache.positions[: cache.length]
        # a sum, so that every prefix is one cumulative pass; each pair is mixed before it enters the sum
        prefixes = _mix(_mix(tokens + 1) + 31 * positions + self.text.seed).cumsum(0)[shortest - 1 :]
        state = _mix(prefixes + self.text.seed)
        # sharpness differs by row and grows with V, so that the top-1 probability spans 1/V .. 1
        sharpness = 4.0 * self.n_vocabulary * _unit(_mix(state + 1))[:, None]
        logits = sharpness * _unit(_mix(state[:, None] + self._columns))
        copies = _unit(_mix(state + 2)) < self.text.copying
        source = torch.arange(shortest, cache.length + 1, device=self.device) - self.text.period
        copied = tokens[source.clamp(min=0)][:, None]
        logits = logits.scatter_add(1, copied, 8.0 * self.n_vocabulary * (copies & (source >= 0)).float()[:, None])
        errs = _unit(_mix(state + 3 + self.text.disturbance)) >= self.text.agreement
        # rolled by one place, the argmax is another token for certain
        return torch.where(errs[:, None], logits.roll(1, -1), logits)


def _mix(values: torch.Tensor) -> torch.Tensor:
    """Scramble int64 values (the finaliser of splitmix64, Steele et al. 2014), wrapping as int64 does."""
    values = (values ^ _shifted(values, 30)) * -4658895280553007687
    values = (values ^ _shifted(values, 27)) * -7723592293110705685
    return values ^ _shifted(values, 31)


def _shifted(values: torch.Tensor, bits: int) -> torch.Tensor:
    """Logical right shift; torch's own keeps the sign."""
    return (values >> bits) & ((1 << (64 - bits)) - 1)


def _unit(values: torch.Tensor) -> torch.Tensor:
    """Scrambled int64 to float32 in [0, 1): the upper 24 bits, all that a float32 holds exactly."""
    return _shifted(values, 40).float() / (1 << 24)

"""The committed tokens of one generation: on the host as a list, on the device as a buffer.

Kept on both sides so that the next block can be built from device tensors without a copy from the
host, and the host can count, stop and print without a read. ``anchor`` is the last committed token,
which is not yet in the target's cache (study A's convention).
"""

from collections.abc import Sequence

import torch

from specdec.models.door import Door


class Committed:
    """Prompt plus emitted tokens.

    Attributes
    ----------
    ids : list of int
        Host copy of every committed token, prompt first.
    n_prompt : int
        Length of the prompt.
    capacity : int
        Most tokens that the sequence may ever hold.
    """

    def __init__(self, prompt: Sequence[int], capacity: int, door: Door) -> None:
        self.ids = [int(token) for token in prompt]
        self.n_prompt = len(self.ids)
        self.capacity = capacity
        self._buffer = torch.empty(capacity, dtype=torch.int64, device=door.device)
        self._buffer[: self.n_prompt] = door.upload(self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def n_emitted(self) -> int:
        """Tokens committed after the prompt, the prefill's token included."""
        return len(self.ids) - self.n_prompt

    @property
    def prompt(self) -> torch.Tensor:
        """int64 ``[n_prompt]`` on the device."""
        return self._buffer[: self.n_prompt]

    @property
    def anchor(self) -> torch.Tensor:
        """int64 ``[1]`` on the device: the last committed token."""
        return self._buffer[len(self.ids) - 1 : len(self.ids)]

    def since(self, start: int) -> torch.Tensor:
        """int64 ``[len - start]`` on the device: committed tokens from position ``start``."""
        return self._buffer[start : len(self.ids)]

    def commit(self, tokens: Sequence[int], on_device: torch.Tensor) -> None:
        """Append ``tokens``; ``on_device`` is int64 ``[>= len(tokens)]`` and begins with the same ids."""
        start, stop = len(self.ids), len(self.ids) + len(tokens)
        self._buffer[start:stop] = on_device[: len(tokens)]
        self.ids.extend(tokens)

    def advance(self, tokens: torch.Tensor, n_tokens: torch.Tensor) -> None:
        """Append on the device alone (``DeviceText``); here the host knows every outcome, so there is nothing to do."""

    def rewind(self, length: int) -> None:
        """Forget every token from position ``length`` on (``n_prompt <= length <= len``)."""
        if not self.n_prompt <= length <= len(self.ids):
            raise ValueError(f"cannot rewind to {length}: the prompt ends at {self.n_prompt}, text at {len(self.ids)}")
        del self.ids[length:]


class DeviceText(Committed):
    """Committed tokens whose end the *device* knows: positions are tensors, so the host may lag behind.

    ``ids`` is what the host has learned so far; ``position`` is int64 ``[1]``, the place of the last token on the
    device. Blocks are gathered at it, so no launch ever waits for a host number (and a captured graph can be
    replayed anywhere in the text).
    """

    def __init__(self, prompt: Sequence[int], capacity: int, door: Door, slack: int) -> None:
        super().__init__(prompt, capacity, door)
        # a block that starts at the last place is written whole: its rejected end may lie behind the capacity
        self._buffer = torch.cat([self._buffer, self._buffer.new_zeros(slack)])
        self.position = torch.full((1,), self.n_prompt - 1, dtype=torch.int64, device=door.device)
        self._offsets = torch.arange(slack, dtype=torch.int64, device=door.device)

    @property
    def anchor(self) -> torch.Tensor:
        """int64 ``[1]``: the last token on the device."""
        return self._buffer.index_select(0, self.position)

    def window(self, size: int) -> torch.Tensor:
        """int64 ``[size]``: the last ``size`` tokens on the device."""
        return self._buffer.index_select(0, self.position - (size - 1) + self._offsets[:size])

    def advance(self, tokens: torch.Tensor, n_tokens: torch.Tensor) -> None:
        """Append the first ``n_tokens`` (int64 ``[]``) of ``tokens`` int64 ``[d+1]``.

        All are written; those behind the count lie past the end and are overwritten by the next round.
        """
        self._buffer.index_copy_(0, self.position + 1 + self._offsets[: tokens.shape[0]], tokens)
        self.position += n_tokens

    def commit(self, tokens: Sequence[int], on_device: torch.Tensor) -> None:
        """The host learns tokens that the device already holds."""
        self.ids.extend(tokens)

    def rewind(self, length: int) -> None:
        """Both sides go back to ``length`` tokens."""
        super().rewind(length)
        self.position.fill_(length - 1)

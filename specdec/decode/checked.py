"""Contract checks around every part: tests and gates always run checked, timed runs never.

A fault in a drafter's cache never changes greedy output, it only lowers acceptance; so the caches'
lengths are compared with the committed tokens after every round.
"""

from dataclasses import replace
from itertools import pairwise

import torch

from specdec.decode.committed import Committed
from specdec.decode.engine import Engine
from specdec.decode.parts import ChainRule, Draft, Judgement
from specdec.decode.wrapping import WrappedAcceptance, WrappedDrafter, WrappedVerifier


class ContractError(AssertionError):
    """A part broke the contract of its role: a bug, never a user's mistake."""


def checked(engine: Engine) -> Engine:
    """The same engine whose drafter, verifier and acceptance are checked at every call."""
    return replace(
        engine,
        drafter=CheckedDrafter(engine.drafter),
        verifier=CheckedVerifier(engine.verifier),
        acceptance=CheckedAcceptance(engine.acceptance),
    )


def require(condition: bool, what: str) -> None:
    """Raise ``ContractError`` unless ``condition``."""
    if not condition:
        raise ContractError(what)


class CheckedDrafter(WrappedDrafter):
    """Draft shape, type and length; cache length afterwards."""

    def begin(self, committed: Committed) -> None:
        """Only the prompt may be committed when a generation begins."""
        require(committed.n_emitted == 0, f"begin after {committed.n_emitted} emitted tokens")
        super().begin(committed)
        self._check_cache(committed, committed.n_prompt, committed.n_prompt)

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """At most ``k`` int64 ids with as many finite signals, or none."""
        require(k >= 0, f"asked for {k} draft tokens")
        draft = super().propose(committed, k, rule)
        require(draft.depth <= k, f"{draft.depth} tokens drafted one behind another, {k} asked")
        require(draft.tokens.dtype == torch.int64 and draft.tokens.dim() == 1, "draft tokens are not int64 [d]")
        if draft.signals is not None:
            require(draft.signals.shape == draft.tokens.shape, "signals and tokens differ in shape")
            require(bool(torch.isfinite(draft.signals).all()), "a signal is not finite")
        if draft.tree is not None:
            require(draft.size == draft.tree.n_nodes, f"{draft.size} tokens in a tree of {draft.tree.n_nodes}")
            nodes = list(zip(draft.tree.parents, draft.tokens.tolist(), strict=True))
            require(len(set(nodes)) == len(nodes), "two siblings are the same token")
        return draft

    def settle(self, committed: Committed) -> None:
        """Case K4: afterwards the draft cache holds committed - 1 tokens, or fewer where it must catch up."""
        super().settle(committed)
        self._check_cache(committed, 0, len(committed) - 1)

    def _check_cache(self, committed: Committed, low: int, high: int) -> None:
        if self.cache is not None:
            held = self.cache.length
            require(low <= held <= high, f"draft cache holds {held} of {len(committed)} tokens")


class CheckedVerifier(WrappedVerifier):
    """Logit shape and finiteness; cache length afterwards."""

    def begin(self, prompt: torch.Tensor) -> torch.Tensor:
        """One row of logits."""
        logits = super().begin(prompt)
        require(logits.dim() == 2 and logits.shape[0] == 1, f"prefill gave logits {list(logits.shape)}, not [1, V]")
        return logits

    def score(self, committed: Committed, draft: Draft) -> torch.Tensor:
        """``d + 1`` finite rows."""
        logits = super().score(committed, draft)
        require(logits.shape[0] == draft.size + 1, f"{logits.shape[0]} rows for {draft.size} drafted tokens")
        require(bool(torch.isfinite(logits).all()), "logits are not finite")
        return logits

    def settle(self, committed: Committed, n_own: int) -> None:
        """Case K4: the target cache holds committed - 1 tokens (``saved_next``: all but its own token)."""
        require(n_own in (0, 1), f"{n_own} tokens of the target's own in one round")
        super().settle(committed, n_own)
        if self.cache is not None:
            held = self.cache.length
            allowed = {len(committed) - 1, len(committed) - n_own}
            require(held in allowed, f"target cache holds {held} of {len(committed)} tokens")


class CheckedAcceptance(WrappedAcceptance):
    """Count and kept tokens."""

    def judge(self, draft: Draft, logits: torch.Tensor) -> Judgement:
        """Accepted tokens are the draft's, along one path; a lossless rule keeps nothing but the target's choices."""
        judgement = super().judge(draft, logits)
        n_accepted = int(judgement.n_accepted)
        require(judgement.tokens.shape[0] == draft.depth + 1, "a judgement holds one token more than the draft is deep")
        require(0 <= n_accepted <= draft.depth, f"{n_accepted} of {draft.depth} accepted")
        kept = judgement.tokens[: n_accepted + 1]
        rows = _accepted_rows(draft, judgement, n_accepted)
        drafted = draft.tokens[rows[1:] - 1]
        require(bool((kept[:n_accepted] == drafted).all()), "accepted tokens are not the draft's")
        if self.lossless:
            choice = logits[rows].argmax(dim=-1)
            require(bool((kept == choice).all()), "a lossless rule kept a token that is not the target's argmax")
        return judgement


def _accepted_rows(draft: Draft, judgement: Judgement, n_accepted: int) -> torch.Tensor:
    """Block rows int64 ``[n_accepted + 1]`` of the anchor and the accepted drafts, each the parent of the next."""
    if draft.tree is None:
        return torch.arange(n_accepted + 1, device=draft.tokens.device)
    require(judgement.path is not None, "the judgement of a tree says no path")
    assert judgement.path is not None
    path = [0, *judgement.path[:n_accepted].tolist()]
    linked = all(draft.tree.parents[row - 1] == parent for parent, row in pairwise(path))
    require(linked, f"rows {path[1:]} are no path of the tree")
    return torch.tensor(path, device=draft.tokens.device)

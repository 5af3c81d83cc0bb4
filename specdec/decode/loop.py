"""THE loop. Every configuration of the project decodes through this one function.

A round is ``plan -> propose -> score -> judge -> compact -> learn -> commit -> settle -> observe``. The loop is a
generator, so it is measured, printed and checked from outside; it holds no clock, no policy and no ``if``
about kinds of parts.

The algorithm is greedy speculative decoding (Leviathan et al. 2023, "Fast Inference from Transformers via
Speculative Decoding", section 2.3; Chen et al. 2023) in which acceptance is a part.
"""

from collections.abc import Iterator

from specdec.decode.committed import Committed
from specdec.decode.engine import Engine
from specdec.decode.parts import Outcome, Round


def decode(engine: Engine, committed: Committed) -> Iterator[Round]:
    """Decode until a limit stops the text, yielding each finished round.

    ``committed`` comes from ``engine.prefill``; it grows as rounds are yielded. A caller that stops
    iterating early leaves a consistent state behind: the caches match ``committed``.
    """
    engine.controller.reset()
    engine.ledger.begin(committed)
    stopped = engine.limits.stopped(committed)
    index = 0
    while stopped is None:
        room = engine.limits.room(committed) - 1  # the target adds one token of its own to every draft
        engine.verifier.restore(committed)
        n_planned = min(engine.controller.plan(committed, room), room)
        draft = engine.drafter.propose(committed, n_planned, engine.controller)
        logits = engine.verifier.score(committed, draft)
        judgement = engine.acceptance.judge(draft, logits)
        engine.verifier.compact(committed, judgement)
        for outcome in engine.ledger.learn(committed, judgement, draft):
            kept = engine.limits.trim(committed, outcome.tokens)
            committed.commit(kept, outcome.on_device)
            stopped = engine.limits.stopped(committed)
            finished = _account(index, outcome, kept, stopped)
            engine.verifier.settle(committed, len(kept) - finished.n_accepted)
            engine.drafter.settle(committed)
            engine.controller.observe(finished)
            yield finished
            index += 1
            if stopped:
                break


def _account(index: int, outcome: Outcome, kept: tuple[int, ...], stopped: str | None) -> Round:
    """Split what was kept into accepted, recovered, bonus and plain tokens."""
    n_levels = outcome.draft.depth
    n_accepted = min(outcome.n_accepted, len(kept))
    n_own = len(kept) - n_accepted
    cut = len(kept) < len(outcome.tokens)
    return Round(
        index=index,
        n_drafted=outcome.draft.size,
        n_reached=n_accepted if cut else min(outcome.n_accepted + 1, n_levels),
        n_accepted=n_accepted,
        n_recovered=n_own if outcome.n_accepted < n_levels else 0,
        n_bonus=n_own if 0 < n_levels == outcome.n_accepted else 0,
        n_plain=n_own if n_levels == 0 else 0,
        source=outcome.draft.source,
        emitted=kept,
        stopped=stopped,
        n_levels=n_levels,
    )

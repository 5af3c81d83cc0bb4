"""Is it this engine, or the method? transformers' own loops in the same process, on the same weights and prompts.

Own arms and peers take turns in the same blocks. A peer is timed like an arm: the tokens behind its first ones, and
its whole generation with the prefill.
"""

import gc
from collections.abc import Mapping
from typing import Any

from specdec.config.apart import Peers
from specdec.config.mechanisms import Ladder
from specdec.decode.loaded import Loaded
from specdec.measure.clocks import Clock, clock_for
from specdec.measure.session import garbage_kept
from specdec.measure.transformers_peer import Request, Way, generate, knobs, ways
from specdec.mechanisms.apart import Setting
from specdec.mechanisms.arm_session import Say, places, plan_arms, time_block
from specdec.mechanisms.ladder import of_equal_length


def run(setting: Setting, say: Say) -> dict[str, Any]:
    """``{status, reason, runs, peers, knobs}``: rows of own arms as in ``runs.csv``, a row for each run of a peer."""
    gc.freeze()
    own: Peers = setting.own  # type: ignore[assignment]
    loaded = Loaded(setting.models, of_equal_length(setting.engine, setting.ladder))
    chosen = ways(setting.ladder.k, own.max_n)
    runs: list[dict[str, Any]] = []
    peers: list[dict[str, Any]] = []
    for place, prompt in places(setting, own).items():
        session = plan_arms(own_arms(setting.ladder, own), loaded, place, prompt, own, setting)
        visits = PeerVisits(loaded, setting.ladder, own, chosen, clock_for(loaded.door))
        for block in range(session.n_blocks):
            forward = block % 2 == 0
            if forward:
                runs += time_block(session, block, loaded, say)
            say(f"peers {place[0]}/{place[1]}: block {block + 1}/{session.n_blocks}, transformers")
            names = list(chosen) if forward else list(reversed(chosen))
            peers += [row for name in names for row in visits.of(name, block, place, prompt.ids)]
            if not forward:
                runs += time_block(session, block, loaded, say)
    request = Request((), setting.ladder.new_tokens, loaded.eos_ids(), loaded.executor("hf", "target").n_vocabulary)
    n_rows = visits.target.config.vocab_size
    told = {name: knobs(way, request, n_rows) for name, way in chosen.items()}
    return {"status": "measured", "reason": None, "runs": runs, "peers": peers, "knobs": told}


def own_arms(ladder: Ladder, own: Peers) -> dict[str, Any]:
    """Target-only decoding and the two drafters that transformers has, too."""
    controller = {"kind": "fixed", "k": ladder.k}
    # transformers takes the first match, too
    lookup = {"kind": "ngram", "max_n": own.max_n, "min_n": 1, "match": "first"}
    return {
        "target_only": {"drafter": {"kind": "none"}},
        "model": {"drafter": {"kind": "model", "model": ladder.drafter}, "controller": controller},
        "lookup": {"drafter": lookup, "controller": controller},
    }


class PeerVisits:
    """transformers' models and the runs of a peer in one block."""

    def __init__(self, loaded: Loaded, ladder: Ladder, own: Peers, chosen: Mapping[str, Way], clock: Clock) -> None:
        executors: list[Any] = [loaded.executor("hf", name) for name in ("target", ladder.drafter)]
        self.target, self._drafter = (executor.model for executor in executors)
        self._n_vocabulary = executors[0].n_vocabulary
        self._eos_ids = loaded.eos_ids()
        self._n_new = ladder.new_tokens
        self._own = own
        self._chosen = chosen
        self._clock = clock

    def of(self, name: str, block: int, place: tuple[int, str], prompt: tuple[int, ...]) -> list[dict[str, Any]]:
        """Warm-ups and repeats of one peer."""
        request = Request(prompt, self._n_new, self._eos_ids, self._n_vocabulary)
        return [
            {
                "context": place[0],
                "family": place[1],
                "arm": name,
                "block": block,
                "repeat": repeat,
                "warmup": repeat < self._own.warmups,
                **self._once(name, request),
            }
            for repeat in range(self._own.warmups + self._own.repeats)
        ]

    def _once(self, name: str, request: Request) -> dict[str, Any]:
        with garbage_kept():
            done = generate(self._chosen[name], self.target, self._drafter, request, self._clock)
        return {
            "decode_ns": done.decode_ns,
            "total_ns": done.total_ns,
            "n_emitted": len(done.tokens) - done.n_first,
            "n_rounds": done.n_rounds,
            "tokens": list(done.tokens),
        }

"""Gate ``bf16``: in half precision one row and k + 1 rows round differently - are all changed choices near-ties?

A near-tie that flips changes the text and is nobody's fault: it is counted and told (a warning). A flip between
logits that are far apart is an error of the computation, and stops the study. An arbiter in float32 says which
of the two was right, and two target-only runs in two processes give the noise that is there without
any speculation (DESIGN of the layers: docs/correctness.md).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from specdec.gates.flips import Flip, agreement, find_flips
from specdec.gates.noise import noise_floor
from specdec.gates.result import Check, guarded, passed_if
from specdec.gates.study import Bench
from specdec.gates.subject import Text
from specdec.models.executor import Executor, prefill

HALF = {"float16": "float16"}
"""The half type that is tried: the study's own if it computes in one, else bfloat16."""


def checks(bench: Bench) -> Iterator[Check]:
    """Flips of the study's target, the noise floor, the controls."""
    dtype = HALF.get(bench.engine.dtype, "bfloat16")
    bench.say(f"{bench.gates.bf16.positions} positions one by one and in blocks of {bench.gates.bf16.k + 1}, {dtype}")
    yield guarded("one row against k + 1 rows", flips_of_target, bench, dtype)
    bench.say("two target-only runs in two processes")
    yield guarded("noise floor", noise_floor, bench, dtype)
    yield from controls(bench.gates.bf16.tie_ulps)


def flips_of_target(bench: Bench, dtype: str) -> Check:
    """Teacher-forced on the ends of the prompts: every position with one row, with two and with ``k + 1``.

    Two rows are another kernel than five on many devices, and the shortest block that decoding runs.
    """
    executor = bench.loaded(dtype).executor(bench.engine.executor, "target")
    arbiter = bench.loaded("float32").executor(bench.engine.executor, "target")
    parameters, texts, chunk = bench.gates.bf16, bench.texts(), bench.engine.prefill_chunk
    share = -(-parameters.positions // len(texts))
    found: list[tuple[str, Flip]] = []
    seen = Seen(dtype, parameters.tie_ulps)
    for text in texts:
        n_rows = min(share, len(text.ids) - 1, parameters.positions - seen.n_positions)
        if n_rows <= 0:
            break
        sizes = sorted({2, parameters.k + 1})
        single, *blocks = forced_rows(executor, text, n_rows, [1, *sizes], chunk)
        (exact,) = forced_rows(arbiter, text, n_rows, [n_rows], chunk)
        seen.from_float32 = max(seen.from_float32, agreement(exact, single, executor.dtype).largest)
        seen.n_positions += n_rows
        for size, block in zip(sizes, blocks, strict=True):
            seen.largest = max(seen.largest, agreement(single, block, executor.dtype).largest)
            flips = find_flips(single, block, parameters.tie_ulps, executor.dtype, exact, len(text.ids) - n_rows)
            found += [(f"{text.name}, {size} rows", flip) for flip in flips]
    return judge_flips(found, seen)


@dataclass
class Seen:
    """What was compared, and how far apart it was: largest logit differences between the ways of computing."""

    dtype: str
    tie_ulps: int
    n_positions: int = 0
    largest: float = 0.0
    from_float32: float = 0.0


def judge_flips(found: list[tuple[str, Flip]], seen: Seen) -> Check:
    """Hard flips and logits that are no numbers fail, ties warn, no flip passes; the arbiter's word is counted."""
    hard = [(name, flip) for name, flip in found if flip.kind == "hard"]
    right = {way: sum(getattr(flip, way) == flip.arbiter for _, flip in found) for way in ("single", "block")}
    evidence: dict[str, Any] = {
        "dtype": seen.dtype,
        "n_positions": seen.n_positions,
        "n_ties": len(found) - len(hard),
        "n_hard": len(hard),
        "largest_difference": seen.largest,
        "largest_difference_from_float32": seen.from_float32,
        "tie_ulps": seen.tie_ulps,
        "float32_agrees_with": right,
        "flips": [{"prompt": name, **asdict(flip)} for name, flip in (hard + found)[:20]],
    }
    told_seen = (
        f"{seen.n_positions} positions in {seen.dtype}, logits differ by up to {seen.largest:.3g} "
        f"(from float32 by {seen.from_float32:.3g})"
    )
    name = "one row against k + 1 rows"
    if not math.isfinite(max(seen.largest, seen.from_float32)):
        return Check(name, "fail", f"{told_seen}: some logits are no numbers", evidence)
    if hard:
        prompt, flip = hard[0]
        told = (
            f"{len(hard)} HARD flips: {prompt}, position {flip.position}: {flip.single} with one row, {flip.block} in "
            f"a block, {flip.single_gap_ulps:.3g} and {flip.block_gap_ulps:.3g} ulp apart (tie: {seen.tie_ulps})"
        )
        return Check(name, "fail", told, evidence)
    if found:
        sides = f"float32 agrees with one row {right['single']} times, with the block {right['block']} times"
        return Check(name, "warn", f"{told_seen}; {len(found)} near-ties flip; {sides}", evidence)
    return Check(name, "pass", f"{told_seen}; no choice changes", evidence)


def forced_rows(executor: Executor, text: Text, n_rows: int, sizes: Sequence[int], chunk: int) -> list[torch.Tensor]:
    """Logits ``[n_rows, V]`` of the last ``n_rows`` tokens of a text, once in blocks of each of ``sizes``."""
    ids = torch.tensor(text.ids, device=executor.device)
    start = len(ids) - n_rows
    cache = executor.open(len(ids))
    prefill(executor, ids[:start], cache, chunk)
    ways = []
    for size in sizes:
        cache.rollback(start)
        blocks = [executor.forward(ids[at : at + size], at, cache).clone() for at in range(start, len(ids), size)]
        ways.append(torch.cat(blocks))
    return ways


def controls(tie_ulps: int) -> Iterator[Check]:
    """Case E1 and case E5: a planted near-tie is a tie, an error behind it is found and is hard."""
    single = torch.full((24, 8), -4.0)
    single[:, 0], single[:, 1] = 23.5, 16.0
    block = single.clone()
    single[5, 0], single[5, 1] = 23.625, 23.5
    block[5, 0], block[5, 1] = 23.5, 23.625
    block[20, 0], block[20, 1] = 16.0, 23.5
    found = {flip.position: flip.kind for flip in find_flips(single, block, max(tie_ulps, 1), torch.bfloat16)}
    told = f"planted a near-tie at 5 and an error at 20, found {found}"
    yield passed_if(found == {5: "tie", 20: "hard"}, "control: error behind a near-tie", told, {})
    noisy = single.clone()
    noisy[3, 2] += 5.0
    apart = agreement(single, noisy, torch.bfloat16)
    told = f"planted a difference of 5 at row 3, found {apart.largest:.3g} at row {apart.row}"
    yield passed_if((apart.row, apart.largest) == (3, 5.0), "control: equal tokens, another logit", told, {})

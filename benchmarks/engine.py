"""How fast is the engine, as ratios in one run on one machine?

Interleaved: each round of repeats runs every candidate once, in turn; a ratio is taken within a round, and
the median over rounds is quoted with its lowest and highest value. Nothing else may run meanwhile. Figures of
the first context have plain names, those of the others end in ``.<context>``.

    python benchmarks/engine.py --json engine.json
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import torch

from specdec.config.arms import Arm
from specdec.config.study import EngineSection
from specdec.decode.assemble import assemble
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode
from specdec.measure.bandwidth import measure_bandwidth, step_bytes
from specdec.measure.clocks import clock_for
from specdec.measure.transformers_peer import Request, Way, generate, ways
from specdec.storage import write_json

TARGET_ONLY = {"drafter": {"kind": "none"}}


@dataclass
class Sample:
    """Nanoseconds per emitted token of each repeat, and what was emitted."""

    ns_per_token: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Candidate:
    """``run`` returns (decode nanoseconds, emitted tokens after the first)."""

    name: str
    run: Callable[[], tuple[int, list[int]]]


def own(name: str, loaded: Loaded, arm: dict[str, Any], prompt: list[int], n_new: int) -> Candidate:
    """An arm of the own engine, prefilled once, rewound before each repeat."""
    engine = assemble(Arm.model_validate(arm), loaded, max_new_tokens=n_new)
    committed = engine.prefill(prompt)

    def run() -> tuple[int, list[int]]:
        engine.rewind(committed)
        begun = time.perf_counter_ns()
        for _ in decode(engine, committed):
            pass
        return time.perf_counter_ns() - begun, committed.ids[committed.n_prompt + 1 :]

    return Candidate(name, run)


def transformers_candidate(name: str, way: Way, loaded: Loaded, prompt: list[int], n_new: int) -> Candidate:
    """``generate`` of transformers on the same weights, decode time counted from its first new tokens."""
    target: Any = loaded.executor("hf", "target")
    drafter: Any = loaded.executor("hf", "drafter")
    clock = clock_for(loaded.door)
    request = Request(prompt, n_new, (), target.n_vocabulary)

    def run() -> tuple[int, list[int]]:
        done = generate(way, target.model, drafter.model, request, clock)
        return done.decode_ns, list(done.tokens[done.n_first :])

    return Candidate(name, run)


def interleave(candidates: list[Candidate], repeats: int) -> dict[str, Sample]:
    """Run every candidate once per repeat, in turn; the first turn warms up and is dropped."""
    samples = {candidate.name: Sample() for candidate in candidates}
    for repeat in range(repeats + 1):
        for candidate in candidates:
            elapsed_ns, tokens = candidate.run()
            if repeat:
                samples[candidate.name].ns_per_token.append(elapsed_ns / max(len(tokens), 1))
                samples[candidate.name].tokens = tokens
    return samples


@dataclass(frozen=True)
class Record:
    """One figure: a ratio's median with its lowest and highest value over ``n`` interleaved repeats."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    unit: str
    n: int
    note: str = ""


def ratio(name: str, numerator: Sample, denominator: Sample, note: str = "") -> Record:
    """``numerator / denominator`` of time per token, taken repeat by repeat."""
    pairs = zip(numerator.ns_per_token, denominator.ns_per_token, strict=True)
    return spread(name, [above / below for above, below in pairs], "ratio", note)


def spread(name: str, values: list[float], unit: str, note: str = "") -> Record:
    """Median, lowest and highest of ``values``."""
    return Record(name, statistics.median(values), min(values), max(values), unit, len(values), note)


def skipped(name: str, why: str) -> Record:
    """A figure that this machine cannot give."""
    return Record(name, None, None, None, "ratio", 0, f"skipped: {why}")


def step_times(loaded: Loaded, kind: str, context: int, sizes: list[int], repeats: int) -> dict[int, list[float]]:
    """Milliseconds of one forward of ``q`` tokens behind ``context`` tokens, sizes interleaved."""
    executor = loaded.executor(kind, "target")
    cache = executor.open(context + max(sizes))
    ids = torch.randint(0, executor.n_vocabulary, (context + max(sizes),), generator=torch.Generator().manual_seed(0))
    for start in range(0, context, loaded.section.prefill_chunk):
        stop = min(start + loaded.section.prefill_chunk, context)
        executor.forward(ids[start:stop], start, cache, last_only=True)
    times: dict[int, list[float]] = {q: [] for q in sizes}
    for repeat in range(repeats + 2):
        for q in sizes:
            begun = time.perf_counter_ns()
            executor.forward(ids[context : context + q], context, cache)
            elapsed_ns = time.perf_counter_ns() - begun
            cache.rollback(context)
            if repeat >= 2:
                times[q].append(elapsed_ns / 1e6)
    return times


def loop_overhead(loaded: Loaded, prompt: list[int], n_new: int, repeats: int) -> list[float]:
    """Share of target-only decoding that is spent outside the model's forwards."""
    engine = assemble(Arm.model_validate(TARGET_ONLY), loaded, max_new_tokens=n_new)
    executor: Any = engine.verifier.executor  # type: ignore[attr-defined]
    forward, inside = executor.forward, [0]

    def timed(*args: Any, **kwargs: Any) -> torch.Tensor:
        begun = time.perf_counter_ns()
        result: torch.Tensor = forward(*args, **kwargs)
        inside[0] += time.perf_counter_ns() - begun
        return result

    committed = engine.prefill(prompt)
    executor.forward = timed
    shares = []
    try:
        for _ in range(repeats):
            engine.rewind(committed)
            inside[0] = 0
            begun = time.perf_counter_ns()
            for _ in decode(engine, committed):
                pass
            total = time.perf_counter_ns() - begun
            shares.append((total - inside[0]) / total)
    finally:
        executor.forward = forward
    return shares


def measure(options: argparse.Namespace) -> list[Record]:
    """Every figure, context by context."""
    section = EngineSection.model_validate(
        {
            "device": "cpu",
            "dtype": "float32",
            "executor": options.executor,
            "threads": 0,
            "prefill_chunk": 512,
            "max_new_tokens": options.new_tokens,
            "stop_at_eos": False,
        }
    )
    models = {"target": options.target, "drafter": options.drafter}
    loaded = Loaded(models, section)
    bandwidth = measure_bandwidth(loaded.door.device, clock_for(loaded.door)).median
    target: Any = loaded.executor(options.executor, "target")
    generator = torch.Generator().manual_seed(1)
    records = [spread("read_bandwidth", [bandwidth / 1e9], "GB/s")]
    for context in options.contexts:
        prompt = repetitive_prompt(context, target.n_vocabulary, generator)
        label = f"context {context}"
        at = "" if context == options.contexts[0] else f".{context}"
        times = step_times(loaded, options.executor, context, [1, 2, 5, 9], options.repeats * 4)
        fastest_ms = min(statistics.median(times[1]), statistics.median(times[2]))
        for q in (1, 2, 5, 9):
            records.append(spread(f"step_q{q}_ms{at}", times[q], "ms", label))
        records.append(spread(f"verify5_over_step1{at}", [value / fastest_ms for value in times[5]], "ratio", label))
        held_bytes = step_bytes(target.architecture, target.dtype.itemsize, context, 1)
        shares = [held_bytes / (value / 1e3) / bandwidth for value in times[1]]
        records.append(spread(f"bandwidth_share{at}", shares, "ratio", f"{label}; bytes read {held_bytes}"))
        n_new = options.new_tokens
        k = options.k
        draft = {"controller": {"kind": "fixed", "k": k}}
        lookup = {"kind": "ngram", "max_n": 3, "min_n": 1, "match": "latest"}
        peers = ways(k, 3)
        candidates = [
            own("own", loaded, TARGET_ONLY, prompt, n_new),
            own("own_replay", loaded, {"drafter": {"kind": "replay"}, **draft}, prompt, n_new),
            own("own_model", loaded, {"drafter": {"kind": "model", "model": "drafter"}, **draft}, prompt, n_new),
            own("own_lookup", loaded, {"drafter": lookup, **draft}, prompt, n_new),
            transformers_candidate("hf", peers["hf_generate"], loaded, prompt, n_new),
            transformers_candidate("hf_model", peers["hf_assisted"], loaded, prompt, n_new),
            transformers_candidate("hf_lookup", peers["hf_lookup"], loaded, prompt, n_new),
        ]
        peer = llama_cpp(options, prompt, n_new)
        if isinstance(peer, Candidate):
            candidates.append(peer)
        samples = interleave(candidates, options.repeats)
        same = {name: sample.tokens[-8:] == samples["own"].tokens[-8:] for name, sample in samples.items()}
        note = f"{label}; last tokens equal target-only: {same}"
        records += [
            spread(f"own_step_ms{at}", [v / 1e6 for v in samples["own"].ns_per_token], "ms", label),
            ratio(f"own_step_vs_hf_generate{at}", samples["hf"], samples["own"], note),
            ratio(f"draft_free_k{k}{at}", samples["own"], samples["own_replay"], note),
            ratio(f"own_spec_vs_hf_assisted{at}", samples["hf_model"], samples["own_model"], note),
            ratio(f"own_lookup_vs_hf_lookup{at}", samples["hf_lookup"], samples["own_lookup"], note),
            ratio(f"lookup_vs_own_target_only{at}", samples["own"], samples["own_lookup"], note),
            spread(f"loop_overhead_share{at}", loop_overhead(loaded, prompt, 32, 3), "ratio", label),
        ]
        name = f"own_step_vs_llama_cpp{at}"
        records.append(
            skipped(name, peer) if isinstance(peer, str) else ratio(name, samples["own"], samples["llama_cpp"], label)
        )
    return records


def repetitive_prompt(context: int, n_vocabulary: int, generator: torch.Generator) -> list[int]:
    """Random text with repeats, so that lookup finds something; contents do not change a step's cost."""
    phrase = torch.randint(300, min(n_vocabulary, 20000), (64,), generator=generator).tolist()
    return (phrase * (context // len(phrase) + 1))[:context]


def llama_cpp(options: argparse.Namespace, prompt: list[int], n_new: int) -> Candidate | str:
    """llama.cpp with float32 weights of the same model, one forward per token; or why it is not here."""
    if options.llama_cpp_gguf is None:
        return "no --llama-cpp-gguf given (see benchmarks/float32_gguf.py)"
    try:
        import llama_cpp as peer
    except ImportError:
        return "llama-cpp-python is not installed"
    threads = torch.get_num_threads()
    model = peer.Llama(str(options.llama_cpp_gguf), n_ctx=len(prompt) + n_new + 8, n_threads=threads, verbose=False)
    model.eval(prompt)

    def run() -> tuple[int, list[int]]:
        model.n_tokens = len(prompt)
        token, emitted = prompt[-1], []
        begun = time.perf_counter_ns()
        for _ in range(n_new - 1):
            model.eval([token])
            token = int(np.ctypeslib.as_array(peer.llama_get_logits(model.ctx), (model.n_vocab(),)).argmax())
            emitted.append(token)
        return time.perf_counter_ns() - begun, emitted

    return Candidate("llama_cpp", run)


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=Path, default=Path("results/models/target"))
    parser.add_argument("--drafter", type=Path, default=Path("results/models/drafter"))
    parser.add_argument("--executor", default="native")
    parser.add_argument("--contexts", type=int, nargs="+", default=[128, 1024, 3000])
    parser.add_argument("--new-tokens", type=int, default=48)
    parser.add_argument("--k", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--llama-cpp-gguf", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    records = measure(options)
    for record in records:
        shown = (
            "-" if record.value is None else f"{record.value:9.3f} [{record.low:.3f}, {record.high:.3f}] {record.unit}"
        )
        print(f"{record.name:34} {shown}  {record.note[:60]}")
    if options.json:
        write_json(options.json, [record.__dict__ for record in records])
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The noise floor: target-only decoding against itself, in two fresh processes (case E2).

Equal tokens are not enough: two runs of one program whose logits differ have a numerics problem that a
comparison of texts would put down to speculation. The second process is started with ``-m``.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from specdec.config.study import EngineSection, Gates
from specdec.gates.compare import compare_files
from specdec.gates.flips import agreement
from specdec.gates.result import Check
from specdec.gates.study import Bench
from specdec.models.executor import Executor, prefill
from specdec.storage import write_text

N_TOKENS = 8
"""Target-only steps per run: the logits of each are compared, so a few say as much as many."""
NAME = "noise floor"


def noise_floor(bench: Bench, dtype: str) -> Check:
    """Run target-only decoding here and in another process; compare tokens, then every logit."""
    with tempfile.TemporaryDirectory() as folder:
        here, there = Path(folder) / "here", Path(folder) / "there"
        write_run(bench, dtype, here)
        params = json.dumps({"engine": bench.engine.model_dump(), "gates": bench.gates.model_dump()})
        command = [sys.executable, "-m", "specdec.gates.noise", "--params", params, "--dtype", dtype]
        command += ["--models", str(bench.models), "--prompts", str(bench.prompts), "--out", str(there)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            return Check(NAME, "fail", f"the second process ended with {done.returncode}: {last}", {})
        return compare_runs(here, there, bench.gates.bf16.tie_ulps, dtype)


def compare_runs(here: Path, there: Path, tie_ulps: int, dtype: str) -> Check:
    """Tokens must be equal and logits within ``tie_ulps``; otherwise a warning (the machine is the suspect)."""
    comparison = compare_files(here / "tokens.jsonl", there / "tokens.jsonl")
    first, second = (torch.load(path / "logits.pt", weights_only=True) for path in (here, there))
    if not comparison.equal:
        told = f"two target-only runs emit different tokens: {'; '.join(comparison.faults)}"
        return Check(NAME, "warn", told, {"faults": list(comparison.faults)})
    apart = agreement(first, second, getattr(torch, dtype))
    told = f"{apart.n_rows} steps in two processes: equal tokens, logits differ by up to {apart.largest:.3g}"
    evidence = {"n_rows": apart.n_rows, "largest": apart.largest, "largest_ulps": apart.largest_ulps, "dtype": dtype}
    return Check(NAME, "pass" if apart.largest_ulps <= tie_ulps else "warn", told, evidence)


def write_run(bench: Bench, dtype: str, folder: Path) -> None:
    """One target-only run of the first prompt: its tokens and the logits that chose them."""
    executor = bench.loaded(dtype).executor(bench.engine.executor, "target")
    text = bench.texts()[0]
    tokens, logits = target_only(executor, list(text.ids), bench.engine.prefill_chunk)
    write_text(folder / "tokens.jsonl", json.dumps({"key": text.name, "tokens": tokens}) + "\n")
    torch.save(logits, folder / "logits.pt")


def target_only(executor: Executor, prompt: list[int], chunk: int) -> tuple[list[int], torch.Tensor]:
    """``N_TOKENS`` greedy steps: their tokens, and logits ``[N_TOKENS, V]``."""
    ids = torch.tensor(prompt, device=executor.device)
    cache = executor.open(len(prompt) + N_TOKENS)
    rows = [prefill(executor, ids, cache, chunk).clone()]
    tokens = [int(rows[-1].argmax())]
    while len(tokens) < N_TOKENS and cache.length < executor.n_positions:
        step = torch.tensor(tokens[-1:], device=executor.device)
        rows.append(executor.forward(step, cache.length, cache).clone())
        tokens.append(int(rows[-1].argmax()))
    return tokens, torch.cat(rows).cpu()


def main() -> None:
    """The second process."""
    parser = argparse.ArgumentParser(prog="python -m specdec.gates.noise")
    for name in ("params", "dtype"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("models", "prompts", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    args = parser.parse_args()
    values = json.loads(args.params)
    engine, gates = EngineSection(**values["engine"]), Gates(**values["gates"])
    write_run(Bench(engine, gates, args.models, args.prompts, lambda line: None), args.dtype, args.out)


if __name__ == "__main__":
    main()

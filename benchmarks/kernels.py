"""How close does a forward come to the speed of memory, by executor and number of rows?

Executors take turns, so that a slow minute hits all of them; medians are printed with the lowest and
highest value. Run it on a quiet machine.

    python benchmarks/kernels.py results/models/target --json kernels.json
"""

import argparse
import statistics
import time
from pathlib import Path

import torch

from specdec.measure.bandwidth import measure_bandwidth, step_bytes
from specdec.measure.clocks import HostClock
from specdec.models.door import Door
from specdec.models.executor import Cache, Executor, prefill
from specdec.models.open import open_executor, set_threads
from specdec.models.vocabulary import shared_rows
from specdec.models.weights import load_architecture
from specdec.storage import write_json

Record = dict[str, str | float | int]


def main() -> None:
    options = arguments().parse_args()
    n_threads = set_threads(options.threads)
    device = torch.device("cpu")
    bandwidth = measure_bandwidth(device, HostClock(Door(device)))
    architecture = load_architecture(options.model)
    executors = {kind: opened(kind, options.model) for kind in options.executors}
    print(f"{n_threads} threads read {bandwidth.median / 1e9:.1f} GB/s ({bandwidth.kernel})")
    records: list[Record] = [
        {
            "name": "read_bandwidth",
            "value": bandwidth.median,
            "low": bandwidth.low,
            "high": bandwidth.high,
            "unit": "B/s",
            "n": bandwidth.n,
        }
    ]
    for context in options.contexts:
        times = interleaved(executors, context, options.rows, options.repeats)
        for (kind, q), values in times.items():
            median = statistics.median(values)
            share = step_bytes(architecture, 4, context, q) / (median / 1e3) / bandwidth.median
            print(
                f"context {context:5d} {kind:7s} q={q:<2d} {median:7.2f} ms "
                f"[{min(values):.2f}, {max(values):.2f}]  {share:6.1%} of the read bandwidth"
            )
            records.append(
                {
                    "name": f"{kind}_q{q}_context{context}",
                    "value": median,
                    "low": min(values),
                    "high": max(values),
                    "unit": "ms",
                    "n": len(values),
                    "bandwidth_share": share,
                }
            )
    for kind, executor in executors.items():
        choices = getattr(executor, "choices", None)
        if choices:
            print(f"{kind}: " + "; ".join(f"{role} {' '.join(by_rows.values())}" for role, by_rows in choices.items()))
    if options.json:
        write_json(options.json, records)


def opened(kind: str, folder: Path) -> Executor:
    device = torch.device("cpu")
    return open_executor(
        kind,
        folder,
        dtype=torch.float32,
        device=device,
        n_vocabulary=shared_rows(folder, folder),
        door=Door(device),
    )


def interleaved(
    executors: dict[str, Executor], context: int, rows: list[int], repeats: int
) -> dict[tuple[str, int], list[float]]:
    """Milliseconds of a forward of ``q`` rows behind ``context`` tokens, by executor and ``q``."""
    ids = torch.arange(context + max(rows)) % 1000
    caches: dict[str, Cache] = {}
    for kind, executor in executors.items():
        caches[kind] = executor.open(context + max(rows))
        prefill(executor, ids[:context], caches[kind], 512)
    times: dict[tuple[str, int], list[float]] = {(kind, q): [] for kind in executors for q in rows}
    for repeat in range(repeats + 1):
        for q in rows:
            for kind, executor in executors.items():
                start = time.perf_counter_ns()
                executor.forward(ids[context : context + q], context, caches[kind])
                spent_ms = (time.perf_counter_ns() - start) / 1e6
                caches[kind].rollback(context)
                if repeat:  # the first turn warms up
                    times[kind, q].append(spent_ms)
    return times


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a model folder in the transformers format")
    parser.add_argument("--executors", nargs="+", default=["hf", "static", "packed", "native"])
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 2, 5, 9])
    parser.add_argument("--contexts", type=int, nargs="+", default=[128])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=0, help="0: every core this process may use")
    parser.add_argument("--json", type=Path)
    return parser


if __name__ == "__main__":
    main()

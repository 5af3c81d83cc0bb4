"""The gates by name, the file each leaves behind, and the one judgement over all of them.

A gate that finds a fault writes it down and ends normally, so that every gate's evidence is there to read;
``require`` then refuses to go on.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from specdec.config.study import EngineSection, Gates
from specdec.errors import GateFailed
from specdec.gates import algorithm, alignment, bf16, cache, tokens
from specdec.gates.result import Check, GateResult, conclude, read_result, write_result
from specdec.gates.study import Bench
from specdec.storage import write_json

GATES: dict[str, Callable[[Bench], Iterator[Check]]] = {
    "tokens": tokens.checks,
    "alignment": alignment.checks,
    "cache": cache.checks,
    "algorithm": algorithm.checks,
    "bf16": bf16.checks,
}
"""Checks of each gate, in the order in which a fault in one explains faults in the next."""

SOFT = ("bf16",)
"""Gates that stop the study only for a fault that rounding cannot explain."""


def write_gate(gate: str, engine: EngineSection, gates: Gates, models: Path, prompts: Path, out: Path) -> GateResult:
    """Run one gate and write its JSON; a failed check is written down, not raised.

    Parameters
    ----------
    gate : str
        A key of ``GATES``.
    engine, gates : EngineSection, Gates
        Sections of the study.
    models, prompts, out : Path
        Folder of the study's models, ``development.jsonl``, and the file to write.

    Raises
    ------
    SpecdecError
        If a model or a prompt is missing or cannot be used: that is no finding, the gate cannot be run.
    """
    result = run_gate(gate, Bench(engine, gates, Path(models), Path(prompts), _narrator(gate)))
    write_result(Path(out), result)
    return result


def run_gate(gate: str, bench: Bench) -> GateResult:
    """Run one gate."""
    checks = list(GATES[gate](bench))
    hard = gate not in SOFT or any(check.status == "fail" for check in checks)
    result = conclude(gate, hard, checks)
    bench.say(f"{result.status}: {result.reason}")
    return result


def run_all(engine: EngineSection, gates: Gates, models: Path, prompts: Path, folder: Path) -> None:
    """Every gate, one JSON each in ``folder``, then ``require`` (``specdec gate --all``).

    Raises
    ------
    GateFailed
        If a hard gate failed; all files are written before that.
    """
    files = [Path(folder) / f"{gate}.json" for gate in GATES]
    for gate, out in zip(GATES, files, strict=True):
        write_gate(gate, engine, gates, models, prompts, out)
    require(files, Path(folder) / "passed.json")


def require(files: Sequence[Path], out: Path) -> None:
    """Write ``out`` if no hard gate failed; otherwise leave none behind and say which check failed on what.

    Raises
    ------
    GateFailed
        Naming gate, check and evidence.
    RecordError
        If a file is missing or torn: a gate that did not run has not passed.
    """
    results = [(Path(path), read_result(path)) for path in files]
    for path, result in results:
        if result.hard and result.status == "fail":
            Path(out).unlink(missing_ok=True)
            failed = [check for check in result.checks if check.status == "fail"]
            more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
            raise GateFailed(
                f"gate {result.gate} failed: {failed[0].name}: {failed[0].detail}{more}; nothing may be timed "
                f"before that is mended, the evidence is in {path}"
            )
    write_json(out, {"passed": True, "gates": {result.gate: result.status for _, result in results}})


def _narrator(gate: str) -> Callable[[str], None]:
    started = time.monotonic()

    def say(line: str) -> None:
        print(f"gate {gate} [{time.monotonic() - started:5.1f} s] {line}", file=sys.stderr, flush=True)

    return say

"""What a gate found: checks with their evidence, and the one rule that turns them into a status.

Apart from the gates so that a fault is always told in the same words: which gate, which check, what was seen.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from specdec.errors import RecordError
from specdec.storage import read_json, write_json

Status = Literal["pass", "warn", "fail", "skipped"]
STATUSES: tuple[Status, ...] = ("pass", "warn", "fail", "skipped")


@dataclass(frozen=True)
class Check:
    """One question and its answer.

    ``detail`` is a sentence for people; ``evidence`` holds the numbers it rests on (JSON values).
    """

    name: str
    status: Status
    detail: str
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class GateResult:
    """All checks of one gate. A ``hard`` gate that fails stops the study before anything is timed."""

    gate: str
    status: Status
    hard: bool
    reason: str
    checks: tuple[Check, ...]


def passed_if(condition: bool, name: str, detail: str, evidence: dict[str, Any] | None = None) -> Check:
    """A check that passes exactly when ``condition`` holds."""
    return Check(name, "pass" if condition else "fail", detail, evidence or {})


def guarded(name: str, question: Callable[..., Check], *subjects: Any) -> Check:
    """Ask ``question(*subjects)`` and call the answer ``name``.

    An exception (a broken contract, a cache out of step) is a failed check, with its words.
    """
    try:
        return replace(question(*subjects), name=name)
    except Exception as error:  # whatever a faulty part raises is evidence, not an accident of the gate
        return Check(name, "fail", f"{type(error).__name__}: {error}", {"raised": type(error).__name__})


def conclude(gate: str, hard: bool, checks: Iterable[Check]) -> GateResult:
    """The worst check decides: fail, then warn, then pass; all skipped is skipped."""
    checks = tuple(checks)
    found = {check.status for check in checks}
    status: Status = next((s for s in ("fail", "warn", "pass") if s in found), "skipped")
    worst = [check for check in checks if check.status == status]
    reason = f"{len(checks)} checks" if status == "pass" else "; ".join(f"{c.name}: {c.detail}" for c in worst)
    return GateResult(gate, status, hard, reason or "nothing to check", checks)


def write_result(path: Path, result: GateResult) -> None:
    """Write one gate's JSON, whole or not at all; what is no finite number (JSON has none) is written as a word."""
    write_json(path, _finite(asdict(result)))


def read_result(path: Path) -> GateResult:
    """Read one gate's JSON.

    Raises
    ------
    RecordError
        If the file is missing or is not a gate's result (a gate that did not run has not passed).
    """
    values = read_json(path)
    try:
        checks = tuple(Check(**check) for check in values["checks"])
        result = GateResult(**{**values, "checks": checks})
    except (KeyError, TypeError) as error:
        raise RecordError(f"{path}: not a gate's result ({error}); delete it and run the gates again") from None
    if result.status not in STATUSES or any(check.status not in STATUSES for check in checks):
        raise RecordError(f"{path}: holds an unknown status; delete it and run the gates again")
    return result


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value

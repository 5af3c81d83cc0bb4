"""Where a timed text leaves the target's own: the text around it, and how nearly the two tokens were tied.

A lossless arm may part from target-only decoding only where two logits are so close that another number of rows
rounds them the other way round. Each first divergence is therefore forced through the target again, on the text
that both share, with one row and in a block. Runs after the timing and changes no time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from specdec.config.study import EngineSection
from specdec.decode.loaded import Loaded
from specdec.gates.bf16 import forced_rows
from specdec.gates.compare import Divergence, first_divergence
from specdec.gates.flips import agreement, ulp
from specdec.gates.subject import Text
from specdec.prompts.rows import Prompt, read_prompts, select
from specdec.prompts.tokenizer import PromptTokenizer, load_tokenizer
from specdec.records.cells import read_cell
from specdec.records.rows import Row
from specdec.storage import write_json

SCHEMA_VERSION = 1
BLOCK = 5
"""Rows of the block in which the place is computed a second time: that of four drafts, the usual length."""
SHOWN_BEFORE, SHOWN_AFTER = 16, 8
"""Tokens of text shown before a divergence and from it on."""


@dataclass(frozen=True)
class Parting:
    """The first token in which a timed text differs from its baseline's."""

    context: int
    family: str
    arm: str
    executor: str
    found: Divergence
    reference: tuple[int, ...]
    candidate: tuple[int, ...]


@dataclass(frozen=True)
class Nearness:
    """How near the two tokens were. ``gap``: logit of the target's token above the arm's with one row.

    ``gap_ulps`` and ``block_gap_ulps``: sizes of that gap with one row and in a block, in units in the last place;
    ``difference``: largest difference of the two ways' logits there. ``kind`` is ``tie`` or ``hard``.
    """

    kind: str
    gap: float | None
    gap_ulps: float | None
    block_gap_ulps: float | None
    difference: float | None


def write_divergences(
    engine: EngineSection, tie_ulps: int, cells: Sequence[Path], models: Path, held_out: Path, out: Path
) -> list[dict[str, Any]]:
    """Judge the first divergence of every lossless arm in every cell; write and return the rows.

    The target is opened only if there is one. ``tie_ulps`` is the limit of the gate ``bf16``.

    Raises
    ------
    SpecdecError
        If a cell, the held-out prompts or the target cannot be read.
    """
    lossless = [row for path in cells for row in _judged_rows(read_cell(path))]
    partings = list(_partings(lossless))
    rows = _rows(partings, engine, tie_ulps, Path(models), read_prompts(held_out)) if partings else []
    write_json(
        Path(out),
        {
            "schema_version": SCHEMA_VERSION,
            "dtype": engine.dtype,
            "tie_ulps": tie_ulps,
            "n_texts": len({(row["context"], row["family"], row["arm"]) for row in lossless if _drafts(row)}),
            "rows": rows,
        },
    )
    return rows


def nearness(forced: Text, pair: tuple[int, int], executor: Any, chunk: int, tie_ulps: int) -> Nearness:
    """Compare the logits of ``pair`` (the target's token, the arm's) behind the end of ``forced``."""
    n_rows = min(BLOCK, len(forced.ids) - 1)
    single, block = (ways[-1:] for ways in forced_rows(executor, forced, n_rows, [1, n_rows], chunk))
    gaps, units = [], []
    for logits in (single, block):
        high, low = (float(logits[0, token]) for token in pair)
        gaps.append(high - low)
        units.append(abs(high - low) / ulp(max(abs(high), abs(low)), executor.dtype))
    near = max(units) <= tie_ulps
    difference = agreement(single, block, executor.dtype).largest
    return Nearness("tie" if near else "hard", gaps[0], units[0], units[1], difference)


def _judged_rows(rows: list[Row]) -> list[Row]:
    """Finished rows of arms that promise the target's own text."""
    return [row for row in rows if row["status"] == "ok" and row["lossless"] and row["text_valid"]]


def _drafts(row: Row) -> bool:
    return bool(row["arm"] != row["baseline"])


def _partings(rows: list[Row]) -> Iterator[Parting]:
    """One per arm and cell: repeats decode the same text."""
    first: dict[tuple[int, str, str], Row] = {}
    for row in rows:
        first.setdefault((row["context"], row["family"], row["arm"]), row)
    for (context, family, arm), row in first.items():
        baseline = first.get((context, family, row["baseline"]))
        found = None if baseline is None else first_divergence(baseline["tokens"], row["tokens"])
        if baseline is not None and found is not None:
            reference, candidate = tuple(baseline["tokens"]), tuple(row["tokens"])
            yield Parting(context, family, arm, row["executor"], found, reference, candidate)


def _rows(
    partings: list[Parting], engine: EngineSection, tie_ulps: int, models: Path, prompts: list[Prompt]
) -> list[dict[str, Any]]:
    loaded, tokenizer = Loaded(models, engine), load_tokenizer(models / "target")
    rows = []
    for parting in partings:
        prompt = select(prompts, parting.context, parting.family)
        shared = (*prompt.ids, *parting.reference[: parting.found.index])
        pair = (parting.found.reference, parting.found.candidate)
        if pair[0] is None or pair[1] is None:
            near = Nearness("hard", None, None, None, None)  # one text ended where the other goes on
        else:
            executor = loaded.executor(parting.executor, "target")
            near = nearness(Text(parting.family, shared), (pair[0], pair[1]), executor, engine.prefill_chunk, tie_ulps)
        rows.append({**_place(parting, tokenizer, shared), **asdict(near)})
    return rows


def _place(parting: Parting, tokenizer: PromptTokenizer, shared: tuple[int, ...]) -> dict[str, Any]:
    at = parting.found.index
    return {
        "context": parting.context,
        "family": parting.family,
        "arm": parting.arm,
        "index": at,
        "before": tokenizer.decode(shared[-SHOWN_BEFORE:]),
        "reference": tokenizer.decode(parting.reference[at : at + SHOWN_AFTER]),
        "candidate": tokenizer.decode(parting.candidate[at : at + SHOWN_AFTER]),
        "reference_id": parting.found.reference,
        "candidate_id": parting.found.candidate,
    }

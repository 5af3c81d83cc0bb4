"""Where texts part: timed texts from the target's own, and single choices in half precision, each with its class."""

from typing import Any

from specdec.report.claims import pointer
from specdec.report.inputs import Missing
from specdec.report.sections.section import Note, Part, Sources
from specdec.report.table import Column, Row, Table

FILE = "timing/divergences.json"
BF16 = "gates/bf16.json"
CLASSES = {"tie": "tie", "hard": "HARD"}


def divergence_parts(sources: Sources) -> list[Part]:
    """Divergences of the timed texts, then the flips that the gate saw."""
    return [*_timed(sources), *_flips(sources)]


def _timed(sources: Sources) -> list[Part]:
    found = sources.inputs.document(FILE)
    if not found:
        return [found]
    if not found.get("rows"):
        return [Note("No timed text of a lossless arm leaves the target's own.", "good")]
    return [
        Table(
            "divergences",
            "Where timed texts leave the target's own: a tie flips by rounding, HARD would be an error",
            (
                Column("context", "Context"),
                Column("arm", "Arm"),
                Column("family", "Family"),
                Column("kind", "Class", word=True),
                Column("index", "Token", "count"),
                Column("before", "Text before", listed=True),
                Column("reference", "The target goes on", listed=True),
                Column("candidate", "The arm goes on", listed=True),
                Column("gap", "Gap in logits", "significant"),
                Column("gap_ulps", "Gap in ulp, one row", "significant"),
                Column("block_gap_ulps", "In a block", "significant"),
                Column("difference", "Rounding there", "significant"),
            ),
            tuple(_timed_row(index, row) for index, row in enumerate(found["rows"])),
            flagged="kind",
        )
    ]


def _timed_row(index: int, row: dict[str, Any]) -> Row:
    numbers = ("index", "gap", "gap_ulps", "block_gap_ulps", "difference")
    names = ("context", "arm", "family", "before", "reference", "candidate")
    return Row(
        {
            **{key: str(row.get(key, "")) for key in names},
            "kind": CLASSES[str(row["kind"])],
            **{key: pointer(FILE, "rows", index, key) for key in numbers},
        },
        ("hard",) if row["kind"] == "hard" else (),
    )


def _flips(sources: Sources) -> list[Part]:
    """The gate's own list, cut where the gate cut it."""
    gate = sources.inputs.document(BF16)
    found = [
        (check, flip, entry)
        for check, content in enumerate((gate or {}).get("checks") or [])
        for flip, entry in enumerate((content.get("evidence") or {}).get("flips") or [])
    ]
    if isinstance(gate, Missing) or not found:
        return []
    title = "Choices that change with the number of rows (gate in half precision)"
    numbers = ("position", "single", "block", "single_gap_ulps", "block_gap_ulps")
    return [
        Table(
            "flips",
            title,
            (
                Column("prompt", "Prompt"),
                Column("kind", "Class", word=True),
                Column("position", "Position", "integer"),
                Column("single", "Id, one row", "integer"),
                Column("block", "Id, in a block", "integer"),
                Column("arbiter", "Id in float32", "integer"),
                Column("single_gap_ulps", "Gap in ulp, one row", "significant"),
                Column("block_gap_ulps", "In a block", "significant"),
            ),
            tuple(
                Row(
                    {
                        "prompt": str(entry["prompt"]),
                        "kind": CLASSES[str(entry["kind"])],
                        **{key: pointer(BF16, "checks", check, "evidence", "flips", flip, key) for key in numbers},
                        "arbiter": sources.claims.first(
                            pointer(BF16, "checks", check, "evidence", "flips", flip, "arbiter")
                        ),
                    },
                    ("hard",) if entry["kind"] == "hard" else (),
                )
                for check, flip, entry in found
            ),
            flagged="kind",
            folded=True,
            summary=title,
        )
    ]

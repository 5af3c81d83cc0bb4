"""The rows of ``analysis/speedup.json`` and the ids of their numbers, for every section that shows ratios."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from specdec.report.claims import Claims, pointer
from specdec.report.inputs import Inputs

FILE = "analysis/speedup.json"


def text_flags(row: Mapping[str, Any]) -> tuple[str, ...]:
    """``lossy`` and ``invalid_text`` where the arm's output is not the target's, or is no text at all."""
    flags = {"lossy": "lossless", "invalid_text": "text_valid"}
    return tuple(flag for flag, key in flags.items() if row.get(key) is False)


@dataclass(frozen=True)
class Ratio:
    """One (phase, context, arm) of the speed-up table."""

    index: int
    row: dict[str, Any]
    claims: Claims

    @property
    def context(self) -> str:
        """The context as a name."""
        return str(self.row.get("context"))

    @property
    def arm(self) -> str:
        """The arm's name."""
        return str(self.row.get("arm"))

    @property
    def flags(self) -> tuple[str, ...]:
        """See ``text_flags``."""
        return text_flags(self.row)

    def id(self, key: str) -> str | None:
        """Claim id of one of the row's numbers: the analysis' claim, else the row itself, else ``None``."""
        phase = self.row.get("phase")
        return self.claims.first(f"{phase}.{self.context}.{self.arm}.{key}", pointer(FILE, "rows", self.index, key))

    def family_id(self, position: int, key: str) -> str | None:
        """The same for the family at ``position``."""
        family = self.row["families"][position].get("family")
        phase = self.row.get("phase")
        return self.claims.first(
            f"{phase}.{self.context}.{self.arm}.family.{family}.{key}",
            pointer(FILE, "rows", self.index, "families", position, key),
        )


def ratios(inputs: Inputs, claims: Claims, phase: str) -> Iterator[Ratio]:
    """The rows of one phase, in the order of the file, for the primary estimand."""
    speedup = inputs.document(FILE)
    if not speedup:
        return
    primary = speedup.get("estimand")
    for index, row in enumerate(speedup.get("rows", [])):
        if row.get("phase") == phase and row.get("primary_estimand", row.get("estimand") == primary):
            yield Ratio(index, row, claims)


def verdict_of(inputs: Inputs, ratio: Ratio) -> str | None:
    """The word that verdict.json gives this arm in this context."""
    verdict = inputs.document("analysis/verdict.json")
    for entry in verdict.get("arms", []) if verdict else []:
        if str(entry.get("context")) == ratio.context and entry.get("arm") == ratio.arm:
            return str(entry.get("verdict"))
    return None

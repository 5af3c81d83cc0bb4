"""The published studies' figures as the analysis hands them on, for standing beside this machine's."""

from dataclasses import dataclass
from typing import Any

from specdec.report.claims import pointer
from specdec.report.sections.section import Sources

FILE = "analysis/tables.json"


@dataclass(frozen=True)
class Study:
    """One published study by its key in ``analysis/tables.json``."""

    key: str

    def rows(self, sources: Sources) -> list[dict[str, Any]]:
        """Its table of ratios; empty where the file has none."""
        found = self._content(sources).get("rows", [])
        return list(found)

    def id(self, sources: Sources, *steps: str | int) -> str | None:
        """Claim id of one of its figures."""
        return sources.claims.first(pointer(FILE, "published", self.key, *steps))

    def values(self, sources: Sources) -> dict[str, str]:
        """Its name, pair and machine, for captions."""
        content = self._content(sources)
        return {key: str(content.get(key, "?")) for key in ("study", "pair", "machine")}

    def _content(self, sources: Sources) -> dict[str, Any]:
        tables = sources.inputs.document(FILE)
        found = tables.get("published", {}).get(self.key, {}) if tables else {}
        return dict(found)


STUDY_A = Study("study_a")
STUDY_B = Study("study_b")
CONFIGURATIONS = {
    "K = 1": ("k1", "draft_k1"),
    "K = 2": ("k2", "draft_k2"),
    "K = 4": ("k4", "draft_k4"),
    "K = 8": ("k8", "draft_k8"),
    "confidence < 0.4": ("confidence_04",),
    "confidence < 0.6": ("confidence_06",),
}
"""Arms of this project's studies that repeat a configuration of study A."""

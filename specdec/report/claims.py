"""The numbers of the page: each is looked up under an id, with its unit, interval, count and source file.

Apart so that templates cannot compute: they know ids, and an unknown id is an error. Two kinds of id
exist: those of ``analysis/claims.json`` (``timing.256.lookup_k5.r_gm``), and JSON pointers (RFC 6901)
into a result file (``environment/environment.json#/machine/n_cores``) for what was recorded, not inferred.
"""

from dataclasses import dataclass
from typing import Any

from specdec.errors import RecordError


class UnknownClaim(RecordError):
    """A template asked for a number that no result file holds."""


@dataclass(frozen=True)
class Claim:
    """One number (or ``None`` where it was not measured) and where it comes from."""

    id: str
    value: float | int | str | bool | None
    low: float | None = None
    high: float | None = None
    unit: str = ""
    n: int | None = None
    source: str = ""

    @property
    def known(self) -> bool:
        """Whether a value was measured."""
        return self.value is not None


class Claims:
    """Lookup of claims by id.

    Parameters
    ----------
    claims
        The ``claims`` object of ``analysis/claims.json``.
    documents
        Parsed JSON files by path, for ids that are pointers.
    """

    def __init__(self, claims: dict[str, Any], documents: dict[str, Any]) -> None:
        self._claims = claims
        self._documents = documents

    def __contains__(self, id: str) -> bool:
        try:
            self(id)
        except UnknownClaim:
            return False
        return True

    def __call__(self, id: str) -> Claim:
        """The claim of that id.

        Raises
        ------
        UnknownClaim
            If no result file holds it.
        """
        if "#" in id:
            file, _, path = id.partition("#")
            low, high = (self._beside(file, path, key) for key in ("ci_low", "ci_high"))
            return Claim(id, self._resolve(id, file, path), low, high, source=f"results/{file}")
        entry = self._claims.get(id)
        if not isinstance(entry, dict):
            raise UnknownClaim(f"claim {id!r}: not in analysis/claims.json; name one that the analysis writes")
        return Claim(
            id,
            entry.get("value"),
            entry.get("low"),
            entry.get("high"),
            str(entry.get("unit") or ""),
            entry.get("n"),
            str(entry.get("source") or ""),
        )

    def first(self, *ids: str) -> str | None:
        """The first of ``ids`` that a result file holds, or ``None``."""
        return next((id for id in ids if id in self), None)

    def _beside(self, file: str, path: str, key: str) -> Any:
        """The interval that a result file keeps beside a ratio (``r_gm``, ``ci_low``, ``ci_high``)."""
        if not path.endswith(("/r_gm", "/r")):
            return None
        sibling = path.rpartition("/")[0] + "/" + key
        try:
            return self._resolve(sibling, file, sibling)
        except UnknownClaim:
            return None

    def _resolve(self, id: str, file: str, path: str) -> Any:
        if file not in self._documents:
            raise UnknownClaim(f"claim {id!r}: {file} is not among the results; run the phase that writes it")
        value = self._documents[file]
        for step in path.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and key in value:
                value = value[key]
            elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
                value = value[int(key)]
            else:
                raise UnknownClaim(f"claim {id!r}: {file} has nothing at {path}; name a key that it holds")
        if isinstance(value, dict | list):
            raise UnknownClaim(f"claim {id!r}: {file} holds a group at {path}; name a single value")
        return value


def pointer(file: str, *steps: str | int) -> str:
    """The id of a value inside a JSON result file."""
    return file + "#" + "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)

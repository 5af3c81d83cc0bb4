"""Models for tests: tiny random ones (made in milliseconds), cuts of them, and the embedded target."""

import contextlib
import fcntl
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from specdec.config import load_study
from specdec.config.sources import Derived, Random, Source
from specdec.errors import SpecdecError
from specdec.models.distilled import save_distilled
from specdec.models.feature_head import HeadShape, save_head
from specdec.models.fetch import fetch
from specdec.models.shapes import is_norm, split_layer
from specdec.models.weights import load_architecture, load_weights

REPOSITORY = Path(__file__).resolve().parents[1]

ModelFactory = Callable[..., Path]


@pytest.fixture(scope="session", autouse=True)
def _few_threads() -> None:
    """Tiny matrices gain nothing from threads; where others hold the cores, waiting for a second one takes minutes."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Kernel calibrations of tests, made on a busy machine, stay out of the user's cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPECDEC_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> ModelFactory:
    """``tiny_model("qwen2", layers=3, seed=1, ...) -> folder``: seeded random weights, stored in float32.

    Keywords are those of ``specdec.config.sources.Random``; equal calls give the same folder. The tokenizer
    is the byte tokenizer (ids 0-255 are bytes, 258 ends the text). The default scale makes text that neither
    repeats one token nor is noise without structure; an untied head does the rest.
    """
    made: dict[str, Path] = {}

    def factory(architecture: str = "llama", **changes: Any) -> Path:
        shape: dict[str, Any] = {
            "kind": "random",
            "architecture": architecture,
            "layers": 2,
            "hidden": 64,
            "intermediate": 128,
            "heads": 4,
            "kv_heads": 2,
            "head_dim": 16,
            "vocabulary": 320,
            "positions": 512,
            "tied_head": False,
            "scale": 0.15,
            "seed": 0,
        } | changes
        key = json.dumps(shape, sort_keys=True)
        if key not in made:
            folder = tmp_path_factory.mktemp("tiny") / "model"
            fetch("tiny", Random(**shape), folder, downloads=folder.parent)
            made[key] = folder
        return made[key]

    return factory


@pytest.fixture(scope="session")
def derived_model(tmp_path_factory: pytest.TempPathFactory) -> ModelFactory:
    """``derived_model(base, layers=[0], noise=0.1, seed=0) -> folder``: chosen layers of ``base``, disturbed.

    ``layers`` None keeps them all: with noise 0 the drafter is the target. On ``tiny_model``'s defaults, noise
    0.03 agrees with the base at about 80 % of positions, 0.1 at 30-50 %, 0.2 at 10 %.
    """
    made: dict[str, Path] = {}

    def factory(base: Path, layers: list[int] | None = None, noise: float = 0.0, seed: int = 0) -> Path:
        if layers is None:
            layers = list(range(json.loads((base / "model.json").read_text())["n_layers"]))
        key = json.dumps([str(base), layers, noise, seed])
        if key not in made:
            folder = tmp_path_factory.mktemp("derived") / "model"
            source = Derived(kind="derived", from_model="base", layers=layers, noise=float(noise), seed=seed)
            fetch("derived", source, folder, base=base, downloads=folder.parent)
            made[key] = folder
        return made[key]

    return factory


@pytest.fixture(scope="session")
def random_head(tmp_path_factory: pytest.TempPathFactory) -> ModelFactory:
    """``random_head(target, fused_layers=(), vocabulary=range(256), seed=0) -> folder``: an untrained feature head."""

    def factory(
        target: Path, fused_layers: tuple[int, ...] = (), vocabulary: Sequence[int] = range(256), seed: int = 0
    ) -> Path:
        generator = torch.Generator().manual_seed(seed)
        shapes = HeadShape(load_architecture(target), fused_layers).tensors
        weights = {
            name: torch.ones(size) if is_norm(name) else torch.empty(size).normal_(0.0, 0.15, generator=generator)
            for name, size in shapes.items()
        }
        folder = tmp_path_factory.mktemp("head")
        ids = torch.tensor(list(vocabulary))
        save_head(folder, target, weights, fused_layers=fused_layers, vocabulary=ids, about={"license": "none"})
        return folder

    return factory


@pytest.fixture(scope="session")
def disturbed_layers(tmp_path_factory: pytest.TempPathFactory) -> ModelFactory:
    """``disturbed_layers(target, layers, noise=0.0, vocabulary=range(256), seed=0) -> folder``: a distilled model.

    Untrained: chosen layers of the target, with noise as in ``derived_model``.
    """

    def factory(
        target: Path,
        layers: Sequence[int],
        noise: float = 0.0,
        vocabulary: Sequence[int] = range(256),
        seed: int = 0,
    ) -> Path:
        generator = torch.Generator().manual_seed(seed)
        weights = {}
        for name, weight in load_weights(target, torch.float32, "cpu").items():
            place = split_layer(name)
            for index in (i for i, layer in enumerate(layers) if place is not None and place[0] == layer):
                given = weight.clone()
                if given.ndim > 1:
                    given += noise * given.std() * torch.empty_like(given).normal_(generator=generator)
                weights[f"model.layers.{index}.{place[1]}"] = given
        folder = tmp_path_factory.mktemp("distilled")
        ids = torch.tensor(list(vocabulary))
        save_distilled(folder, target, weights, layers=layers, vocabulary=ids, about={"license": "none"})
        return folder

    return factory


@pytest.fixture(scope="session")
def embedded_target() -> Path:
    """The folder of the embedded target: the fetched one, or one converted once into ``downloads/``.

    Skips, saying why, where it is neither there nor to be had. Mark such tests ``embedded``.
    """
    source = load_study(REPOSITORY / "params.yaml").models["target"]
    downloads = REPOSITORY / "downloads"
    fetched, converted = REPOSITORY / "results/models/target", downloads / "converted/target"
    if _holds(fetched, source):
        return fetched
    try:
        with _alone(downloads / "converted.lock"):  # other test processes want it too: one converts, the rest wait
            if not _holds(converted, source):
                fetch("target", source, converted, downloads=downloads)
    except SpecdecError as error:
        pytest.skip(f"embedded target: {error}")
    return converted


def _holds(folder: Path, source: Source) -> bool:
    card = folder / "model.json"
    return card.is_file() and json.loads(card.read_text())["source"] == source.model_dump(mode="json")


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield

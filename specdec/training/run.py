"""From a recipe to a drafter's folder: data that is missing, vocabulary, fitting, judging, weights and card."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from specdec.config.recipe import Recipe, Stage
from specdec.storage import sha256_json
from specdec.training.card import about
from specdec.training.fit import fit
from specdec.training.forms import FORMS
from specdec.training.judge import judge
from specdec.training.progress import Progress
from specdec.training.shards import Shard, data_folder, planned, write_missing
from specdec.training.vocabulary import most_frequent

Say = Callable[[str], None]


def train_drafter(
    recipe: Recipe, target: Path, work: Path, out: Path, device: torch.device, say: Say
) -> dict[str, Any]:
    """Train the drafter of ``recipe`` for the model in ``target`` and write it to ``out``; returns its card.

    Parameters
    ----------
    recipe : Recipe
        What to make.
    target : Path
        Folder of a fetched model.
    work : Path
        Folder of data and unfinished trainings; calling again goes on where it stopped.
    out : Path
        Folder of the drafter: ``model.safetensors``, ``card.json``.
    device : torch.device
        Where everything is computed.
    say : callable
        Told one line of progress at a time.

    Raises
    ------
    ConfigError
        If the recipe names a family or a layer that does not exist.
    ModelError
        If the target cannot be read.
    """
    shards = write_data(recipe, target, work, device, say)
    by_kind = {kind: [s for s in shards if s.kind == kind] for kind in ("seen", "unseen", "development")}
    drafter = recipe.drafter
    form = FORMS[drafter.kind](drafter, target, device, recipe.training.seed)
    training = recipe.training
    # that of the first stage: a stage that is added must not change what was learned before it
    first = _read_in(training.stages[0], by_kind["seen"])
    vocabulary = most_frequent(first, drafter.n_vocabulary, form.frozen.embedding.shape[0]).to(device)

    progress = Progress()
    for number, stage in enumerate(training.stages, 1):
        place = _stage_folder(Path(work) / "fits", recipe, number, shards[0].path.parent)
        seen = _read_in(stage, by_kind["seen"])
        progress = fit(form, training, stage, progress, vocabulary, seen, by_kind["unseen"], place, say, device)

    form.round()  # what is judged is what is stored
    verdicts = {
        kind: judge(form, vocabulary, by_kind[kind], recipe.training.texts_per_step, device).summary()
        for kind in ("unseen", "development")
        if by_kind[kind]
    }
    return form.save(out, target, vocabulary, about(recipe, by_kind["seen"], progress, verdicts, device))


def write_data(
    recipe: Recipe, target: Path, work: Path, device: torch.device, say: Say, part: tuple[int, int] = (0, 1)
) -> list[Shard]:
    """Write the data that is missing (of a ``part``, see ``write_missing``); return every shard of the recipe."""
    folder = data_folder(Path(work) / "data", recipe.data, target)
    shards = planned(folder, recipe.data)
    total, since = 0, time.monotonic()
    for shard, n_tokens in write_missing(recipe.data, target, folder, device, part):
        total += n_tokens
        per_second = total / (time.monotonic() - since)
        say(f"data: {shard.path.name}, {n_tokens} answer tokens, {total} in all, {per_second:.0f} per second")
    return shards


def _read_in(stage: Stage, seen: list[Shard]) -> list[Shard]:
    return seen[stage.first_shard : stage.first_shard + stage.n_shards]


def _stage_folder(root: Path, recipe: Recipe, n_stages: int, data: Path) -> Path:
    """Where the last of ``n_stages`` is kept; it follows from these alone, so a longer recipe goes on from it."""
    training = recipe.training.model_dump()
    choices = {**training, "stages": training["stages"][:n_stages]}
    key = [data.name, recipe.data.n_unseen_shards, recipe.drafter.model_dump(), choices]
    folder = root / sha256_json(key)[:12]
    folder.mkdir(parents=True, exist_ok=True)
    return folder

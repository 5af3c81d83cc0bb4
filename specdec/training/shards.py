"""The training data on disk: shard after shard of texts with the target's states, each made once.

A shard follows from the recipe, its number and the target alone, so a run that is interrupted goes on where it
stopped, and a longer recipe adds shards to those that lie there.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from specdec.config.recipe import Data
from specdec.errors import ConfigError
from specdec.models.weights import load_card
from specdec.prompts.families import FAMILIES, PADDING
from specdec.prompts.families.sketch import Family
from specdec.prompts.families.training import TRAINING, TRAINING_PADDING
from specdec.prompts.fit import fit
from specdec.prompts.padding import Padding
from specdec.prompts.tokenizer import PromptTokenizer, load_tokenizer
from specdec.storage import replacing, sha256_json
from specdec.training.answers import Answers, Sampling, answer
from specdec.training.batched import BatchedTarget

Kind = Literal["seen", "unseen", "development"]
DEVELOPMENT_TOKENS = 256
"""Prompt length of the development families, that of the embedded study."""


@dataclass(frozen=True)
class Shard:
    """One file: texts of one prompt length.

    ``seen`` ones are trained on; ``unseen`` ones, of training families that are left out, say when to stop;
    ``development`` ones, of the study's development families, are for the card alone.
    """

    path: Path
    index: int
    kind: Kind


def data_folder(root: Path, data: Data, target: Path) -> Path:
    """Where the shards of this data lie: data of another kind or another target never mix."""
    kind = data.model_dump(exclude={"n_shards", "n_unseen_shards", "n_development_shards"})
    return Path(root) / sha256_json([kind, load_card(target)["weights_sha256"]])[:12]


def planned(folder: Path, data: Data) -> list[Shard]:
    """Every shard of the recipe; those that judge first, so that the others may be cut short."""
    counts: dict[Kind, int] = {
        "unseen": data.n_unseen_shards,
        "development": data.n_development_shards,
        "seen": data.n_shards,
    }
    return [
        Shard(Path(folder) / f"{kind}-{index:05d}.safetensors", index, kind)
        for kind, n in counts.items()
        for index in range(n)
    ]


def dealt(shards: Sequence[Shard], part: tuple[int, int], n_lengths: int) -> list[Shard]:
    """The shards of part ``(i, n)``.

    Whose turn it is moves on by one with each round of the ``n_lengths`` prompt lengths, or of two parts one would get
    all the long prompts.
    """
    index, n_parts = part
    return [shard for number, shard in enumerate(shards) if (number + number // n_lengths) % n_parts == index]


def write_missing(
    data: Data, target: Path, folder: Path, device: torch.device, part: tuple[int, int] = (0, 1)
) -> Iterator[tuple[Shard, int]]:
    """Write the shards that are not there yet; yields each with its number of answer tokens.

    ``part`` ``(i, n)`` writes one of ``n`` shards (``dealt``): on a CPU, a process per core with one thread each is
    faster than one process that waits for all its threads after every linear.

    Raises
    ------
    ConfigError
        If a family or a layer of the recipe does not exist.
    """
    _check_families(data)
    missing = [
        shard for shard in dealt(planned(folder, data), part, len(data.prompt_tokens)) if not shard.path.exists()
    ]
    if not missing:
        return
    tokenizer = load_tokenizer(target)
    n_layers = load_card(target)["n_layers"]
    layers = tuple(sorted({*data.state_layers, n_layers - 1}))
    if not 0 <= layers[0] <= layers[-1] < n_layers:
        raise ConfigError(
            f"data.state_layers: {data.state_layers} names a layer that {target} lacks; it has {n_layers}"
        )
    model = BatchedTarget.load(target, layers, getattr(torch, data.dtype), device)
    for shard in missing:
        answers, families = _make(data, tokenizer, model, shard)
        _save(shard.path, answers, families, layers)
        yield shard, int((answers.n_tokens - answers.n_prompt).sum())


def prompts(data: Data, tokenizer: PromptTokenizer, shard: Shard) -> tuple[list[list[int]], list[str]]:
    """The prompts of a shard (ids, all of one length) and the family of each."""
    families, padding, length = _supply(data, shard)
    ids, names = [], []
    for number in range(shard.index * data.texts_per_shard, (shard.index + 1) * data.texts_per_shard):
        family = families[number % len(families)]
        rng = random.Random(f"{data.seed} {family.name} {number}")
        ids.append(fit(family.write(rng), tokenizer, length, padding, rng, family.name).ids)
        names.append(family.name)
    return ids, names


def _supply(data: Data, shard: Shard) -> tuple[list[Family], Padding, int]:
    if shard.kind == "development":
        families = [family for family in FAMILIES.values() if family.split == "development"]
        return families, PADDING["development"], DEVELOPMENT_TOKENS
    families = [
        family for family in TRAINING.values() if (family.name in data.unseen_families) == (shard.kind == "unseen")
    ]
    return families, TRAINING_PADDING, data.prompt_tokens[shard.index % len(data.prompt_tokens)]


@dataclass(frozen=True)
class ShardInfo:
    """What a shard says of itself: texts, families, layers and prompt length."""

    n_texts: int
    n_prompt: int
    families: list[str]
    layers: tuple[int, ...]


def describe(path: Path) -> ShardInfo:
    """Read what a shard says of itself; no states."""
    with safe_open(path, framework="pt") as shard:
        about = json.loads(shard.metadata()["about"])
    return ShardInfo(len(about["families"]), about["n_prompt"], about["families"], tuple(about["layers"]))


def read_tokens(path: Path) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Tokens int64 ``[batch, n]``, how many of each text count, and the prompts' length."""
    with safe_open(path, framework="pt") as shard:
        return shard.get_tensor("tokens").long(), shard.get_tensor("n_tokens").long(), describe(path).n_prompt


def read(path: Path, first: int, last: int, layers: tuple[int, ...]) -> Answers:
    """Texts ``first`` .. ``last - 1`` of a shard with the states of ``layers``."""
    info = describe(path)
    with safe_open(path, framework="pt") as shard:
        tokens, n_tokens = (shard.get_slice(name)[first:last].long() for name in ("tokens", "n_tokens"))
        n = int(n_tokens.max())
        features = shard.get_slice("features")[first:last, :n]
    chosen = [info.layers.index(layer) for layer in layers]
    return Answers(tokens[:, :n], n_tokens, features[:, :, chosen], info.n_prompt)


def _make(data: Data, tokenizer: PromptTokenizer, model: BatchedTarget, shard: Shard) -> tuple[Answers, list[str]]:
    ids, names = prompts(data, tokenizer, shard)
    # drafters are judged on greedy text, which is what they will draft for
    n_sampled = round(data.sampled_share * len(ids)) if shard.kind == "seen" else 0
    temperatures = [data.temperature] * n_sampled + [0.0] * (len(ids) - n_sampled)
    random.Random(f"{data.seed} {shard.index}").shuffle(temperatures)
    seed = int(sha256_json([data.seed, shard.index, shard.kind])[:15], 16)
    return answer(model, ids, data.new_tokens, Sampling(temperatures, data.top_k), seed), names


def _save(path: Path, answers: Answers, families: list[str], layers: tuple[int, ...]) -> None:
    about = {"families": families, "n_prompt": answers.n_prompt, "layers": layers}
    tensors = {
        "tokens": answers.tokens.int(),
        "n_tokens": answers.n_tokens.int(),
        "features": answers.features.contiguous(),
    }
    with replacing(path) as temporary:
        save_file(tensors, temporary, metadata={"format": "pt", "about": json.dumps(about)})


def _check_families(data: Data) -> None:
    for name in data.unseen_families:
        if name not in TRAINING:
            raise ConfigError(f"data.unseen_families: unknown family {name!r}; use some of {', '.join(TRAINING)}")

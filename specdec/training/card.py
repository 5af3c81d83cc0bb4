"""What a trained drafter tells of itself: data, training, acceptance. Written beside the weights."""

from collections.abc import Sequence
from typing import Any

import torch

from specdec.config.recipe import Recipe
from specdec.prompts.families.training import TRAINING
from specdec.training.progress import Progress
from specdec.training.shards import Shard, read_tokens

LICENSE = "Apache-2.0"


def about(
    recipe: Recipe, seen: Sequence[Shard], progress: Progress, verdicts: dict[str, Any], device: torch.device
) -> dict[str, Any]:
    """The part of the card that the training knows; the file's own door adds hashes and form.

    ``verdicts`` are summaries by kind of text: ``unseen`` training families, which stopped the training, and the
    study's ``development`` families, which nothing was chosen by.
    """
    n_texts = n_answers = n_prompts = 0
    for shard in seen:
        tokens, n_tokens, n_prompt = read_tokens(shard.path)
        n_texts += len(tokens)
        n_prompts += len(tokens) * n_prompt
        n_answers += int((n_tokens - n_prompt).sum())
    return {
        "license": LICENSE,
        "recipe": recipe.model_dump(mode="json"),
        "data": {
            "source": "the target's own greedy and sampled answers to this project's training prompts",
            "families": [name for name in TRAINING if name not in recipe.data.unseen_families],
            "n_texts": n_texts,
            "n_answer_tokens": n_answers,
            "n_prompt_tokens": n_prompts,
        },
        "training": {
            "device": device.type,
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
            "steps": progress.step,
            "visits": progress.visits,
            "best_step": progress.best_step,
            "seconds": round(progress.seconds),
            "curve": progress.curve,
        },
        "acceptance": verdicts,
    }

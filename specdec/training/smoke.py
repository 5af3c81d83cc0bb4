"""A recipe cut down to seconds: the same way from prompts to a card, with hardly anything to learn from."""

from specdec.config.recipe import Recipe


def smoke(recipe: Recipe) -> Recipe:
    """``recipe`` with a few short texts and steps; its form stays."""
    data = {
        "n_shards": 2,
        "n_unseen_shards": 1,
        "n_development_shards": 0,
        "texts_per_shard": 4,
        "prompt_tokens": recipe.data.prompt_tokens[:1],
        "new_tokens": 16,
    }
    shortened = {"first_shard": 0, "n_shards": 2, "visits": 200}
    training = {
        "texts_per_step": 2,
        "stages": [stage.model_copy(update=shortened) for stage in recipe.training.stages],
        "warmup_steps": 1,
        "evaluate_every": 4,
    }
    return recipe.model_copy(
        update={
            "data": recipe.data.model_copy(update=data),
            "training": recipe.training.model_copy(update=training),
        }
    )

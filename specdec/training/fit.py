"""The fitting loop: unrolled draft steps against the target's own distribution, early stop on acceptance.

The loss is the cross-entropy with the target's distribution (Hinton et al. 2015, arXiv:1503.02531): a drafter of a few
megabytes cannot know every next token, and the target's second and third choices tell it what the first came from.
Everything that a step needs follows from the recipe and the step's number, so an interrupted training goes on from its
last evaluation as if nothing had happened.
"""

import math
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from specdec.config.recipe import Stage, Training
from specdec.training.examples import Examples, load, schedule
from specdec.training.forms import Form
from specdec.training.judge import judge
from specdec.training.progress import Progress, keep_best, keep_state, read_best, resume
from specdec.training.shards import Shard
from specdec.training.vocabulary import union

K_JUDGED = 3
"""Early stop goes by the tokens per round of this draft length: one number for all depths that a chain uses."""

MOST_GRADIENT = 1.0
LAST_RATE = 0.05


def fit(
    form: Form,
    training: Training,
    stage: Stage,
    before: Progress,
    vocabulary: torch.Tensor,
    seen: Sequence[Shard],
    unseen: Sequence[Shard],
    work: Path,
    say: Callable[[str], None],
    device: torch.device,
) -> Progress:
    """Fit ``form``, which stands where the stages ``before`` left it, in place, and leave it with its best weights.

    ``work`` keeps the state of the last evaluation and the best weights; a finished stage there is taken as it is.
    """
    for weight in form.weights.values():
        weight.requires_grad_(True)
    optimizer = torch.optim.AdamW(
        [
            {"params": [w for w in form.weights.values() if w.ndim > 1], "weight_decay": training.weight_decay},
            {"params": [w for w in form.weights.values() if w.ndim == 1], "weight_decay": 0.0},
        ],
        betas=(0.9, 0.95),
    )
    progress = resume(work, form, optimizer)
    if progress is None:
        progress = before.next_stage()
        keep_best(work, form)
    losses: list[float] = []
    since = time.monotonic()
    pieces = schedule(seen, training.texts_per_step, training.seed)
    for piece in islice(pieces, progress.stage_steps, None):
        if progress.finished:
            break
        examples = load(piece, form.layers, device)
        now = rate(stage, training.warmup_steps, progress.stage_steps, progress.stage_visits)
        losses.append(_step(form, optimizer, examples, training, vocabulary, now))
        progress.step += 1
        progress.visits += examples.n_visits
        over = progress.stage_visits >= stage.visits
        if progress.stage_steps % training.evaluate_every and not over:
            continue
        judgement = judge(form, vocabulary, unseen, training.texts_per_step, device)
        progress.seconds += time.monotonic() - since
        since = time.monotonic()
        _note(progress, judgement.summary(), sum(losses) / len(losses), work, form)
        losses.clear()
        progress.finished = over or progress.n_fruitless >= training.patience
        keep_state(work, form, optimizer, progress)
        say(_line(progress))
    best = read_best(work)
    with torch.no_grad():
        for name, weight in form.weights.items():
            weight.copy_(best[name])
            weight.requires_grad_(False)
    return progress


def loss_of(form: Form, examples: Examples, training: Training, vocabulary: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy per predicted token, summed over depths with their weights."""
    ids = union(vocabulary, examples.prompt_ids)
    rows = form.frozen.rows(ids)
    with torch.no_grad():  # the state of token i + 1 is what predicts token i + 2
        after = examples.features[:, examples.n_context + 1 :, -1].to(rows.dtype)
        wanted = torch.softmax(form.frozen.logits(after[examples.counts], rows).float(), -1)
    total = torch.zeros((), device=ids.device)
    n_rows = examples.counts.shape[1]
    for depth, states in enumerate(form.states(examples, training.depths)):
        chained = (torch.arange(n_rows, device=ids.device) >= depth).expand_as(examples.counts)[examples.counts]
        logits = form.frozen.logits(states[examples.counts][chained], rows).float()
        surprise = -(wanted[chained] * torch.log_softmax(logits, -1)).sum(-1)
        total = total + training.depth_decay**depth * surprise.mean()
    return total


def _step(
    form: Form,
    optimizer: torch.optim.Optimizer,
    examples: Examples,
    training: Training,
    vocabulary: torch.Tensor,
    learning_rate: float,
) -> float:
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    narrow = training.dtype == "bfloat16"
    with torch.autocast(examples.tokens.device.type, dtype=torch.bfloat16, enabled=narrow):
        loss = loss_of(form, examples, training, vocabulary)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(form.weights.values(), MOST_GRADIENT)
    optimizer.step()
    return float(loss.detach())


def rate(stage: Stage, warmup_steps: int, step: int, visits: int) -> float:
    """Learning rate of a stage: linear warm-up by its steps, then one cosine over its visits.

    Stages together are the warm restarts of Loshchilov and Hutter (2017, SGDR).
    """
    warm = min(1.0, (step + 1) / max(warmup_steps, 1))
    done = min(1.0, visits / stage.visits)
    falling = LAST_RATE + (1 - LAST_RATE) * (1 + math.cos(math.pi * done)) / 2
    return stage.learning_rate * warm * falling


def _note(progress: Progress, summary: dict[str, Any], loss: float, work: Path, form: Form) -> None:
    """A row of the curve; the best weights so far are kept."""
    value = summary["tokens_per_round_by_k"][K_JUDGED - 1]
    row = {"step": progress.step, "visits": progress.visits, "loss": round(loss, 4), "tokens_per_round": value}
    progress.curve.append({**row, "acceptance_by_depth": summary["acceptance_by_depth"]})
    if value > progress.best:
        progress.best, progress.best_step = value, progress.step
        keep_best(work, form)


def _line(progress: Progress) -> str:
    row = progress.curve[-1]
    rates = " ".join(f"{value:.3f}" for value in row["acceptance_by_depth"])
    return (
        f"step {row['step']}, {row['visits']} visits, {progress.seconds:.0f} s: loss {row['loss']:.3f}, "
        f"acceptance by depth {rates}, {row['tokens_per_round']:.3f} tokens per round "
        f"(best {progress.best:.3f} at step {progress.best_step})"
    )

"""The fitting loop: unrolled draft steps against the target's own distribution, early stop on acceptance.

The loss is the cross-entropy with the target's distribution (Hinton et al. 2015, arXiv:1503.02531): a drafter of a few
megabytes cannot know every next token, and the target's second and third choices tell it what the first came from.
Everything that a step needs follows from the recipe and the step's number, so an interrupted training goes on from its
last evaluation as if nothing had happened.
"""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from specdec.config.recipe import Training
from specdec.storage import replacing
from specdec.training.examples import Examples, load, schedule
from specdec.training.forms import Form
from specdec.training.judge import judge
from specdec.training.shards import Shard
from specdec.training.vocabulary import union

K_JUDGED = 3
"""Early stop goes by the tokens per round of this draft length: one number for all depths that a chain uses."""

MOST_GRADIENT = 1.0
LAST_RATE = 0.05
STATE, BEST = "state.safetensors", "best.safetensors"


@dataclass
class Progress:
    """Where a training stands; ``curve`` has one row per evaluation."""

    step: int = 0
    visits: int = 0
    seconds: float = 0.0
    best: float = 0.0
    best_step: int = 0
    finished: bool = False
    curve: list[dict[str, Any]] = field(default_factory=list)


def fit(
    form: Form,
    training: Training,
    vocabulary: torch.Tensor,
    seen: Sequence[Shard],
    unseen: Sequence[Shard],
    work: Path,
    say: Callable[[str], None],
    device: torch.device,
) -> Progress:
    """Fit ``form`` in place and leave it with its best weights.

    ``work`` keeps the state of the last evaluation and the best weights; a finished training there is taken as it is.
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
    progress = _resume(work, form, optimizer)
    losses: list[float] = []
    since = time.monotonic()
    for piece in islice(schedule(seen, training.texts_per_step, training.seed), progress.step, None):
        if progress.finished:
            break
        examples = load(piece, form.layers, device)
        losses.append(_step(form, optimizer, examples, training, vocabulary, progress))
        progress.step += 1
        cycle = cycle_of(training, progress.visits)
        progress.visits += examples.n_visits
        over = progress.visits >= training.visits
        turns = over or cycle_of(training, progress.visits) != cycle
        if progress.step % training.evaluate_every and not turns:
            continue
        judgement = judge(form, vocabulary, unseen, training.texts_per_step, device)
        progress.seconds += time.monotonic() - since
        since = time.monotonic()
        _note(progress, judgement.summary(), sum(losses) / len(losses), work, form)
        losses.clear()
        progress.finished = over or len(progress.curve) - 1 - _best_row(progress) >= training.patience
        _keep(work / STATE, form, optimizer, progress)
        say(_line(progress))
    best = load_file(work / BEST)
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
    progress: Progress,
) -> float:
    for group in optimizer.param_groups:
        group["lr"] = rate(training, progress.step, progress.visits)
    narrow = training.dtype == "bfloat16"
    with torch.autocast(examples.tokens.device.type, dtype=torch.bfloat16, enabled=narrow):
        loss = loss_of(form, examples, training, vocabulary)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(form.weights.values(), MOST_GRADIENT)
    optimizer.step()
    return float(loss.detach())


def rate(training: Training, step: int, visits: int) -> float:
    """Learning rate: linear warm-up by steps, then cosines over the visits (Loshchilov and Hutter 2017, SGDR).

    Each cycle begins at half the rate of the one before: a restart leaves what was found, and finds more than one long
    cosine does where nobody knows beforehand how many visits pay.
    """
    warm = min(1.0, (step + 1) / max(training.warmup_steps, 1))
    cycle = cycle_of(training, visits)
    done = min(1.0, visits / training.visits * training.cycles - cycle)
    falling = LAST_RATE + (1 - LAST_RATE) * (1 + math.cos(math.pi * done)) / 2
    return training.learning_rate * 0.5**cycle * warm * falling


def cycle_of(training: Training, visits: int) -> int:
    """The cycle that a training stands in after so many visits, from 0; the last one does not end."""
    return min(training.cycles - 1, visits * training.cycles // training.visits)


def _note(progress: Progress, summary: dict[str, Any], loss: float, work: Path, form: Form) -> None:
    """A row of the curve; the best weights so far are kept."""
    value = summary["tokens_per_round_by_k"][K_JUDGED - 1]
    row = {"step": progress.step, "visits": progress.visits, "loss": round(loss, 4), "tokens_per_round": value}
    progress.curve.append({**row, "acceptance_by_depth": summary["acceptance_by_depth"]})
    if value > progress.best:
        progress.best, progress.best_step = value, progress.step
        with replacing(work / BEST) as temporary:
            save_file({name: weight.detach().contiguous() for name, weight in form.weights.items()}, temporary)


def _best_row(progress: Progress) -> int:
    return next(i for i, row in enumerate(progress.curve) if row["step"] == progress.best_step)


def _line(progress: Progress) -> str:
    row = progress.curve[-1]
    rates = " ".join(f"{value:.3f}" for value in row["acceptance_by_depth"])
    return (
        f"step {row['step']}, {row['visits']} visits, {progress.seconds:.0f} s: loss {row['loss']:.3f}, "
        f"acceptance by depth {rates}, {row['tokens_per_round']:.3f} tokens per round "
        f"(best {progress.best:.3f} at step {progress.best_step})"
    )


def _keep(path: Path, form: Form, optimizer: torch.optim.Optimizer, progress: Progress) -> None:
    tensors = {}
    for name, weight in form.weights.items():
        tensors[name] = weight.detach().contiguous()
        for moment in ("exp_avg", "exp_avg_sq"):
            tensors[f"{moment} {name}"] = optimizer.state[weight][moment]
    with replacing(path) as temporary:
        save_file(tensors, temporary, metadata={"progress": json.dumps(asdict(progress))})


def _resume(work: Path, form: Form, optimizer: torch.optim.Optimizer) -> Progress:
    path = work / STATE
    if not path.exists():
        return Progress()
    with safe_open(path, framework="pt") as kept:
        progress = Progress(**json.loads(kept.metadata()["progress"]))
        with torch.no_grad():
            for name, weight in form.weights.items():
                weight.copy_(kept.get_tensor(name))
                moments = {m: kept.get_tensor(f"{m} {name}").to(weight.device) for m in ("exp_avg", "exp_avg_sq")}
                optimizer.state[weight] = {"step": torch.tensor(float(progress.step)), **moments}
    return progress

"""Record the drafter's chain at every position of the target's greedy text: what policies are replayed from.

Greedy drafting depends on the committed prefix alone, and the committed text of a lossless arm is always
the target's own. So one chain per position, as deep as any policy goes, holds every draft that any policy
could ever make on that text (``specdec.analysis.rounds`` plays them back). Development families only.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from specdec.config.study import EngineSection, Observations
from specdec.decode.assemble import TARGET_ONLY, assemble
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode
from specdec.errors import ModelError
from specdec.measure.drafted_chains import chains, rank_of
from specdec.measure.head_text import HeadOverText
from specdec.measure.process import say
from specdec.measure.spread import SpreadDistilled
from specdec.models.distilled_executor import DistilledExecutor
from specdec.models.executor import Executor, prefill
from specdec.models.head_executor import HeadExecutor
from specdec.prompts.rows import Prompt, read_prompts
from specdec.records.columns import CHANCES, OBSERVATIONS, SCHEMA_VERSION
from specdec.records.observation_summary import summarise_observations
from specdec.storage import replacing, write_json

ROWS_AT_ONCE = 64
"""Target rows per teacher-forced forward: bounds the logits held (64 x 152k float32 are 39 MB)."""


@dataclass(frozen=True)
class TargetText:
    """The target's greedy text: every emitted token (the prefill's first) and why it stopped."""

    tokens: tuple[int, ...]
    stopped: str | None


def write_observations(
    engine: EngineSection, observations: Observations, models: Path, prompts: Path, out: Path, summary: Path
) -> None:
    """Record every development prompt of the contexts and write the table and its summary.

    Parameters
    ----------
    engine, observations : EngineSection, Observations
        Sections of the study.
    models, prompts : Path
        Folder of the study's models, and ``development.jsonl``.
    out, summary : Path
        Parquet table (``records.columns.OBSERVATIONS``) and JSON summary to write. The summary also holds
        ``new_tokens``, ``k_max``, ``drafter`` and, in ``texts``, each recorded text with the reason of its end:
        what a replay needs beside the chains.

    Raises
    ------
    SpecdecError
        If a model or a prompt is missing, or a chain would pass the drafter's positions.
    """
    loaded = Loaded(models, engine)
    chosen = [row for row in read_prompts(prompts) if row.context in observations.contexts and row.index == 0]
    _require_room(observations, loaded.executor(engine.executor, observations.drafter))
    tables: list[pd.DataFrame] = []
    texts: list[dict[str, Any]] = []
    started = time.monotonic()
    for n_done, prompt in enumerate(chosen):
        to_go = f", {(time.monotonic() - started) / n_done * (len(chosen) - n_done):.0f} s to go" if n_done else ""
        say(f"observations: {prompt.context}/{prompt.family} ({n_done + 1} of {len(chosen)}{to_go})")
        text = target_text(loaded, prompt.ids, observations.new_tokens)
        tables.append(_table(prompt, observe(loaded, engine, observations, prompt.ids, text)))
        texts.append(_described(prompt, text))
    table = pd.concat(tables, ignore_index=True)
    with replacing(Path(out)) as temporary:
        table.to_parquet(temporary, index=False)
    write_json(
        Path(summary),
        {
            "schema_version": SCHEMA_VERSION,
            "drafter": observations.drafter,
            "k_max": observations.k_max,
            "new_tokens": observations.new_tokens,
            "texts": texts,
            **summarise_observations(table),
        },
    )


def target_text(loaded: Loaded, prompt: Sequence[int], new_tokens: int) -> TargetText:
    """Decode target-only, through the same loop as every timed arm."""
    engine = assemble(TARGET_ONLY, loaded, max_new_tokens=new_tokens)
    committed = engine.prefill(prompt)
    stopped = engine.limits.stopped(committed)
    for finished in decode(engine, committed):
        stopped = finished.stopped
    return TargetText(tuple(committed.ids[committed.n_prompt :]), stopped)


def observe(
    loaded: Loaded, engine: EngineSection, observations: Observations, prompt: Sequence[int], text: TargetText
) -> list[dict[str, Any]]:
    """Rows of one prompt, position by position and depth by depth, without the prompt's own columns."""
    drafter = loaded.executor(engine.executor, observations.drafter)
    target = loaded.executor(engine.executor, "target")
    own: torch.Tensor | None = None
    if isinstance(drafter, HeadExecutor):
        drafter = HeadOverText(drafter, target, prompt, text.tokens, engine.prefill_chunk)
        own = drafter.vocabulary
    elif isinstance(drafter, DistilledExecutor):
        drafter = SpreadDistilled(drafter, prompt, target.n_vocabulary)
        own = drafter.vocabulary
    rows: list[dict[str, Any]] = []
    recorded = chains(drafter, prompt, text.tokens, observations.k_max, engine.prefill_chunk, own)
    for position, chain in enumerate(recorded):
        reached = True
        for index, token in enumerate(chain.tokens):
            place = position + index + 1
            target_token = text.tokens[place] if place < len(text.tokens) else -1
            accepted = reached and token == target_token
            rows.append(
                {
                    "position": position,
                    "depth": index + 1,
                    "token": token,
                    "target_token": target_token,
                    "confidence": chain.chances[index][0],
                    "entropy": chain.entropy[index],
                    "margin": chain.margin[index],
                    **dict.fromkeys(CHANCES),
                    **dict(zip(CHANCES, chain.chances[index][1:], strict=False)),
                    "accepted": accepted,
                    "reached": reached,
                    "draft_rank": chain.target_rank[index] if reached and target_token >= 0 else None,
                }
            )
            reached = accepted
    _add_target_columns(rows, target, prompt, text.tokens, engine.prefill_chunk)
    return rows


def _add_target_columns(
    rows: list[dict[str, Any]], target: Executor, prompt: Sequence[int], text: Sequence[int], chunk: int
) -> None:
    """Rank, gap and margin from the target's row for each decided token, teacher-forced a few rows at a time.

    Rows not reached, and those behind the end of the text, keep null.
    """
    by_place: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        row |= {"target_rank": None, "logit_gap": None, "target_margin": None}
        if row["reached"] and row["target_token"] >= 0:
            by_place.setdefault(row["position"] + row["depth"] - 1, []).append(row)
    ids = target.door.upload([*prompt, *text])
    cache = target.open(len(ids))
    prefill(target, ids[: len(prompt)], cache, chunk)
    for start in range(0, len(text), ROWS_AT_ONCE):
        stop = min(start + ROWS_AT_ONCE, len(text))
        logits = target.forward(ids[len(prompt) + start : len(prompt) + stop], cache.length, cache).float()
        for place in range(start, stop):
            for row in by_place.get(place, ()):
                row |= _target_columns(logits[place - start], row["token"])


def _target_columns(logits: torch.Tensor, token: int) -> dict[str, Any]:
    top = torch.topk(logits, 2).values
    return {
        "target_rank": int(rank_of(logits, torch.tensor(token, device=logits.device))),
        "logit_gap": float(top[0] - logits[token]),
        "target_margin": float(top[0] - top[1]),
    }


def _table(prompt: Prompt, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """The rows of one prompt in the registry's order and types; optional numbers are nullable."""
    types = {"int": "int64", "float": "float64", "str": "str", "bool": "bool"}
    optional = {"int": "Int64", "float": "Float64"}
    labels: dict[str, Any] = {
        "context": prompt.context,
        "family": prompt.family,
        "prompt_hash": prompt.prompt_hash,
    }
    frame = pd.DataFrame(rows).assign(**labels)
    return frame[[column.name for column in OBSERVATIONS]].astype(
        {column.name: (optional if column.optional else types)[column.kind] for column in OBSERVATIONS}
    )


def _described(prompt: Prompt, text: TargetText) -> dict[str, Any]:
    return {
        "context": prompt.context,
        "family": prompt.family,
        "prompt_hash": prompt.prompt_hash,
        "tokens": list(text.tokens),
        "n_tokens": len(text.tokens),
        "stopped": text.stopped,
    }


def _require_room(observations: Observations, drafter: Executor) -> None:
    for context in observations.contexts:
        longest = context + observations.new_tokens + observations.k_max
        if longest > drafter.n_positions:
            raise ModelError(
                f"observations.contexts: {context} plus {observations.new_tokens} new tokens and chains of "
                f"{observations.k_max} pass the {drafter.n_positions} positions of models.{observations.drafter}; "
                "lower new_tokens or k_max"
            )

"""Checks that need two sections of a study. Each raises ``ValueError`` with the dotted key first."""

from typing import TYPE_CHECKING

from specdec.config.arms import Arm
from specdec.config.sources import Derived, Head, Trained

if TYPE_CHECKING:
    from specdec.config.study import Study


def check_study(study: "Study") -> None:
    """Run every cross-section check.

    Raises
    ------
    ValueError
        With ``key: what is wrong; remedy``.
    """
    _models(study)
    _contexts(study)
    _families(study)
    _arms(study)
    _executors(study)


def _executors(study: "Study") -> None:
    """CUDA graphs on a CPU are refused before anything is fetched."""
    arms = {"sweep.arms": study.sweep.arms, "timing.arms": study.timing.arms}
    asked = {"engine.executor": study.engine.executor} | {
        f"{section}.{name}.executor": arm.executor for section, named in arms.items() for name, arm in named.items()
    }
    for key, kind in asked.items():
        if kind == "graph" and study.engine.device == "cpu":
            raise ValueError(
                f"{key}: graph needs a CUDA device, and engine.device is cpu; use static or native, or another device"
            )


def _models(study: "Study") -> None:
    if "target" not in study.models:
        raise ValueError("models.target: missing; name the model whose output is to be kept")
    target = study.models["target"]
    if isinstance(target, Trained):
        raise ValueError(
            f"models.target: a {target.called} drafts for a target; name the model whose output is to be kept"
        )
    for name, source in study.models.items():
        if not isinstance(source, Derived):
            continue
        origin = study.models.get(source.from_model)
        if origin is None or isinstance(origin, Derived | Trained):
            known = [n for n, s in study.models.items() if not isinstance(s, Derived | Trained)]
            raise ValueError(
                f"models.{name}.from_model: {source.from_model!r} is not a model of its own; use one of {known}"
            )


def _contexts(study: "Study") -> None:
    def fits(key: str, context: int, new_tokens: int) -> None:
        for name in study.models:
            positions = study.positions(name)
            if context + new_tokens > positions:
                raise ValueError(
                    f"{key}: context {context} plus {new_tokens} new tokens is beyond the {positions} positions "
                    f"of models.{name}; use at most {positions - new_tokens}"
                )

    for context in study.prompts.contexts:
        fits("prompts.contexts", context, study.engine.max_new_tokens)
    fits("gates.context", study.gates.context, study.gates.new_tokens)
    fits("sweep.context", study.sweep.context, study.engine.max_new_tokens)
    for context in study.observations.contexts:
        fits("observations.contexts", context, study.observations.new_tokens)
    for context in study.mechanisms.ladder.contexts:
        fits("mechanisms.ladder.contexts", context, study.mechanisms.ladder.new_tokens)
    for context in study.mechanisms.context.contexts:
        fits("mechanisms.context.contexts", context, study.mechanisms.ladder.new_tokens)
    known = set(study.prompts.contexts)
    for key, values in {
        "gates.context": [study.gates.context],
        "sweep.context": [study.sweep.context],
        "observations.contexts": study.observations.contexts,
        "mechanisms.ladder.contexts": study.mechanisms.ladder.contexts,
    }.items():
        for value in values:
            if value not in known:
                raise ValueError(f"{key}: {value} is not in prompts.contexts {sorted(known)}; add it there")


def _families(study: "Study") -> None:
    development = set(study.prompts.development)
    for key, families in {
        "gates.families": study.gates.families,
        "sweep.families": study.sweep.families,
        "mechanisms.ladder.families": study.mechanisms.ladder.families,
    }.items():
        for family in families:
            if family in study.prompts.held_out:
                raise ValueError(f"{key}: {family!r} is held out for the confirmatory run; use one of development")
            if family not in development:
                raise ValueError(f"{key}: {family!r} is not in prompts.development {sorted(development)}")
    ladder = study.mechanisms.ladder.families
    for name in ("graphs", "peers", "context"):
        for family in getattr(study.mechanisms, name).families:
            if family not in ladder:
                raise ValueError(
                    f"mechanisms.{name}.families: {family!r} is not in mechanisms.ladder.families {ladder}"
                )


def _arms(study: "Study") -> None:
    models = set(study.models)
    for key, name in {
        "observations.drafter": study.observations.drafter,
        "mechanisms.ladder.drafter": study.mechanisms.ladder.drafter,
    }.items():
        if name not in models:
            raise ValueError(f"{key}: {name!r} is not in models {sorted(models)}")
    if "lagged" in study.mechanisms.ladder.ledgers and study.engine.executor == "hf":
        raise ValueError(
            "mechanisms.ladder.ledgers: lagged needs positions on the device, executor hf has none; remove it"
        )
    for section, arms in {"sweep.arms": study.sweep.arms, "timing.arms": study.timing.arms}.items():
        for name, arm in arms.items():
            for model in arm.models:
                if model not in models:
                    raise ValueError(f"{section}.{name}.drafter.model: {model!r} is not in models {sorted(models)}")
                source = study.models[model]
                if isinstance(source, Trained):
                    _trained(f"{section}.{name}", arm, source, study)
        for name, arm in arms.items():
            if arm.branches and (arm.executor or study.engine.executor) == "hf":
                key = "siblings" if arm.tree is None else "tree"
                raise ValueError(
                    f"{section}.{name}.{key}: executor hf cannot verify branches; use static, packed or native"
                )
            baselines = [
                other
                for other, candidate in arms.items()
                if not candidate.speculative and candidate.shared(study.engine) == arm.shared(study.engine)
            ]
            if not baselines:
                raise ValueError(
                    f"{section}.{name}: no target-only arm with the same executor to compare with; add one"
                )
    primary = study.timing.arms.get(study.analysis.primary)
    if primary is None or not primary.speculative:
        drafting = sorted(name for name, arm in study.timing.arms.items() if arm.speculative)
        raise ValueError(
            f"analysis.primary: {study.analysis.primary!r} is not a drafting arm of timing.arms; use one of {drafting}"
        )


def _trained(key: str, arm: Arm, source: Trained, study: "Study") -> None:
    """A trained drafter borrows weights, a feature head also states, that not every part has to lend."""
    reads_states = isinstance(source, Head)
    wrong = {
        "executor": (arm.executor or study.engine.executor) not in ("static", "packed", "native"),
        "ledger": arm.ledger == "lagged",
        "tree": reads_states and arm.tree is not None and arm.tree.depth > 2,
    }
    for part, bad in wrong.items():
        if bad:
            trees = ", in chains or in trees of at most two levels" if reads_states else ""
            raise ValueError(
                f"{key}.{part}: a {source.called} drafts on the executor static, packed or native, with the ledger "
                f"per_round or per_token{trees}; change {part} or the drafter"
            )

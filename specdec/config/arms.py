"""An arm: one configuration of the one decoding loop, as parts (see ``specdec.decode.parts``).

Two arms that are compared may differ in the speculative part alone; ``Arm.shared`` is the rest.
"""

from typing import Any, Literal

from pydantic import model_validator

from specdec.config.base import ExecutorKind, Section
from specdec.config.control import (
    NEEDS_PROBABILITIES,
    Acceptance,
    AutoOff,
    Controller,
    Forced,
    Greedy,
    Heuristic,
    Relaxed,
)
from specdec.config.drafting import BRANCHING, WITH_PROBABILITIES, Drafter, HybridDrafter
from specdec.config.tree import MOST_NODES, Siblings, Tree


class Arm(Section):
    """Parts of one configuration. ``executor`` null means the study's ``engine.executor``.

    ``tree`` is how a draft branches, the same in every round; ``siblings`` lets each round decide; both null: a chain.
    """

    drafter: Drafter
    tree: Tree | None = None
    siblings: Siblings | None = None
    controller: Controller | None = None
    verifier: Literal["anchored", "saved_next"] = "anchored"
    acceptance: Acceptance = Greedy()
    ledger: Literal["per_round", "per_token", "lagged"] = "per_round"
    catch_up: Literal["lazy", "eager", "fixed2"] = "lazy"
    executor: ExecutorKind | None = None

    @model_validator(mode="after")
    def _check(self) -> "Arm":
        if self.drafter.kind == "none" and self.controller is not None:
            raise ValueError("an arm with drafter kind none drafts nothing: remove its controller")
        if self.drafter.kind != "none" and self.controller is None:
            raise ValueError(f"an arm with drafter kind {self.drafter.kind} needs a controller (kind fixed, k: 4)")
        inner = self.controller.inner if isinstance(self.controller, AutoOff) else self.controller
        if inner is not None and inner.kind in NEEDS_PROBABILITIES and self.drafter.kind not in WITH_PROBABILITIES:
            raise ValueError(
                f"controller kind {inner.kind} needs draft probabilities, drafter kind {self.drafter.kind} has none; "
                f"use kind fixed"
            )
        if self.ledger == "lagged":
            self._check_lagged()
        if self.branches:
            self._check_branches()
        if self.tree is not None:
            self._check_tree(self.tree)
        return self

    def _check_branches(self) -> None:
        """Each part must be one that can follow branches."""
        wrong = {
            f"drafter of kind {self.drafter.kind}": self.drafter.kind not in BRANCHING,
            f"verifier {self.verifier}": self.verifier != "anchored",
            f"acceptance of kind {self.acceptance.kind}": not isinstance(self.acceptance, Greedy),
            f"ledger {self.ledger}": self.ledger == "lagged",
            f"catch_up {self.catch_up}": self.catch_up != "lazy",
            f"executor {self.executor}": self.executor == "hf",
        }
        what = "a tree does" if self.siblings is None else "siblings do"
        for part, bad in wrong.items():
            if bad:
                raise ValueError(
                    f"{what} not go with {part}: a draft that branches takes a drafter of kind {', '.join(BRANCHING)}, "
                    f"the anchored verifier, greedy acceptance, ledger per_round or per_token, catch_up lazy and any "
                    f"executor but hf"
                )

    def _check_tree(self, tree: Tree) -> None:
        """A tree has the length that the controller asks for."""
        inner = self.controller.inner if isinstance(self.controller, AutoOff) else self.controller
        wrong = {
            "siblings": self.siblings is not None,
            f"controller of kind {inner.kind if inner else None}": inner is None or inner.kind != "fixed",
            "weighing": isinstance(self.drafter, HybridDrafter) and self.drafter.weighing is not None,
        }
        for part, bad in wrong.items():
            if bad:
                raise ValueError(
                    f"a tree does not go with {part}: its shape is fixed, so it takes a controller of kind fixed, no "
                    f"siblings and no weighing; use siblings instead"
                )
        key, k = ("model_k", self.drafter.model_k) if isinstance(self.drafter, HybridDrafter) else ("k", self.k_max)
        if k != tree.depth:
            raise ValueError(f"tree.levels: {tree.depth} levels, but {key} is {k}; make them equal")

    def _check_lagged(self) -> None:
        """The host learns too late to copy text, to watch a chain or to leave out a token."""
        wrong = {
            "drafter": self.drafter.kind not in ("none", "model", "layer_skip"),
            "controller": self.controller is not None and self.controller.kind != "fixed",
            "verifier": self.verifier != "anchored",
            "acceptance.bonus": not self.acceptance.bonus,
        }
        for key, bad in wrong.items():
            if bad:
                raise ValueError(
                    f"ledger lagged does not go with this {key}: it takes a drafter of kind model or layer_skip, "
                    f"a controller of kind fixed, the anchored verifier and a bonus token"
                )

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models that the drafter needs beside the target."""
        name = getattr(self.drafter, "model", None)
        return () if name is None else (name,)

    @property
    def k_max(self) -> int:
        """Longest draft that this arm can ask for (0: none)."""
        if self.controller is None:
            return 0
        inner = self.controller.inner if isinstance(self.controller, AutoOff) else self.controller
        return inner.k_max if isinstance(inner, Heuristic) else inner.k

    @property
    def most_rows(self) -> int:
        """Rows of the longest block that the target verifies for this arm."""
        return 1 + max(self.k_max, self.tree.n_nodes if self.tree else 0, self._most_with_siblings)

    @property
    def _most_with_siblings(self) -> int:
        depth = self.drafter.model_k if isinstance(self.drafter, HybridDrafter) else self.k_max
        return 0 if self.siblings is None else min(depth * self.siblings.most, MOST_NODES)

    @property
    def branches(self) -> bool:
        """Whether drafts may hold several continuations of one token."""
        return self.tree is not None or self.siblings is not None

    @property
    def lossless(self) -> bool:
        """Whether every emitted token is the target's own choice."""
        return isinstance(self.acceptance, Greedy) or (
            isinstance(self.acceptance, Relaxed) and self.acceptance.delta == 0
        )

    @property
    def text_valid(self) -> bool:
        """Whether the emitted text means anything."""
        return not isinstance(self.acceptance, Forced)

    @property
    def speculative(self) -> bool:
        """Whether this arm ever drafts."""
        return self.drafter.kind != "none"

    def shared(self, engine: Any) -> dict[str, Any]:
        """The keys that both arms of a comparison must have equal (everything that is not speculation)."""
        return {**engine.model_dump(), "executor": self.executor or engine.executor}

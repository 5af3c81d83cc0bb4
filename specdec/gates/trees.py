"""Do drafts that branch change a token? Every path through a tree is brought about, and every row compared.

A tree has faults that a chain cannot have: a node that sees its sibling, a node that stands where its slot is
and not where its depth is, an accepted path left scattered in the cache. Most of them leave the likeliest branch
right, so scripts put the true token at every rank.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from specdec.config.tree import Tree, tree_from
from specdec.decode.assemble import SLACK, TARGET_ONLY
from specdec.decode.committed import Committed
from specdec.decode.controllers import FixedK
from specdec.decode.drafters.tree import BranchingModel, TreeDrafter
from specdec.decode.engine import Engine
from specdec.decode.parts import ChainRule, Draft, Tally
from specdec.decode.tree_layout import tree_layout
from specdec.decode.trees import TreeAcceptance, TreeVerifier
from specdec.gates.exactness import differences, verdict
from specdec.gates.flips import agreement
from specdec.gates.result import Check, passed_if
from specdec.gates.scripted import CountsRounds
from specdec.gates.subject import Generation, Subject, generate, reference
from specdec.models.branches import Branches, TreeExecutor
from specdec.models.door import Door
from specdec.models.executor import Executor, prefill

SHAPES = tuple(map(tree_from, ("8", "4/2+1+0+1", "3/2+1/1+0+1")))
"""Siblings alone, two levels, three; some nodes without children before others with them."""

RANKS = ((0, 0, 0), (3, 0, 0), (1, 0, 0), (7, 0, 0), (0, 1, 0), (2, 0, 0), (9, 0, 0), (0, 0, 1), (1, 0, 5))
"""Round by round: the rank of the true token at each depth; one that the tree does not reach is a rejection."""


@dataclass
class ScriptedTree(CountsRounds):
    """Drafts the known text along the path of this round's ranks; every other node is wrong. Runs no model."""

    text: Sequence[int]
    tree: Tree
    n_vocabulary: int
    door: Door
    tally: Tally = field(default_factory=Tally)

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """The tree, no deeper than the text reaches."""
        ahead = self.text[committed.n_emitted : committed.n_emitted + k]
        tree = self.tree.upto(len(ahead))
        ranks = RANKS[self._round % len(RANKS)]
        self._round += 1
        if tree is None:
            return Draft(self.door.upload([]), None, "none")
        tokens = []
        right = path_of(tree, ranks)
        for depth, (counts, true) in enumerate(zip(tree.levels, ahead, strict=True), 1):
            node = right[depth - 1] if depth <= len(right) else None
            level = [(true + 1 + rank) % self.n_vocabulary for count in counts for rank in range(count)]
            tokens += [true if index == node else token for index, token in enumerate(level)]
        return Draft(self.door.upload(tokens), None, "scripted", tree)


def path_of(tree: Tree, ranks: Sequence[int]) -> list[int]:
    """Index at each depth of the nodes with these ranks, one behind the other, as far as the tree has them."""
    path: list[int] = []
    for depth, rank in zip(range(1, tree.depth + 1), ranks, strict=False):
        node = tree.child(depth, path[-1] if path else 0, rank)
        if node is None:
            break
        path.append(node)
    return path


def scripted_trees(subject: Subject) -> Check:
    """Case E3 with trees: tokens equal, and every round accepts exactly the path that the script makes right."""
    executor = branching(subject.target)
    if executor is None:
        return _cannot("scripted trees", subject)
    faults: list[dict[str, Any]] = []
    n_runs = n_rounds = 0
    for turn, tree in enumerate(SHAPES):
        prompt = subject.prompts[turn % len(subject.prompts)]
        text = reference(subject, prompt)
        drafter = ScriptedTree(text, tree, subject.target.n_vocabulary, subject.target.door)
        run = generate(_engine(subject, executor, tree, drafter), prompt)
        n_runs, n_rounds = n_runs + 1, n_rounds + len(run.rounds)
        label = f"{prompt.name}, tree {tree.name}"
        faults += differences(label, text, run) + _unforeseen(label, tree, run)
    detail = f"{n_runs} generations, {n_rounds} rounds: tokens equal target-only, paths accepted as scripted"
    return verdict("scripted trees", faults, detail, n_runs)


def tree_self_draft(subject: Subject) -> Check:
    """Case K3 with a tree: drafter = target accepts a whole path in every round, though never the first branch."""
    name = "tree drafter = target"
    subject = subject.without_eos()
    executor, twin = branching(subject.target), branching(subject.models[subject.twin])
    if executor is None or twin is None:
        return _cannot(name, subject)
    tree = tree_from("3/2+2+2")
    prompt = subject.prompts[-1]
    model = LeastLikelyFirst(twin, subject.new_tokens + SLACK, subject.chunk)
    drafter = TreeDrafter(model, tree, subject.target.n_positions, subject.target.device)
    run = generate(_engine(subject, executor, tree, drafter), prompt)
    drafting = [finished for finished in run.rounds if finished.n_levels]
    refused = [finished.index for finished in drafting if finished.n_accepted != finished.n_levels]
    told = f"{len(drafting) - len(refused)} of {len(drafting)} rounds accept a whole path"
    evidence = {"refused": refused, "n_rounds": len(drafting)}
    return passed_if(not refused and bool(drafting), name, told, evidence)


class LeastLikelyFirst(BranchingModel):
    """Offers the same continuations in the opposite order, so that the accepted branch is never the first."""

    def sprout(self, committed: Committed, width: int) -> torch.Tensor:
        """Likeliest last."""
        return super().sprout(committed, width).flip(1)

    def grow(self, nodes: torch.Tensor, position: int, branches: Branches, width: int) -> torch.Tensor:
        """Likeliest last."""
        return super().grow(nodes, position, branches, width).flip(1)


def tree_rows(subject: Subject, tolerance: float) -> Check:
    """Logits of every node of a block that branches are those of its path run as a chain."""
    name = "rows of a tree"
    executor = branching(subject.target)
    if executor is None:
        return _cannot(name, subject)
    worst = 0.0
    for tree in SHAPES:
        ids = torch.tensor(subject.prompts[0].ids, device=executor.device)
        text, block = ids[:-1], torch.cat([ids[-1:], _some_nodes(executor, tree)])
        cache = executor.open(len(ids) + tree.n_nodes)
        prefill(executor, text, cache, subject.chunk)
        rows = executor.forward_tree(block, len(text), cache, tree_layout(tree, executor.device).block)
        for node in range(1, tree.n_nodes + 1):
            path = _rows_to(tree, node)
            cache.rollback(len(text))
            alone = executor.forward(block[path], len(text), cache)
            worst = max(worst, agreement(alone, rows[path], executor.dtype).largest)
    told = f"largest difference {worst:.3g} logits between {len(SHAPES)} trees and their paths as chains"
    return passed_if(worst <= tolerance, name, told, {"largest": worst, "tolerance": tolerance})


def branching(executor: Executor) -> TreeExecutor | None:
    """The executor if it can run blocks that branch."""
    return executor if hasattr(executor, "forward_tree") else None  # type: ignore[return-value]


def _engine(subject: Subject, executor: TreeExecutor, tree: Tree, drafter: Any) -> Engine:
    def change(engine: Engine) -> Engine:
        return replace(
            engine,
            drafter=drafter,
            verifier=TreeVerifier(executor, subject.new_tokens + SLACK, subject.chunk),
            acceptance=TreeAcceptance(bonus=True),
            controller=FixedK(tree.depth),
        )

    return subject.engine(TARGET_ONLY, change)


def _unforeseen(label: str, tree: Tree, run: Generation) -> list[dict[str, Any]]:
    for finished in run.rounds:
        cut = tree.upto(finished.n_levels)
        expected = len(path_of(cut, RANKS[finished.index % len(RANKS)])) if cut else 0
        if finished.n_accepted != min(expected, len(finished.emitted)):
            return [{"where": label, "round": finished.index, "expected": expected, "accepted": finished.n_accepted}]
    return []


def _some_nodes(executor: Executor, tree: Tree) -> torch.Tensor:
    generator = torch.Generator().manual_seed(tree.n_nodes)
    return torch.randperm(executor.n_vocabulary, generator=generator)[: tree.n_nodes].to(executor.device)


def _rows_to(tree: Tree, node: int) -> list[int]:
    path = [node]
    while path[0]:
        path.insert(0, tree.parents[path[0] - 1])
    return path


def _cannot(name: str, subject: Subject) -> Check:
    return Check(
        name, "skipped", f"executor {subject.target.kind} runs no blocks that branch, so no arm has a tree", {}
    )

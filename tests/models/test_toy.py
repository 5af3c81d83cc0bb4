"""The toy sees every cache fault, agrees as often as it is told to, and is the same in every process."""

import subprocess
import sys

import pytest
import torch

from specdec.errors import ModelError
from specdec.models.toy import ToyCache, ToyExecutor, ToyText


def tokens(n: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, 64, (n,), generator=torch.Generator().manual_seed(seed))


def generate(executor: ToyExecutor, prompt: torch.Tensor, n: int) -> list[int]:
    cache = executor.open(len(prompt) + n)
    out = [int(executor.forward(prompt, 0, cache, last_only=True).argmax())]
    while len(out) < n:
        out.append(int(executor.forward(torch.tensor(out[-1:]), cache.length, cache).argmax()))
    return out


def test_a_block_equals_single_steps() -> None:
    """Exact: the hash is integer arithmetic."""
    toy, ids = ToyExecutor(ToyText(copying=0.3)), tokens(25)
    block = toy.forward(ids, 0, toy.open(32))
    cache = toy.open(32)
    steps = torch.cat([toy.forward(ids[i : i + 1], i, cache) for i in range(25)])
    assert torch.equal(block, steps)
    assert torch.equal(toy.forward(ids, 0, toy.open(32), last_only=True), block[-1:])


def test_rollback_leaves_no_trace() -> None:
    toy, cache = ToyExecutor(), ToyExecutor().open(64)
    toy.forward(tokens(30, seed=1), 0, cache)
    cache.rollback(0)
    expected = toy.forward(tokens(20), 0, toy.open(64))
    assert torch.equal(toy.forward(tokens(20), 0, cache), expected)
    for wrong in (-1, 21):
        with pytest.raises(ValueError, match="holds 20"):
            cache.rollback(wrong)


@pytest.mark.parametrize("fault", ["stale", "missing", "misplaced", "swapped"])
def test_every_cache_fault_changes_the_argmax(fault: str) -> None:
    """Over 200 prefixes; of 64 tokens, one in 64 argmaxes may agree by chance (a tenth allowed)."""
    toy, n_same = ToyExecutor(), 0
    for seed in range(200):
        ids = tokens(12, seed)
        good, bad = toy.open(32), toy.open(32)
        toy.forward(ids, 0, good)
        toy.forward(ids, 0, bad)
        damage(bad, fault, seed % 10)
        step = tokens(1, seed + 1)
        toy_at = {"stale": 13, "missing": 11}.get(fault, 12)
        n_same += int(toy.forward(step, 12, good).argmax() == toy.forward(step, toy_at, bad).argmax())
    assert n_same < 20


def damage(cache: ToyCache, fault: str, slot: int) -> None:
    if fault == "stale":
        cache.write(torch.tensor([5]), 12)
    elif fault == "missing":
        cache.rollback(11)
    elif fault == "misplaced":
        cache.positions[slot] += 1
    else:
        cache.tokens[[slot, slot + 1]] = cache.tokens[[slot + 1, slot]] + torch.tensor([0, 1])


@pytest.mark.parametrize("agreement", [0.3, 0.7, 0.95, 1.0])
def test_a_second_toy_agrees_as_often_as_told(agreement: float) -> None:
    """On 2000 prefixes the binomial standard deviation is at most 0.0112: four of them are allowed."""
    target = ToyExecutor(ToyText(seed=3), n_positions=2048)
    drafter = ToyExecutor(ToyText(seed=3, agreement=agreement, disturbance=1), n_positions=2048)
    ids = tokens(2000)
    same = target.forward(ids, 0, target.open(2048)).argmax(-1) == drafter.forward(ids, 0, drafter.open(2048)).argmax(
        -1
    )
    assert same.float().mean().item() == pytest.approx(agreement, abs=0.045)
    if agreement == 1.0:
        assert same.all()


def test_a_drafter_with_a_stale_cache_stops_agreeing() -> None:
    """What makes acceptance the detector of draft-cache faults."""
    toy, ids = ToyExecutor(n_positions=1024), tokens(500)
    stale = toy.open(1024)
    stale.write(torch.tensor([1]), 0)
    fresh_choices = toy.forward(ids, 0, toy.open(1024)).argmax(-1)
    stale_choices = toy.forward(ids, 1, stale).argmax(-1)
    assert (fresh_choices == stale_choices).float().mean() < 0.1


def test_copying_makes_text_that_repeats() -> None:
    prompt = tokens(10)
    for copying, low, high in ((0.0, 0.0, 0.1), (0.8, 0.6, 0.95)):
        text = [*prompt.tolist(), *generate(ToyExecutor(ToyText(copying=copying)), prompt, 300)]
        copied = sum(text[i] == text[i - 7] for i in range(10, len(text))) / 300
        assert low <= copied <= high


def test_seeds_are_models() -> None:
    first, second = (generate(ToyExecutor(ToyText(seed=seed)), tokens(5), 50) for seed in (0, 1))
    assert first != second
    assert len(set(first)) > 10  # neither a constant nor a short loop


def test_confidence_varies() -> None:
    toy = ToyExecutor(n_positions=1024)
    top = torch.softmax(toy.forward(tokens(500), 0, toy.open(1024)), -1).amax(-1)
    assert top.min() < 0.1
    assert top.max() > 0.9


def test_another_process_writes_the_same_text() -> None:
    code = (
        "import torch; from specdec.models.toy import ToyExecutor\n"
        "toy = ToyExecutor(); print(toy.forward(torch.arange(20), 0, toy.open(32)).argmax(-1).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    toy = ToyExecutor()
    assert done.stdout.strip() == str(toy.forward(torch.arange(20), 0, toy.open(32)).argmax(-1).tolist())


def test_limits() -> None:
    toy = ToyExecutor(n_positions=16)
    cache = toy.open(100)
    toy.forward(tokens(16), 0, cache)
    with pytest.raises(ModelError, match="17 tokens do not fit a cache of 16"):
        toy.forward(tokens(1), 16, cache)
    with pytest.raises(IndexError, match=r"0 \.\. 63"):
        toy.forward(torch.tensor([64]), 0, toy.open(4))
    with pytest.raises(ValueError, match="does not follow"):
        toy.forward(tokens(1), 3, toy.open(4))

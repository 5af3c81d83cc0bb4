"""Fitting: what is counted, that it learns, that an interrupted training ends like an uninterrupted one."""

import json

import pytest
import torch
import yaml
from safetensors.torch import load_file

from specdec.cli import main
from specdec.config.recipe import Stage, load_recipe
from specdec.errors import SpecdecError
from specdec.models.distilled import load_distilled
from specdec.models.draft_vocabulary import rows_as_read
from specdec.models.feature_head import HeadShape, load_head
from specdec.models.head_unroll import unroll
from specdec.models.int8_rows import dense, dense_weights
from specdec.models.weights import load_architecture, load_weights
from specdec.training.acceptance import Acceptance, pooled, standard_errors
from specdec.training.examples import load, schedule
from specdec.training.fit import fit, loss_of, rate
from specdec.training.forms import FORMS
from specdec.training.judge import judge
from specdec.training.progress import Progress
from specdec.training.run import train_drafter, write_data
from specdec.training.vocabulary import most_frequent, within

CPU = torch.device("cpu")


def stage(**changes):
    return {"first_shard": 0, "n_shards": 2, "visits": 400, "learning_rate": 0.01} | changes


def recipe_values(**training):
    return {
        "data": {
            "n_shards": 2,
            "n_unseen_shards": 1,
            "n_development_shards": 0,
            "texts_per_shard": 4,
            "prompt_tokens": [200],
            "new_tokens": 20,
            "sampled_share": 0.5,
            "temperature": 0.8,
            "top_k": 20,
            "state_layers": [0],
            "unseen_families": ["comparisons"],
            "dtype": "float32",
            "seed": 3,
        },
        "drafter": {"kind": "feature_head", "fused_layers": [], "n_vocabulary": 200},
        "training": {
            "depths": 3,
            "depth_decay": 0.8,
            "texts_per_step": 2,
            "stages": [stage()],
            "warmup_steps": 2,
            "weight_decay": 0.0,
            "evaluate_every": 3,
            "patience": 50,
            "dtype": "float32",
            "seed": 1,
        }
        | training,
    }


def distilled_values(layers=(0, 2), **training):
    values = recipe_values(depths=1, **training)
    values["drafter"] = {"kind": "distilled", "layers": list(layers), "n_vocabulary": 200}
    return values


@pytest.fixture
def write_recipe(tmp_path):
    def write(values):
        path = tmp_path / "tiny" / "recipe.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(values))
        return path

    return write


@pytest.fixture(scope="module")
def target(tiny_model):
    return tiny_model(layers=3)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return tmp_path_factory.mktemp("work")


def quiet(_):
    pass


def test_acceptance_counts_chains_from_every_position():
    """Six rows; chains begin at each; right[d] says whether depth d's draft was right there."""
    right = [torch.tensor([[1, 1, 0, 1, 1, 1]]).bool(), torch.tensor([[0, 1, 0, 0, 1, 1]]).bool()]
    one = Acceptance()
    one.count(right, torch.tensor([[1, 1, 1, 1, 1, 0]]).bool())
    assert one.reached == [5, 3]  # five real rows; of the four chains that go on, that of row 4 leaves the text
    assert one.accepted == [4, 2]  # the second drafts of rows 0 and 3 were right, at rows 1 and 4
    assert one.rates == [4 / 5, 2 / 3]
    assert one.tokens_per_round == [1.8, pytest.approx(1.8 + 0.8 * 2 / 3)]


def test_the_standard_error_is_that_of_texts_not_of_positions():
    """Twice the same texts, each twice as long: as many positions, but no more texts, so no smaller error."""
    texts = [Acceptance([10], [accepted]) for accepted in (2, 4, 6, 8)]
    longer = [Acceptance([20], [2 * text.accepted[0]]) for text in texts]
    more = texts * 4
    assert pooled(texts).rates == [0.5]
    # the spread of the four texts' own rates over the square root of their number
    assert standard_errors(texts) == [pytest.approx(0.2582 / 4**0.5, abs=1e-4)]
    assert standard_errors(longer) == pytest.approx(standard_errors(texts))
    assert standard_errors(more)[0] < 0.55 * standard_errors(texts)[0]


def test_the_vocabulary_is_what_answers_say_most(target, work, write_recipe):
    recipe = load_recipe(write_recipe(recipe_values()))
    seen = [shard for shard in write_data(recipe, target, work, CPU, quiet) if shard.kind == "seen"]
    counts = torch.zeros(320, dtype=torch.int64)
    for shard in seen:
        examples = load((shard, 0, 4), (2,), CPU)
        first = examples.tokens[:, examples.n_context + 1 : examples.n_context + 2]
        answered = torch.cat((first.flatten(), examples.wanted[examples.counts]))
        counts += torch.bincount(answered, minlength=320)
    vocabulary = most_frequent(seen, 12, 320)
    assert sorted(counts[vocabulary].tolist()) == sorted(counts.sort(descending=True).values[:12].tolist())
    assert vocabulary.tolist() == sorted(set(vocabulary.tolist()))
    assert within(torch.tensor([int(vocabulary[3]), 319]), vocabulary[:6]).tolist() == [3, -1]


def test_context_rows_change_no_state(target, random_head):
    """A prompt's rows are only attended to: leaving their states out leaves the others as they are."""
    shape = HeadShape(load_architecture(target), (0,))
    weights = dense_weights(load_head(random_head(target, (0,)), target).weights)
    generator = torch.Generator().manual_seed(0)
    embedded = torch.randn(2, 14, 64, generator=generator)
    features = torch.randn(2, 14, 2, 64, generator=generator)
    whole = list(unroll(weights, shape, embedded, features, 3))
    after = list(unroll(weights, shape, embedded, features, 3, n_context=6))
    for depth, (full, cut) in enumerate(zip(whole, after, strict=True)):
        # rows whose chain begins at or after row 6
        torch.testing.assert_close(cut[:, depth:], full[:, 6 + depth :], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("values", "share"), [(recipe_values, 0.9), (distilled_values, 0.95)])
def test_the_loss_falls_on_the_texts_it_is_fitted_to(target, work, write_recipe, tmp_path, values, share):
    recipe = load_recipe(write_recipe(values(stages=[stage(visits=1200)], evaluate_every=100)))
    shards = write_data(recipe, target, work, CPU, quiet)
    seen = [shard for shard in shards if shard.kind == "seen"]
    form = FORMS[recipe.drafter.kind](recipe.drafter, target, CPU, 1)
    vocabulary = most_frequent(seen, 200, 320)
    examples = load(next(schedule(seen, 2, 1)), form.layers, CPU)
    before = float(loss_of(form, examples, recipe.training, vocabulary).detach())
    training = recipe.training
    fit(form, training, training.stages[0], Progress(), vocabulary, seen, seen, tmp_path, quiet, CPU)
    # most of what is left is the entropy of the target itself, which no drafter can take away; the target's own
    # layers begin nearer to it
    assert float(loss_of(form, examples, recipe.training, vocabulary)) < share * before


@pytest.mark.parametrize("values", [recipe_values, distilled_values])
def test_an_interrupted_training_ends_like_an_uninterrupted_one(target, work, write_recipe, tmp_path, values):
    recipe = load_recipe(write_recipe(values()))
    whole = train_drafter(recipe, target, work, tmp_path / "whole", CPU, quiet)

    class Interrupted(Exception):
        pass

    def stop_at_second_evaluation(line, seen=[]):  # noqa: B006 - counts calls
        seen.append(line)
        if len([line for line in seen if line.startswith("step")]) == 2:
            raise Interrupted

    other = tmp_path / "other-work"
    with pytest.raises(Interrupted):
        train_drafter(recipe, target, other, tmp_path / "resumed", CPU, stop_at_second_evaluation)
    resumed = train_drafter(recipe, target, other, tmp_path / "resumed", CPU, quiet)
    assert resumed["training"]["curve"] == whole["training"]["curve"]
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "resumed"))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_rate_warms_up_and_falls():
    first = Stage(**stage())
    rates = [rate(first, 2, step, visits) for step, visits in ((0, 0), (1, 20), (10, 200), (20, 400))]
    assert rates[0] < rates[1] > rates[2] > rates[3] > 0


def test_a_stage_that_is_added_goes_on_from_what_was_learned(target, tmp_path, write_recipe):
    """More data do not cost the training again: the first stage is found finished, the second reads the new shard."""
    short, long = recipe_values(), recipe_values(stages=[stage(), stage(first_shard=2, n_shards=1, visits=100)])
    long["data"]["n_shards"] = 3
    once = train_drafter(load_recipe(write_recipe(short)), target, tmp_path, tmp_path / "head", CPU, quiet)
    lines = []
    again = train_drafter(load_recipe(write_recipe(long)), target, tmp_path, tmp_path / "head", CPU, lines.append)
    n_first = len(once["training"]["curve"])
    assert again["training"]["curve"][:n_first] == once["training"]["curve"]
    new = again["training"]["curve"][n_first:]
    assert new
    assert len([line for line in lines if line.startswith("step")]) == len(new)
    assert again["training"]["visits"] >= once["training"]["visits"] + 100
    assert again["data"]["n_texts"] == 3 * 4


def test_a_stage_that_finds_nothing_better_leaves_what_was_there(target, work, tmp_path, write_recipe):
    """Planted fault: a second stage at a rate that destroys the head."""
    made = {}
    for name, stages in {"one": [stage()], "two": [stage(), stage(learning_rate=50.0)]}.items():
        recipe = load_recipe(write_recipe(recipe_values(stages=stages)))
        card = train_drafter(recipe, target, work, tmp_path / name, CPU, quiet)
        made[name] = load_file(tmp_path / name / "model.safetensors")
    values = [row["tokens_per_round"] for row in card["training"]["curve"]]
    assert values[-1] < max(values)
    assert all(torch.equal(made["two"][name], weight) for name, weight in made["one"].items())


def test_a_stage_that_reads_shards_that_are_not_made_is_one_sentence(write_recipe):
    with pytest.raises(SpecdecError, match=r"training\.stages\.0: reads 3 shards, but data\.n_shards is 2"):
        load_recipe(write_recipe(recipe_values(stages=[stage(first_shard=1)])))


LOAD = {"feature_head": load_head, "distilled": load_distilled}


@pytest.mark.parametrize("values", [recipe_values, distilled_values])
def test_what_is_judged_is_what_the_file_holds(target, work, write_recipe, tmp_path, values):
    """The card's acceptance is that of the stored weights over the head rows that a drafter of int8 reads."""
    recipe = load_recipe(write_recipe(values()))
    card = train_drafter(recipe, target, work, tmp_path / "drafter", CPU, quiet)
    loaded = LOAD[recipe.drafter.kind](tmp_path / "drafter", target)
    form = FORMS[recipe.drafter.kind](recipe.drafter, target, CPU, 1)
    form.weights = dense_weights(loaded.weights)
    matrix = load_weights(target, torch.float32, CPU)["lm_head.weight"]
    # planted fault: head rows as the target has them
    assert not torch.equal(
        form.frozen.rows(loaded.vocabulary), dense(rows_as_read(matrix, loaded.weights)(loaded.vocabulary))
    )
    form.round()
    assert torch.equal(
        form.frozen.rows(loaded.vocabulary), dense(rows_as_read(matrix, loaded.weights)(loaded.vocabulary))
    )
    assert all(torch.equal(form.weights[name], w) for name, w in dense_weights(loaded.weights).items())
    unseen = [shard for shard in write_data(recipe, target, work, CPU, quiet) if shard.kind == "unseen"]
    assert judge(form, loaded.vocabulary, unseen, 2, CPU).summary() == card["acceptance"]["unseen"]


@pytest.mark.parametrize("fused_layers", [[], [0]])
def test_the_verb_trains_a_tiny_head_end_to_end(target, write_recipe, tmp_path, capsys, fused_layers):
    values = recipe_values()
    values["drafter"]["fused_layers"] = fused_layers
    recipe = write_recipe(values)
    arguments = ["train-drafter", str(recipe), "--smoke", "--target", str(target), "--device", "cpu"]
    assert main([*arguments, "--work", str(tmp_path / "work"), "--out", str(tmp_path / "head")]) == 0
    assert "acceptance by depth" in capsys.readouterr().err
    head = load_head(tmp_path / "head", target)
    assert list(head.shape.fused_layers) == fused_layers
    assert head.card["recipe"]["data"]["n_shards"] == 2
    assert len(head.card["acceptance"]["unseen"]["acceptance_by_depth"]) == 5
    assert head.card["license"] == "Apache-2.0"


def test_a_head_for_other_weights_is_refused(target, tiny_model, write_recipe, tmp_path):
    """Planted fault: one digit of the hash in the card."""
    recipe = load_recipe(write_recipe(recipe_values()))
    train_drafter(recipe, target, tmp_path / "work", tmp_path / "head", CPU, quiet)
    card = json.loads((tmp_path / "head" / "card.json").read_text())
    digit = "0" if card["target_sha256"][0] != "0" else "1"
    card["target_sha256"] = digit + card["target_sha256"][1:]
    (tmp_path / "head" / "card.json").write_text(json.dumps(card))
    with pytest.raises(SpecdecError, match="trained for weights"):
        load_head(tmp_path / "head", target)


def test_all_layers_of_the_target_begin_as_the_target(target, work, write_recipe):
    """Rows and positions: what is judged before any step agrees with the texts wherever it may draft their tokens."""
    recipe = load_recipe(write_recipe(distilled_values((0, 1, 2))))
    unseen = [shard for shard in write_data(recipe, target, work, CPU, quiet) if shard.kind == "unseen"]
    form = FORMS["distilled"](recipe.drafter, target, CPU, 1)
    summary = judge(form, torch.arange(259), unseen, 2, CPU).summary()
    assert summary["coverage"] == 1.0
    # stored texts are greedy there, and both forwards are float32
    assert summary["acceptance_by_depth"] == [1.0] * 5
    # planted fault: the same layers in another order are another model
    form.weights |= {
        name: form.weights[name.replace("layers.0.", "layers.1.")] for name in form.weights if "layers.0." in name
    }
    assert judge(form, torch.arange(259), unseen, 2, CPU).summary()["acceptance_by_depth"][0] < 0.9


def test_a_distilled_model_is_the_same_at_every_depth(target, work, write_recipe):
    """Its state follows from the tokens up to a row: a chain that is accepted reads the text's own."""
    recipe = load_recipe(write_recipe(distilled_values()))
    seen = [shard for shard in write_data(recipe, target, work, CPU, quiet) if shard.kind == "seen"]
    form = FORMS["distilled"](recipe.drafter, target, CPU, 1)
    examples = load(next(schedule(seen, 2, 1)), form.layers, CPU)
    first, *deeper = form.states(examples, 4)
    assert first.shape[:2] == examples.wanted.shape
    assert all(states is first for states in deeper)
    # planted fault: a head's states differ from depth to depth
    head = FORMS["feature_head"](load_recipe(write_recipe(recipe_values())).drafter, target, CPU, 1)
    states = list(head.states(load(next(schedule(seen, 2, 1)), head.layers, CPU), 2))
    assert not torch.allclose(states[0][:, 1:], states[1][:, 1:])


def test_the_verb_trains_a_tiny_distilled_model_end_to_end(target, write_recipe, tmp_path, capsys):
    recipe = write_recipe(distilled_values())
    arguments = ["train-drafter", str(recipe), "--smoke", "--target", str(target), "--device", "cpu"]
    assert main([*arguments, "--work", str(tmp_path / "work"), "--out", str(tmp_path / "small")]) == 0
    assert "acceptance by depth" in capsys.readouterr().err
    loaded = load_distilled(tmp_path / "small", target)
    assert loaded.shape.layers == (0, 2)
    assert loaded.card["recipe"]["drafter"]["layers"] == [0, 2]
    assert len(loaded.card["acceptance"]["unseen"]["acceptance_by_depth"]) == 5


def test_draft_steps_of_a_distilled_model_are_not_unrolled(write_recipe):
    values = distilled_values()
    values["training"]["depths"] = 3
    with pytest.raises(SpecdecError, match=r"training\.depths: 3 draft steps of a distilled model are all alike"):
        load_recipe(write_recipe(values))


def test_a_layer_that_the_target_lacks_is_one_sentence(target, work, write_recipe, tmp_path):
    recipe = load_recipe(write_recipe(distilled_values((0, 3))))
    with pytest.raises(SpecdecError, match=r"drafter\.layers: .* has no layer 3; use some of 0 to 2"):
        train_drafter(recipe, target, work, tmp_path / "small", CPU, quiet)


def test_a_misspelt_key_is_one_sentence(write_recipe):
    values = recipe_values()
    values["training"]["warmup_step"] = values["training"].pop("warmup_steps")
    with pytest.raises(SpecdecError, match=r"training\.warmup_step: unknown key; did you mean 'warmup_steps'"):
        load_recipe(write_recipe(values))

"""The ladder on a tiny pair: what each swapped part must and must not change, and the faults that would show."""

import itertools
import math

import pytest
import torch
from ladder_runs import (
    CONTEXT,
    FAMILIES,
    SMOKE,
    inputs_of,
    ladder_section,
    measured_ladder,
    observed_chain,
    open_pair,
    prompt_of,
)

from specdec.analysis.audit import claim_faults
from specdec.analysis.mechanisms import attribution, oracles, phase_o, relaxed
from specdec.analysis.mechanisms.audit import mechanism_claims
from specdec.analysis.mechanisms.run import result, write_figures
from specdec.config.mechanisms import MECHANISMS
from specdec.mechanisms.ladder_session import log_likelihood
from specdec.models.executor import prefill
from specdec.records.cells import write_cell_rows
from specdec.storage import read_json, write_json


@pytest.fixture(scope="module")
def ladder():
    return ladder_section()


@pytest.fixture(scope="module")
def loaded(tiny_model, derived_model):
    return open_pair(tiny_model, derived_model)


@pytest.fixture(scope="module")
def measured(loaded, ladder):
    return measured_ladder(loaded, ladder)


@pytest.fixture
def inputs(measured, ladder):
    return inputs_of(*measured, ladder)


def pooled(result, **keys):
    """The rows of all families with these keys."""
    rows = [row for row in result.rows if row["family"] is None]
    return [row for row in rows if all(row[name] == value for name, value in keys.items())]


def one(result, **keys):
    (row,) = pooled(result, **keys)
    return row


def changed(inputs, arm, change):
    """The same inputs with ``change(row)`` applied to every row of an arm: a planted fault."""
    for row in inputs.runs:
        if row["arm"] == arm:
            change(row)
    return inputs


def test_a_cell_of_the_ladder_is_an_ordinary_cell(measured, tmp_path):
    rows, _ = measured
    write_cell_rows(tmp_path / "story.jsonl", [row for row in rows if row["family"] == "story"])


def test_every_arm_emits_the_asked_length(measured):
    """Equal work: texts that end elsewhere could not be compared by their time."""
    assert {row["n_emitted"] for row in measured[0]} == {23}


def test_every_lossless_arm_emits_target_only_text(measured):
    rows, _ = measured
    lossless = {row["arm"]: row["first_divergence"] for row in rows if row["lossless"]}
    assert set(lossless.values()) == {-1}
    assert {"study", "per_token", "lagged", "paid_replay", "recorded", "draft_free", "relaxed_0"} <= set(lossless)
    assert "forced" not in lossless


def test_one_prefill_serves_all_visits_of_an_arm(measured):
    for arm in ("study", "target_only"):
        prefills = {row["prefill_ns"] for row in measured[0] if row["arm"] == arm and row["family"] == "story"}
        assert len(prefills) == 1


def test_phase_o_counts_fewer_reads_for_the_same_rounds(inputs):
    found = phase_o.figures(inputs)
    per_token, per_round, lagged = (one(found, ledger=name, arm=arm) for name, arm in phase_o.ARM_OF.items())
    assert per_token["n_blocking_reads_per_round"] > 3
    assert per_round["n_blocking_reads_per_round"] == 1
    assert lagged["n_blocking_reads_per_round"] == 0
    assert per_token["n_rounds"] == per_round["n_rounds"] == lagged["n_rounds"]
    assert {row["n_uploads_per_round"] for row in (per_token, per_round, lagged)} == {0}


def test_latency_change_is_against_the_ledger_that_reads_every_token(inputs):
    def twice_as_slow(row):
        row["decode_ns"] = 2_000_000

    def quick(row):
        row["decode_ns"] = 1_000_000

    found = phase_o.figures(changed(changed(inputs, "per_token", twice_as_slow), "study", quick))
    row = one(found, arm="study")
    assert row["latency_change"] == pytest.approx(-0.5)
    assert found.claims[f"mechanisms.phase_o.{CONTEXT}.per_round.latency_change"]["value"] == row["latency_change"]
    assert one(found, arm="per_token")["latency_change"] == pytest.approx(0.0)


def test_delta_zero_is_the_strict_rule_byte_for_byte(inputs):
    row = one(relaxed.figures(inputs), delta=0.0)
    assert row["equals_strict"]
    assert (row["n_differing"], row["first_divergence"]) == (0, -1)
    assert row["log_likelihood_change_per_token"] == 0


def test_a_delta_zero_that_lets_one_token_pass_is_noticed(inputs):
    def slip(row):
        row["tokens"][5] += 1

    assert not one(relaxed.figures(changed(inputs, "relaxed_0", slip)), delta=0.0)["equals_strict"]


def test_a_wider_delta_accepts_more_and_pays_in_fidelity(inputs):
    found = relaxed.figures(inputs)
    strict, widest = one(found, delta=0.0), one(found, delta=4.0)
    assert widest["acceptance_rate"] > strict["acceptance_rate"]
    assert widest["n_differing"] > 0
    assert widest["log_likelihood_change_per_token"] < 0
    assert (strict["lossless"], widest["lossless"]) == (True, False)


@pytest.mark.parametrize(("arm", "emitted"), [("forced", 4), ("forced_no_bonus", 3), ("paid_replay", 4)])
def test_oracles_emit_k_or_k_plus_one_a_round(inputs, arm, emitted):
    row = one(oracles.all_accept(inputs), arm=arm)
    assert row["emitted_per_round"] == [emitted]
    assert row["emitted_as_expected"] is True
    assert row["n_draft_forwards"] > 0
    assert row["text_valid"] == (arm == "paid_replay")


def test_a_round_that_emits_another_number_is_noticed(inputs):
    def short(row):
        row["rounds"][0] = [3, 3, 2, 3]

    row = one(oracles.all_accept(changed(inputs, "forced", short)), arm="forced")
    assert row["emitted_as_expected"] is False


def test_the_draft_free_oracle_drafts_nothing_and_keeps_the_text(inputs):
    row = one(oracles.draft_free(inputs))
    assert row["n_draft_forwards"] == 0
    assert row["identical"]
    assert row["acceptance_rate"] == 1.0
    for family in (row for row in oracles.draft_free(inputs).rows if row["family"]):
        assert family["tokens_hash"] == family["baseline_tokens_hash"] is not None


def test_a_draft_free_text_that_leaves_the_targets_is_noticed(inputs):
    def leave(row):
        row["first_divergence"] = 7

    assert not one(oracles.draft_free(changed(inputs, "draft_free", leave)))["identical"]


def test_the_waterfall_closes_on_the_wall_time_in_both_orders(inputs):
    found = attribution.figures(inputs)
    orders = {row["order"] for row in found.rows}
    assert orders == {"control_plane_first", "draft_cost_first"}
    for order in orders:
        rows = pooled(found, order=order)
        assert sum(row["saved_ns"] for row in rows) == pytest.approx(rows[0]["wall_ns"], abs=len(rows))
        assert sum(row["share"] for row in rows) == pytest.approx(1.0)
        assert [row["factor"] for row in rows][-2:] == ["target_steps", "unattributed"]


def test_both_orders_lead_from_the_same_arm_to_the_same_bound():
    for per_token in (True, False):
        first, second = attribution.orders(per_token).values()
        assert (first[0][1], first[-1][2]) == (second[0][1], second[-1][2])
        assert sorted(step[0] for step in first) == sorted(step[0] for step in second)
        for steps in (first, second):
            assert all(ahead[2] == behind[1] for ahead, behind in itertools.pairwise(steps))


def test_a_factor_takes_the_time_that_it_costs(inputs):
    """Only the drafter's bill is slow here: both orders must put all of it on the draft cost."""
    for row in inputs.runs:
        paid = row["arm"] in ("per_token", "study", "paid_replay")
        row["decode_ns"] = 5_000_000 if paid else 1_000_000
    found = attribution.figures(inputs)
    for order in ("control_plane_first", "draft_cost_first"):
        shares = {row["factor"]: row["share"] for row in pooled(found, order=order)}
        assert shares["draft_cost"] == pytest.approx(0.8)
        assert shares["acceptance"] == shares["control_plane"] == pytest.approx(0.0)


def test_an_arm_that_failed_is_told_and_leaves_the_waterfall(inputs):
    def fail(row):
        row |= {"status": "failed", "reason": "RuntimeError: out of memory", "decode_ns": None}

    inputs = changed(inputs, "paid_replay", fail)
    row = one(oracles.all_accept(inputs), arm="paid_replay")
    assert (row["status"], row["reason"]) == ("failed", "RuntimeError: out of memory")
    assert attribution.figures(inputs).status == "skipped"


def test_ratios_are_those_of_paired_blocks(inputs):
    for row in inputs.runs:
        slow_block = 3 if row["block"] else 1
        row["decode_ns"] = (1_000_000 if row["arm"] == "draft_free" else 4_000_000) * slow_block
    row = one(oracles.draft_free(inputs))
    assert row["r"] == pytest.approx(4.0)
    assert row["n_families"] == len(FAMILIES)


def test_every_row_says_what_it_is(inputs):
    keys = {"schema_version", "study_hash", "fingerprint", "context", "family", "arm", "probe_level"}
    for figures in (phase_o.figures, relaxed.figures, oracles.all_accept, oracles.draft_free, attribution.figures):
        for row in figures(inputs).rows:
            assert keys | {"lossless", "text_valid"} <= set(row)


@pytest.fixture
def written(measured, ladder, tmp_path):
    """A results folder whose figures were made from the measured ladder."""
    rows, texts = measured
    folder = tmp_path / "mechanisms"
    cells = [folder / f"cells/{CONTEXT}/{family}.jsonl" for family in FAMILIES]
    for path in cells:
        write_cell_rows(path, [row for row in rows if row["family"] == path.stem])
    write_json(folder / "texts/all.json", {"texts": texts})
    table = tmp_path / "observations" / "observations.parquet"
    table.parent.mkdir()
    observed_chain().to_parquet(table)
    run = ["phase_o", "diagnosis", "relaxed", "all_accept", "draft_free", "attribution"]
    mechanisms = SMOKE.mechanisms.model_copy(update={"ladder": ladder, "run": run})
    write_figures(SMOKE.analysis, mechanisms, table, cells, [folder / "texts/all.json"], [], folder)
    return tmp_path


def test_the_audit_makes_every_claim_again(written):
    noted, made = mechanism_claims(written)
    assert len(noted) > 50
    assert claim_faults(noted, made) == []


def test_the_audit_notices_a_claim_that_no_measurement_gives(written):
    path = written / "mechanisms/draft_free.json"
    document = read_json(path)
    document["claims"][f"mechanisms.draft_free.{CONTEXT}.draft_free.r"]["value"] *= 1.01
    write_json(path, document)
    (fault,) = claim_faults(*mechanism_claims(written))
    assert "draft_free.r" in fault


def test_every_mechanism_has_its_file(written):
    for name in MECHANISMS:
        document = read_json(written / f"mechanisms/{name}.json")
        assert set(document) == {"name", "status", "reason", "rows", "claims"}
        assert (document["status"] == "measured") == (document["reason"] is None)


def test_log_likelihood_is_the_sum_over_single_steps(loaded):
    prompt, text = prompt_of("story"), [65, 66, 67, 68]
    target = loaded.executor("static", "target")
    cache = target.open(CONTEXT + len(text))
    prefill(target, torch.tensor(prompt[:-1]), cache, 16)
    total, last = 0.0, prompt[-1]
    for token in text:
        logits = target.forward(torch.tensor([last]), cache.length, cache)[0]
        total += float(torch.log_softmax(logits, dim=-1)[token])
        last = token
    # float32 sums of four terms in another order
    assert math.isclose(log_likelihood(target, prompt, text, 16), total, rel_tol=1e-4)


def test_a_mechanism_that_was_not_asked_for_is_skipped_with_its_reason(inputs):
    inputs = inputs_of(
        inputs.runs,
        inputs.texts,
        ladder_section(),
        mechanisms=inputs.mechanisms.model_copy(update={"run": ["relaxed"]}),
    )
    assert result("phase_o", inputs).status == "skipped"
    assert "mechanisms.run" in result("phase_o", inputs).reason
    assert result("relaxed", inputs).status == "measured"


def test_without_the_per_token_ledger_the_control_plane_is_no_factor(measured):
    ladder = ladder_section(ledgers=["per_round"])
    found = attribution.figures(inputs_of(*measured, ladder))
    assert {row["factor"] for row in found.rows} == {"acceptance", "draft_cost", "target_steps", "unattributed"}
    assert "per_token" not in ladder.arms

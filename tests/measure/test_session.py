"""One process's work: prefill once, warm every shape, repeat from the prompt, record everything."""

import gc

import pytest
from measuring_stubs import (
    MILLISECOND,
    FakeClock,
    FakeDevice,
    session,
    stub_engine,
    timing_section,
)

from specdec.errors import MachineError
from specdec.measure.plan import Visit, plan_visits
from specdec.measure.session import garbage_kept, make_visits, make_visits_in_turns
from specdec.records.columns import COUNTS, TIMES
from specdec.records.rows import build_run


def _visit(arm="lookup", **changes):
    return Visit(
        **({"block": 0, "order": 1, "arm": arm, "n_warmups": 1, "n_repeats": 2, "n_phase_repeats": 1} | changes)
    )


def _measure(engine, device, *visits, say=lambda line: None):
    return make_visits(session(visits or (_visit(),)), lambda arm: engine, FakeClock(device), say)


def _columns(row):
    return {name: value for name, value in row.items() if name not in ("tokens", "rounds")}


def test_every_row_fits_the_registry():
    device = FakeDevice()
    for row in _measure(stub_engine(device, k=3), device):
        build_run(_columns(row))


def test_warm_ups_are_kept_and_labelled_and_the_probe_comes_last():
    device = FakeDevice()
    rows = _measure(stub_engine(device, k=3), device)
    assert [(r["repeat"], r["warmup"], r["probe_level"]) for r in rows] == [
        (0, True, "off"),
        (1, False, "off"),
        (2, False, "off"),
        (3, False, "phases"),
    ]


def test_a_warm_up_that_is_cut_short_leaves_the_next_generation_whole():
    """The prefill's token and rounds of four, K = 3: five tokens are the first number that reaches four."""
    device = FakeDevice()
    rows = _measure(stub_engine(device, k=3), device, _visit(warmup_tokens=4))
    assert [len(r["tokens"]) for r in rows] == [5, 9, 9, 9]
    assert [r["stopped"] for r in rows] == [None, *["max_new_tokens"] * 3]
    assert rows[0]["tokens"] == rows[1]["tokens"][:5]
    build_run(_columns(rows[0]))


@pytest.mark.parametrize(("keep", "n_prefills"), [(True, 1), (False, 2)])
def test_kept_caches_save_the_prefill_of_later_visits(keep, n_prefills):
    """Counted in prompts of full length: each opening also touches the weights with a short one."""
    device = FakeDevice()
    engine = stub_engine(device, k=3)
    asked = session((_visit(), _visit(block=1)), keep_caches=keep)
    rows = make_visits(asked, lambda arm: engine, FakeClock(device), lambda line: None)
    assert engine.verifier.prompts.count(12) == n_prefills
    assert len({tuple(row["tokens"]) for row in rows}) == 1


def test_decoding_alone_is_timed_and_the_prefill_apart():
    """8 tokens after the prefill's, K=3 all accepted: 2 rounds of 3 ms verify, 3 x 1 ms draft, 0.1 ms settle."""
    device = FakeDevice()
    rows = _measure(stub_engine(device, k=3), device)
    assert {r["decode_ns"] for r in rows} == {2 * (6 * MILLISECOND + MILLISECOND // 10)}
    assert {r["device_decode_ns"] for r in rows} == {2 * (6 * MILLISECOND + MILLISECOND // 10)}
    assert {(r["prefill_ns"], r["target_prefill_ns"]) for r in rows} == {(17 * MILLISECOND, 12 * MILLISECOND)}


def test_the_prompt_is_prefilled_once_per_visit_after_a_short_touch():
    device = FakeDevice()
    engine = stub_engine(device, k=3)
    _measure(engine, device)
    assert engine.verifier.prompts == [8, 12]


def test_every_repeat_starts_at_the_prompt():
    device = FakeDevice()
    rows = _measure(stub_engine(device, k=3), device)
    assert all(r["tokens"] == list(range(12, 21)) for r in rows)
    assert all(r["rounds"] == [[3, 3, 3, 4], [3, 3, 3, 4]] for r in rows)
    assert len({r["tokens_hash"] for r in rows}) == 1


def test_counts_are_those_of_one_repeat():
    device = FakeDevice()
    last = _measure(stub_engine(device, k=3), device)[-1]
    expected = {
        "n_prompt": 12,
        "n_emitted": 8,
        "n_rounds": 2,
        "n_drafted": 6,
        "n_reached": 6,
        "n_accepted": 6,
        "n_bonus": 2,
        "n_recovered": 0,
        "n_plain": 0,
        "n_verify_forwards": 2,
        "n_verify_rows": 8,
        "n_draft_forwards": 6,
        "n_draft_rows": 6,
        "n_blocking_reads": 2,
    }
    assert {name: last[name] for name in expected} == expected
    assert last["stopped"] == "max_new_tokens"


def test_every_block_length_is_warmed_before_the_first_timed_span():
    device = FakeDevice()
    engine = stub_engine(device, k=3)
    _measure(engine, device)
    assert engine.verifier.widths[:4] == [1, 2, 3, 4]
    # the drafter: after the prompt, and with one more committed token than it has seen (two tokens at once)
    assert engine.drafter.proposals[:2] == [(13, 3), (14, 1)]


def test_target_only_warms_one_token_and_no_draft():
    device = FakeDevice()
    engine = stub_engine(device)
    _measure(engine, device, _visit("plain"))
    assert set(engine.verifier.widths) == {1}
    assert {k for _, k in engine.drafter.proposals} == {0}


@pytest.mark.parametrize("max_new_tokens", [1, 2, 3])
def test_short_limits_leave_no_room_to_warm_beyond_the_text(max_new_tokens):
    device = FakeDevice()
    engine = stub_engine(device, k=3, max_new_tokens=max_new_tokens)
    rows = _measure(engine, device)
    assert max(engine.verifier.widths, default=0) <= max(1, max_new_tokens - 1)
    assert all(len(r["tokens"]) == max_new_tokens and r["status"] == "ok" for r in rows)


def test_a_failing_generation_is_a_failed_row_with_null_numbers():
    """Block lengths and a draft warm up; a later generation dies at its first forward and takes no old number over."""
    device = FakeDevice()
    engine = stub_engine(device, k=3, fails_at=8)
    rows = _measure(engine, device)
    assert [r["status"] for r in rows] == ["ok", "failed", "failed", "failed"]
    failed = rows[1]
    assert failed["reason"] == "RuntimeError: device out of memory"
    assert all(failed[column.name] is None for column in TIMES + COUNTS)
    assert failed["tokens"] == []
    build_run(_columns(failed))


def test_a_failing_prefill_fails_every_repeat_of_the_visit():
    device = FakeDevice()
    rows = _measure(stub_engine(device, k=3, fails_at=1), device)
    assert [r["status"] for r in rows] == ["failed"] * 4
    assert {r["reason"] for r in rows} == {"prefill: RuntimeError: device out of memory"}


def test_a_users_mistake_is_no_failed_row_but_an_error():
    device = FakeDevice()
    engine = stub_engine(device)

    def broken(committed, draft):
        raise MachineError("engine.device: cuda is gone")

    engine.verifier.score = broken
    with pytest.raises(MachineError, match="cuda is gone"):
        _measure(engine, device)


def test_progress_is_told_before_each_visit():
    device = FakeDevice()
    visits = plan_visits(timing_section())
    said = []
    make_visits(session(visits), lambda arm: stub_engine(device, k=arm.k_max), FakeClock(device), said.append)
    assert said[0] == "timing 12/story: block 1/2, arm plain (1/2)"
    assert len(said) == 4


@pytest.mark.parametrize("n_phase_repeats", [0, 1])
def test_a_visit_in_turns_is_open_and_warm_before_its_turn_and_probes_at_another(n_phase_repeats):
    """The same rows as without turns; forwards of the target so far tell what was done when."""
    visit = _visit(n_phase_repeats=n_phase_repeats)
    device = FakeDevice()
    plain = _measure(stub_engine(device, k=3), device, visit)
    device = FakeDevice()
    engine = stub_engine(device, k=3)
    done = []
    rows = make_visits_in_turns(
        session((visit,)),
        lambda arm: engine,
        FakeClock(device),
        lambda line: None,
        lambda: done.append(len(engine.verifier.widths)),
    )
    ignored = ("started_at", "process", "rss_bytes", "load_average", "steal_ns", "cpu_mhz")
    assert [{k: v for k, v in row.items() if k not in ignored} for row in rows] == [
        {k: v for k, v in row.items() if k not in ignored} for row in plain
    ]
    n_warm, *later = done
    assert n_warm == 5  # every block length of K = 3, and one after an accepted draft
    assert later == [n_warm + sum(row["n_verify_forwards"] for row in rows[:3])] * n_phase_repeats


def test_no_garbage_is_collected_inside_a_timed_span():
    with garbage_kept():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_state_of_the_machine_is_recorded():
    device = FakeDevice()
    row = _measure(stub_engine(device), device, _visit("plain"))[0]
    assert row["rss_bytes"] > 2**20
    assert row["peak_device_bytes"] is None
    assert row["steal_ns"] is None or row["steal_ns"] >= 0
    assert "-" in row["process"]

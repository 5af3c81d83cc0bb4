"""Probes split time by part; the loop and the tokens stay what they are."""

from measuring_stubs import MILLISECOND, FakeClock, FakeDevice, stub_engine

from specdec.decode.loop import decode
from specdec.measure.clocks import timed
from specdec.measure.instrument import Probe, instrument

PROMPT = tuple(range(10))


def _decode(engine):
    committed = engine.prefill(PROMPT)
    engine.rewind(committed)
    return committed, list(decode(engine, committed))


def test_level_off_is_the_engine_itself():
    device = FakeDevice()
    engine = stub_engine(device, k=3)
    assert instrument(engine, "off", Probe(FakeClock(device))) is engine


def test_phases_hold_the_device_time_of_the_part_that_launched_it():
    """K=3, all accepted, 9 tokens: one of the prefill, two rounds of four; draft 1 ms a token, verify 3 ms."""
    device = FakeDevice()
    probe = Probe(FakeClock(device))
    engine = stub_engine(device, k=3)
    committed = engine.prefill(PROMPT)
    engine.rewind(committed)
    FakeClock(device).synchronise()
    rounds = list(decode(instrument(engine, "phases", probe), committed))
    assert [len(r.emitted) for r in rounds] == [4, 4]
    assert probe.times.draft_ns == 6 * MILLISECOND
    assert probe.times.verify_ns == 6 * MILLISECOND
    assert probe.times.settle_ns == 2 * MILLISECOND // 10
    assert probe.times.judge_ns == 0  # the stub's acceptance launches nothing


def test_without_synchronising_at_borders_time_lands_in_no_phase():
    """The planted fault of phase timers: launches return at once, and the sums are zero."""
    device = FakeDevice()
    probe = Probe(FakeClock(device, waits=False))
    _decode(instrument(stub_engine(device, k=3), "phases", probe))
    assert probe.times.verify_ns == 0


def test_phases_close_on_the_whole():
    device = FakeDevice()
    clock = FakeClock(device)
    probe = Probe(clock)
    engine = stub_engine(device, k=2)
    committed = engine.prefill(PROMPT)
    engine.rewind(committed)
    _, span = timed(lambda: list(decode(instrument(engine, "phases", probe), committed)), clock)
    times = probe.times
    assert times.draft_ns + times.verify_ns + times.judge_ns + times.settle_ns == span.host_ns


def test_tokens_and_tallies_are_the_same_with_and_without_probe():
    device = FakeDevice()
    plain = stub_engine(device, k=3)
    committed, rounds = _decode(plain)
    probed = stub_engine(device, k=3)
    probed_committed, probed_rounds = _decode(instrument(probed, "phases", Probe(FakeClock(device))))
    assert probed_committed.ids == committed.ids
    assert probed_rounds == rounds
    assert probed.verifier.tally == plain.verifier.tally
    assert probed.door.traffic.n_blocking_reads == plain.door.traffic.n_blocking_reads


def test_a_prefill_gives_the_targets_share():
    device = FakeDevice()
    clock = FakeClock(device)
    probe = Probe(clock)
    _, span = timed(lambda: instrument(stub_engine(device, k=3), "phases", probe).prefill(PROMPT), clock)
    assert probe.times.target_prefill_ns == 10 * MILLISECOND
    assert span.host_ns == 15 * MILLISECOND  # the drafter's own prefill is 5 ms

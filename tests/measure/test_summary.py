"""From what a trial observed to its numbers, or to why it has none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.measure.test_doubts import AT_FIRST, INDEX
from tests.measure.test_watch import prepared_for
from tests.profile.examples import small
from tests.profile.test_base import loaded
from tuner.engine.sampled import Content
from tuner.flood.spec import FloodProgress
from tuner.host.usage import CoreTime, Usage
from tuner.lab.lab import Lab
from tuner.lab.loads import LoadCounts, MachineCounts
from tuner.lab.written import WrittenFile
from tuner.measure.bottleneck import verdict_of
from tuner.measure.counters import Window
from tuner.measure.measurement import (
    Consequence,
    Delivery,
    DoubtKind,
    Failure,
    FailureKind,
    Measurement,
)
from tuner.measure.settle import Settled
from tuner.measure.summary import Observed, core_use, summarise
from tuner.measure.window import Poll

MIB = 1024**2
RATE, SENT, AHEAD = 5000, 80_000, 70_000
# An engine with two processors on a machine of its own, of which others may use a part.
ELSEWHERE = cast(
    Lab,
    SimpleNamespace(
        is_ours=False, is_here=False,
        engine=SimpleNamespace(facts=SimpleNamespace(processors=2, data_nodes=3)),
    ),
)  # fmt: skip


def polls(first_s: float, last_s: float) -> tuple[Poll, ...]:
    """Ten a second of a steady rate, which began at second 100; the window ends with those from
    second 110 on."""
    times = [first_s + at / 10 for at in range(round(10 * (last_s - first_s)) + 1)]
    counted = [round(RATE * (at_s - 100)) for at_s in times]
    return tuple(Poll(at_s, n, n + AHEAD) for at_s, n in zip(times, counted, strict=True))


AFTER = replace(
    AT_FIRST,
    at_s=112.0, epoch_s=AT_FIRST.epoch_s + 12.0, machine=CoreTime(65.0, 9.0, 0.0),
    shipper_cpu_s=0.6, sender_cpu_s=0.2, sender_blocked_s=9.0, engine_cpu_s=3.0, rejected=7,
)  # fmt: skip
SETTLED = Settled(
    drained_at_s=118.0,
    durable_at_s=120.0,
    merged_at_s=140.0,
    engine_cpu_ms=9_000,
    shipper=Usage(1.0, 90 * MIB),
    index=replace(INDEX, segments=4, store_bytes=12_345),
    delivery=Delivery(SENT, SENT, SENT, 0, 0),
    snapshots=(),
    complaint=None,
)
SEEN = Observed(
    window=Window(AT_FIRST, AFTER, polls(100, 110), polls(110.1, 112)),
    final=FloodProgress(SENT, 0.4, 9.0, 99.0, 116.0, False, None, 117.0),
    settled=SETTLED,
    begun_cpu_ms=1_000,
)


def measured(seen: Observed = SEEN) -> Measurement:
    outcome = summarise(seen, prepared_for(ELSEWHERE, small()))
    assert isinstance(outcome, Measurement)
    return outcome


def failed(seen: Observed, guardrails: dict[str, object] | None = None) -> Failure:
    profile = small({"guardrails": guardrails} if guardrails else {})
    outcome = summarise(seen, prepared_for(ELSEWHERE, profile))
    assert isinstance(outcome, Failure)
    return outcome


@pytest.mark.parametrize(("replicas", "copies"), [(0, 1), (2, 3), (5, 3)])
def test_as_many_copies_were_indexed_as_the_lab_has_nodes_for(replicas: int, copies: int) -> None:
    profile = small({"outputs[logs].index.settings.number_of_replicas": replicas})
    outcome = summarise(SEEN, prepared_for(ELSEWHERE, profile))
    assert isinstance(outcome, Measurement)
    assert outcome.copies == copies


def test_the_rate_is_of_all_events_of_the_window_with_the_refresh_that_ends_it() -> None:
    found = measured()
    assert found.eps == pytest.approx(RATE)
    assert found.window_s == pytest.approx(12.0)
    assert found.eps_se == pytest.approx(0.0, abs=1.0)
    slow = replace(SEEN.window, paying=(Poll(112.0, RATE * 10, SENT),))
    assert measured(replace(SEEN, window=slow)).eps == pytest.approx(RATE * 10 / 12)


def test_what_was_put_off_costs_what_it_took_beyond_the_window() -> None:
    """8 s of the engine's CPU for 80,000 events, of which the window's 60,000 took 3 s: 50 us more
    each; 1.75 of two cores idled."""
    found = measured()
    assert found.engine_cpu_us == pytest.approx(50)
    assert found.deferred_cpu_us == pytest.approx(50)
    assert found.eps_paid == pytest.approx(RATE)
    busy = replace(AFTER, engine_cpu_s=24.0)
    settled = replace(SETTLED, engine_cpu_ms=65_000)
    seen = replace(SEEN, window=replace(SEEN.window, after=busy), settled=settled)
    # Both cores are used, at 400 us an event; 800 us in all.
    assert measured(seen).eps_paid == pytest.approx(RATE / 2)
    assert measured(replace(seen, begun_cpu_ms=None)).eps_paid == pytest.approx(RATE)


def test_rates_to_the_end_begin_with_the_first_event() -> None:
    found = measured()
    assert found.eps_durable == pytest.approx(SENT / 21)
    assert found.eps_merged == pytest.approx(SENT / 41)
    assert found.drain_s == pytest.approx(2.0)
    unmerged = measured(replace(SEEN, settled=replace(SETTLED, merged_at_s=None)))
    assert unmerged.eps_merged is None
    assert DoubtKind.UNMERGED in {one.kind for one in unmerged.doubts}


def test_each_event_cost_its_share() -> None:
    found = measured()
    assert found.shipper_cpu_us == pytest.approx(10)
    assert found.flood_cpu_us == pytest.approx(5)
    assert (found.shipper_rss_bytes, found.rejected) == (90 * MIB, 7)
    assert (found.segments, found.store_bytes) == (4, 12_345)
    assert found.delivery == SETTLED.delivery


@pytest.mark.parametrize(
    "delivery",
    [
        Delivery(SENT, SENT - 1, SENT - 1, 1, 0, (17,)),
        Delivery(SENT, SENT + 1, SENT + 1, 0, 1, (), (17,)),
        Delivery(SENT, SENT, SENT, 1, 1, (17,), (18,)),
        Delivery(SENT, SENT, SENT - 1, 0, 0),
    ],
)
def test_a_trial_that_lost_or_doubled_an_event_has_no_number(delivery: Delivery) -> None:
    failure = failed(replace(SEEN, settled=replace(SETTLED, delivery=delivery)))
    assert (failure.kind, failure.delivery) == (FailureKind.DELIVERY, delivery)
    assert (failure.sent, failure.indexed) == (SENT, delivery.indexed)


def test_a_trial_whose_file_lacks_an_event_has_none() -> None:
    files = (WrittenFile("copy", 5000, SENT - 1, 0.1),)
    assert failed(replace(SEEN, files=files)).kind is FailureKind.DELIVERY
    complete = (WrittenFile("copy", 5000, SENT, 0.1),)
    assert measured(replace(SEEN, files=complete)).files == complete


def test_a_trial_in_which_rsyslogd_reported_an_error_has_none() -> None:
    failure = failed(replace(SEEN, settled=replace(SETTLED, complaint="it broke")))
    assert (failure.kind, failure.reason) == (FailureKind.RSYSLOGD, "rsyslogd reported: it broke")


def test_a_trial_in_whose_window_nothing_was_indexed_has_none() -> None:
    still = tuple(replace(one, indexed=0) for one in SEEN.window.samples)
    window = replace(SEEN.window, samples=still, paying=())
    assert failed(replace(SEEN, window=window)).kind is FailureKind.STALLED


def test_a_trial_that_took_more_memory_than_it_may_has_none() -> None:
    allowed = {"rss_bytes": "90m"}
    profile = small({"guardrails": allowed})
    assert isinstance(summarise(SEEN, prepared_for(ELSEWHERE, profile)), Measurement)
    failure = failed(SEEN, {"rss_bytes": "89m"})
    assert (failure.kind, failure.shipper_rss_bytes) == (FailureKind.GUARDRAIL, 90 * MIB)


def test_what_limited_the_pipeline_is_told_of_a_measurement_and_of_a_failure() -> None:
    ours = SimpleNamespace(
        is_ours=True, is_here=True,
        engine=SimpleNamespace(facts=SimpleNamespace(processors=2, data_nodes=3)),
    )  # fmt: skip
    lab = cast(Lab, ours)
    verdict = verdict_of(SEEN.window, lab, small(), ())
    assert verdict is not None
    lost = replace(SETTLED, delivery=Delivery(SENT, SENT - 1, SENT - 1, 1, 0))
    for seen in (SEEN, replace(SEEN, settled=lost)):
        outcome = summarise(seen, prepared_for(lab, small()))
        assert outcome.verdict == verdict
    busy = replace(SEEN.window, after=replace(AFTER, machine=CoreTime(74.0, 0.0, 0.0)))
    found = summarise(replace(SEEN, window=busy), prepared_for(lab, small()))
    assert isinstance(found, Measurement)
    assert DoubtKind.DISTURBED in {one.kind for one in found.doubts}


def test_what_the_engine_still_did_for_others_is_a_doubt() -> None:
    doubts = measured(replace(SEEN, carried_over="2 merges")).doubts
    assert [one.figure for one in doubts if one.kind is DoubtKind.CARRIED_OVER] == ["2 merges"]
    assert DoubtKind.CARRIED_OVER not in {one.kind for one in measured().doubts}


def test_cores_are_those_of_the_machine_that_the_engine_is_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Elsewhere two processors, of which the engine used 3 s in 12 s; here four cores, which
    rsyslogd and the sender used as well, and which idled for 9 s."""
    assert core_use(SEEN.window, ELSEWHERE) == pytest.approx((0.25, 1.75))
    monkeypatch.setattr("tuner.measure.summary.cores", lambda: 4.0)
    here = cast(Lab, SimpleNamespace(is_here=True))
    used, idle = core_use(SEEN.window, here)
    assert used == pytest.approx((3.0 + 0.6 + 0.2) / 12)
    assert idle == pytest.approx(0.75)
    # Senders on machines of their own use none of these.
    host = MachineCounts(0.0, 4.0, CoreTime(0.0, 0.0, 0.0), None)
    counts = LoadCounts(host, 0.0, 0.0)
    before, after = (replace(one, load_hosts={"load1": counts}) for one in (AT_FIRST, AFTER))
    away, _ = core_use(replace(SEEN.window, before=before, after=after), here)
    assert away == pytest.approx((3.0 + 0.6) / 12)


def test_events_that_no_number_tells_apart_are_said_to_be_counted() -> None:
    known = str(Delivery(SENT, SENT, SENT, 0, 0))
    assert str(Delivery(SENT, SENT, SENT, 0, 0, identified=False)) == (
        f"{known} (counted, not identified)"
    )


OTHERS = replace(SETTLED, content=Content(300, 2, ("event 17: message", "event 18: message")))


def test_documents_that_hold_something_else_than_was_sent_give_no_number() -> None:
    failure = failed(replace(SEEN, settled=OTHERS))
    assert failure.kind is FailureKind.DELIVERY
    assert failure.reason == (
        "2 of 300 documents compared hold something else than the same messages gave in the slow "
        "pass before: event 17: message; event 18: message"
    )
    assert failure.delivery == SETTLED.delivery


def test_of_a_base_that_is_a_doubt(tmp_path: Path) -> None:
    base = loaded(tmp_path).profile
    outcome = summarise(replace(SEEN, settled=OTHERS), prepared_for(ELSEWHERE, base))
    assert isinstance(outcome, Measurement)
    (doubt,) = [one for one in outcome.doubts if one.kind is DoubtKind.CONTENT_DIFFERS]
    assert doubt.figure == str(OTHERS.content)
    assert doubt.kind.consequence is Consequence.QUESTIONS

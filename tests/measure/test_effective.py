"""From rsyslogd's own counters to what ran."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.measure.test_stages import AFTER, BEFORE, SEEN, snapshot
from tests.profile.examples import small
from tuner.engine.bulk_times import BulkTimes
from tuner.measure.stages import Effective, QueueUse, effective
from tuner.modules.pstats import ActionCounters, ElasticsearchCounters, Snapshot


def counted(at: float, requests: int) -> Snapshot:
    counters = ElasticsearchCounters(1000 * requests, requests=requests, requests_ms=20 * requests)
    return replace(snapshot(at), omelasticsearch=counters)


def by(*snapshots: Snapshot) -> Effective:
    return effective(replace(SEEN, snapshots=snapshots), small())


def test_bulk_requests_are_those_that_rsyslogd_counted_where_the_engine_counts_none() -> None:
    used = by(counted(2, 10), counted(7, 60))
    assert used.bulks_per_second == pytest.approx(10.0)
    assert used.events_per_bulk == pytest.approx(1000.0)
    assert used.bulk_waited_ms == pytest.approx(20.0)


def test_two_rounds_in_the_same_second_tell_nothing() -> None:
    """impstats tells whole seconds, and a round may be a moment late."""
    used = by(counted(5, 10), counted(5, 60))
    assert (used.bulks_per_second, used.events_per_bulk, used.bulk_waited_ms) == (None, None, None)


def test_bulk_requests_are_those_that_the_engine_counted_where_it_does() -> None:
    """Of the 500,000 events of the window."""
    before = replace(BEFORE, bulk=BulkTimes(10, None, {(8, 16): 10}))
    after = replace(AFTER, bulk=BulkTimes(210, None, {(8, 16): 110, (16, 32): 100}))
    seen = replace(SEEN, before=before, after=after, snapshots=(counted(2, 10), counted(7, 60)))
    used = effective(seen, small())
    assert used.bulks_per_second == pytest.approx(20.0)
    assert used.events_per_bulk == pytest.approx(2_500.0)
    assert used.bulk is not None
    assert (used.bulk.requests, used.bulk.source) == (200, "histogram")
    assert used.bulk_waited_ms == pytest.approx(20.0)
    none = replace(seen, after=replace(AFTER, bulk=before.bulk))
    assert effective(none, small()).events_per_bulk is None


def test_queues_and_threads_are_what_ran() -> None:
    def round_of(at: float, processed: int, batches: int) -> Snapshot:
        actions = {"logs": ActionCounters(processed, 0, 0, batches)}
        return replace(snapshot(at, main=90, logs=20), actions=actions)

    first, last = round_of(1, 1_000, 10), round_of(9, 61_000, 50)
    held = {name: replace(one, maxqsize=700) for name, one in last.queues.items()}
    used = by(first, replace(last, queues=held))
    assert used.queues == (
        QueueUse("main Q", 100_000, 700, 1024, 1, 1),
        QueueUse("logs queue", 50_000, 700, 2000, 2, 2, batch_mean=1_500.0),
    )
    # Of 10 s of each core they took so much for 500,000 events.
    assert [(one.name, one.count) for one in used.threads] == [
        ("rs:logs queue:R", 2), ("imptcp/w0", 1), ("rs:main Q:Reg", 1), ("in:imptcp", 1),
    ]  # fmt: skip
    assert [one.cpu_us for one in used.threads] == pytest.approx([12.0, 8.0, 6.0, 2.0])
    assert used.refreshes == 2


def test_threads_that_hardly_ran_are_not_named_and_queues_that_nobody_counted_held_nothing() -> (
    None
):
    threads = {"in:imptcp": BEFORE.threads["in:imptcp"]}
    used = effective(replace(SEEN, after=replace(AFTER, threads=threads), snapshots=()), small())
    assert used.threads == ()
    assert [(one.most_held, one.running, one.batch_mean) for one in used.queues] == [
        (None, 0, None), (None, 0, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after"), [(None, 9), (9, None), (9, 9)], ids=["not yet", "no more", "none taken"]
)
def test_without_batches_there_is_no_mean_of_them(before: int | None, after: int | None) -> None:
    rounds = (
        replace(snapshot(at, main=1, logs=1), actions={"logs": ActionCounters(at, 0, 0, batches)})
        for at, batches in ((1, before), (9, after))
    )
    assert [one.batch_mean for one in by(*rounds).queues] == [None, None]

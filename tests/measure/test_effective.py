"""From rsyslogd's own counters to what ran."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.measure.test_stages import SEEN, snapshot
from tests.profile.examples import small
from tuner.measure.effective import Effective, effective
from tuner.modules.pstats import ElasticsearchCounters, Snapshot


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

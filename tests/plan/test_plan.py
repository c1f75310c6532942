"""A plan, beside what one works out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plan.test_inputs import said
from tuner.plan import Inputs, Measured, Plan, inputs_of, plan, plan_range
from tuner.report.plan import PlannedRate, notes

DAY_S = 86_400.0
TIB = 1024.0**4
GIVEN = {
    "rate": 100_000,
    "message_bytes": 300,
    "store_bytes": 200,
    "peak": 2,
    "retention_s": 10 * DAY_S,
    "outage_s": 600,
    "replicas": 1,
    "headroom": 0.5,
    "collector_eps": 100_000,
    "node_eps": 200_000,
    "node_disk_bytes": 10 * TIB,
    "gzip_ratio": 10,
}


def settled(**changes: float) -> Inputs:
    return inputs_of(said(**GIVEN | changes))


def planned(**changes: float) -> Plan:
    return plan(settled(**changes))


def told(inputs: Inputs, run: Measured | None = None) -> str:
    return "\n".join(notes(PlannedRate(inputs, plan(inputs), run)))


def test_collectors_carry_the_peak_with_headroom_when_one_has_failed() -> None:
    """200,000 a second at the peak; half of 100,000 is used on each: 4, and one more."""
    found = planned().collectors
    assert (found.needed, found.count) == (4, 5)
    assert found.eps_each == 50_000
    assert found.utilisation == 0.5


@pytest.mark.parametrize("rate", [1, 10_000, 99_999, 1_234_567, 10_000_000])
def test_nothing_is_planned_for_more_than_the_headroom_leaves(rate: float) -> None:
    made = planned(rate=rate)
    assert made.collectors.utilisation <= 0.5 + 1e-9
    writes = 2 * made.peak_eps / made.engine.needs["processing"]
    assert writes <= 0.5 * 200_000 + 1e-6
    assert made.collectors.count > made.collectors.needed
    assert made.engine.stored_bytes * 1.25 <= (made.engine.count - 1) * 10 * TIB


def test_replicas_multiply_the_work_and_the_disk_of_the_engine() -> None:
    """400,000 writes a second with one copy more: 4 nodes at half of 200,000."""
    none, one = planned(replicas=0), planned(replicas=1)
    assert (none.engine.needs["processing"], one.engine.needs["processing"]) == (2, 4)
    kept = (10 * DAY_S + one.engine.rollover_s) / (10 * DAY_S + none.engine.rollover_s)
    ratio = one.engine.stored_bytes / none.engine.stored_bytes
    assert ratio == pytest.approx(2 * kept)


def test_the_disk_holds_the_retention_and_the_index_that_has_yet_to_go() -> None:
    """20 MB a second twice over for ten days and one index, a quarter on top, 8 TiB each."""
    made = planned(node_disk_bytes=8 * TIB)
    stored = 100_000 * 200 * 2 * (10 * DAY_S + made.engine.rollover_s)
    assert made.engine.stored_bytes == pytest.approx(stored)
    assert made.engine.disk_bytes == pytest.approx(stored * 1.25)
    assert made.engine.needs["disk"] == 5
    assert (made.engine.decided_by, made.engine.count) == ("disk", 6)


def test_small_events_fill_a_shard_by_their_number() -> None:
    """50 GiB would hold 268 million documents of 200 bytes, and 200 million are enough; two
    primaries write what four nodes index, but would be full within two hours of two thirds."""
    found = planned().engine
    assert found.limit == "documents"
    assert found.documents_each == pytest.approx(200e6)
    assert found.primaries == 4
    assert found.rollover_s == pytest.approx(4 * 200e6 / 100_000)


def test_large_events_fill_a_shard_by_their_size() -> None:
    found = planned(store_bytes=1000).engine
    assert found.limit == "size"
    assert found.shard_bytes_each == pytest.approx(50 * 1024**3)


def test_a_trickle_rolls_over_by_age_so_that_little_more_than_the_retention_is_kept() -> None:
    found = planned(rate=10).engine
    assert (found.limit, found.rollover_s) == ("age", DAY_S)
    assert (found.primaries, found.shards_kept) == (1, 22)


def test_queues_hold_the_peak_of_an_outage_when_one_collector_has_failed() -> None:
    """50,000 a second for ten minutes; as long again to catch up when half is free."""
    found = planned().collectors
    assert found.queued_events == 30_000_000
    assert found.memory_bytes == 30_000_000 * (300 + 700)
    assert found.file_bytes > 30_000_000 * 300
    assert found.catch_up_s == 600
    assert planned(headroom=0.2).collectors.catch_up_s == pytest.approx(2400)


def test_a_peak_multiplies_the_work_and_not_what_is_kept() -> None:
    made = planned(peak=3)
    assert (made.mean_eps, made.peak_eps) == (100_000, 300_000)
    assert made.space[0].events == 100_000


def test_the_network_carries_every_copy() -> None:
    """301 bytes with the line feed come in at the peak."""
    made = planned()
    bulk = 300 + 270
    assert made.collectors.bits_in_each == 50_000 * 301 * 8
    assert made.collectors.bits_out_each == 50_000 * bulk * 8
    assert made.engine.bits_in_each == pytest.approx(200_000 * bulk * 8 * (1 + 0.75 + 1) / 4)


def test_a_plan_from_nothing_says_how_to_measure() -> None:
    text = told(inputs_of(said(rate=10e6)))
    assert "rsyslog-tune bench" in text
    assert "which is not measured" in text
    assert "split the stream over several" in text
    assert "rsyslog-tune bench" not in told(settled())


def test_a_note_for_each_limit_that_is_met() -> None:
    assert "disk decides, processing alone needs 4" in told(settled(node_disk_bytes=TIB))
    assert "disk decides" not in told(settled())
    assert "4 data nodes are assumed to carry that many times" in told(settled())
    assert "that many times" not in told(settled(rate=100))
    assert "several lanes" in told(settled())
    assert "several lanes" not in told(settled(rate=100))
    assert "max_primary_shard_docs" in told(settled())
    assert "max_primary_shard_docs" not in told(settled(store_bytes=1000))
    assert "at most 1,024 primary shards" in told(settled(rate=200e6))


def test_each_copy_of_a_shard_needs_a_node_of_its_own() -> None:
    made = planned(rate=10, replicas=3).engine
    assert (made.decided_by, made.count) == ("replicas", 5)


OWN = Measured(
    where="runs/prod",
    what="confirming runs",
    eps=60_000.0,
    message_bytes=None,
    figures={"collector_us": 10.0, "node_us": 40.0, "load_us": 2.0},
    machines={
        "lab1": {"collector_us": 8.0, "node_us": 32.0},
        "lab2": {"collector_us": 12.0, "node_us": 48.0},
    },
)
OPEN = {name: value for name, value in GIVEN.items() if name not in {"collector_eps", "node_eps"}}
OPEN |= {"rate": 1_000_000, "peak": 1, "node_disk_bytes": 1000 * TIB}


def test_machines_that_differ_leave_a_range_by_what_an_event_costs_them() -> None:
    """Half of 4 cores: 250,000, 200,000 and 166,667 events a second with 8, 10 and 12 us; a data
    node has 8 cores and indexes each event twice."""
    reach = plan_range(said(**OPEN), OWN, None)
    assert reach is not None
    plans = (reach[0], plan(inputs_of(said(**OPEN), OWN)), reach[1])
    assert [made.collectors.needed for made in plans] == [4, 5, 6]
    assert [made.engine.needs["processing"] for made in plans] == [16, 20, 24]


def test_no_range_is_given_for_one_machine_or_for_a_rate_that_somebody_gave() -> None:
    assert plan_range(said(**OPEN), replace(OWN, machines={}), None) is None
    reach = plan_range(said(**OPEN, collector_eps=200_000), OWN, None)
    assert reach is not None
    assert reach[0].collectors == reach[1].collectors


def test_load_hosts_are_counted_by_the_measured_cost_of_a_sender() -> None:
    """Half of a core sends 250,000 events a second at 2 us each."""
    assert plan(inputs_of(said(**OPEN), OWN)).load_hosts == 4
    assert planned().load_hosts is None


def test_what_is_known_of_machines_is_said() -> None:
    inputs = inputs_of(said(**OPEN), OWN)
    assert "2 machines that measured (lab1, lab2)" in told(inputs, OWN)
    alone = replace(OWN, machines={})
    assert "no range is given" in told(inputs_of(said(**OPEN), alone), alone)

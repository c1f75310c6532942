"""A plan, beside what one works out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tuner.plan.inputs import Inputs, Request, inputs_of
from tuner.plan.measured import NOTHING, MachineCosts, Measured
from tuner.plan.plan import Plan, PlanRange, notes, plan, plan_range
from tuner.plan.scaling import Level

DAY_S = 86_400.0
TIB = 1024.0**4
REQUEST = Request(
    rate=100_000,
    message_bytes=300,
    bytes_per_event=200,
    peak=2,
    retention_s=10 * DAY_S,
    outage_s=600,
    replicas=1,
    headroom=0.5,
    collector_eps=100_000,
    node_eps=200_000,
    node_disk_bytes=10 * TIB,
    gzip_ratio=10,
)


def settled(**changes: Any) -> Inputs:
    return inputs_of(replace(REQUEST, **changes), NOTHING, None)


def planned(**changes: Any) -> Plan:
    return plan(settled(**changes))


def told(**changes: Any) -> str:
    inputs = settled(**changes)
    return "\n".join(notes(inputs, plan(inputs)))


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
    writes = 2 * made.peak_eps / made.data_nodes.by_processing
    assert writes <= 0.5 * 200_000 + 1e-6
    assert made.collectors.count > made.collectors.needed
    assert made.data_nodes.stored_bytes * 1.25 <= (made.data_nodes.count - 1) * 10 * TIB


def test_replicas_multiply_the_work_and_the_disk_of_the_engine() -> None:
    """400,000 writes a second with one copy more: 4 nodes at half of 200,000."""
    none, one = planned(replicas=0), planned(replicas=1)
    assert (none.data_nodes.by_processing, one.data_nodes.by_processing) == (2, 4)
    kept = one.shards.kept_s / none.shards.kept_s
    ratio = one.data_nodes.stored_bytes / none.data_nodes.stored_bytes
    assert ratio == pytest.approx(2 * kept)


def test_the_disk_holds_the_retention_and_the_index_that_has_yet_to_go() -> None:
    """20 MB a second twice over for ten days and one index, a quarter on top, 8 TiB each."""
    made = planned(node_disk_bytes=8 * TIB)
    stored = 100_000 * 200 * 2 * (10 * DAY_S + made.shards.rollover_s)
    assert made.data_nodes.stored_bytes == pytest.approx(stored)
    assert made.data_nodes.disk_bytes == pytest.approx(stored * 1.25)
    assert made.data_nodes.by_disk == 5
    assert (made.data_nodes.decided_by, made.data_nodes.count) == ("disk", 6)


def test_small_events_fill_a_shard_by_their_number() -> None:
    """50 GiB would hold 268 million documents of 200 bytes, and 200 million are enough; two
    primaries write what four nodes index, but would be full within two hours of two thirds."""
    found = planned().shards
    assert found.limit == "documents"
    assert found.documents_each == pytest.approx(200e6)
    assert found.primaries == 4
    assert found.rollover_s == pytest.approx(4 * 200e6 / 100_000)


def test_large_events_fill_a_shard_by_their_size() -> None:
    found = planned(bytes_per_event=1000).shards
    assert found.limit == "size"
    assert found.bytes_each == pytest.approx(50 * 1024**3)


def test_a_trickle_rolls_over_by_age_so_that_little_more_than_the_retention_is_kept() -> None:
    found = planned(rate=10).shards
    assert (found.limit, found.rollover_s) == ("age", DAY_S)
    assert found.kept_s == 11 * DAY_S
    assert (found.primaries, found.kept) == (1, 22)


def test_queues_hold_the_peak_of_an_outage_when_one_collector_has_failed() -> None:
    """50,000 a second for ten minutes; as long again to catch up when half is free."""
    found = planned().outage
    assert found.events_each == 30_000_000
    assert found.memory_bytes_each == 30_000_000 * (300 + 700)
    assert found.file_bytes_each > 30_000_000 * 300
    assert found.files_bytes == 5 * found.file_bytes_each
    assert found.catch_up_s == 600
    assert planned(headroom=0.2).outage.catch_up_s == pytest.approx(2400)


def test_growth_and_peak_multiply() -> None:
    made = planned(growth=0.5)
    assert (made.mean_eps, made.peak_eps) == (150_000, 300_000)
    assert made.space[0].events == 150_000


def test_senders_share_the_collectors_that_are_left() -> None:
    assert planned(senders=1001).collectors.sessions_each == 251
    assert planned().collectors.sessions_each is None


def test_the_network_carries_every_copy() -> None:
    """301 bytes with the line feed come in at the peak."""
    made = planned()
    assert made.network.senders_bits == 200_000 * 301 * 8
    assert made.network.collector_in_bits == 50_000 * 301 * 8
    bulk = 300 + 270
    assert made.network.engine_bits == 200_000 * bulk * 8
    assert made.network.node_in_bits == pytest.approx(200_000 * bulk * 8 * (1 + 0.75 + 1) / 4)


LEVELS = (Level(1, 60e3), Level(2, 115e3), Level(4, 210e3), Level(8, 350e3), Level(12, 430e3))


def test_a_law_of_scaling_needs_more_nodes_than_adding_up() -> None:
    """400,000 writes at half of what is carried: 800,000, which no cluster of this law reaches."""
    made = planned(node_eps=None, levels=LEVELS)
    assert made.data_nodes.clusters == 2
    assert made.data_nodes.by_processing > 800_000 / 60_000
    assert made.data_nodes.count >= made.data_nodes.by_processing + 2
    assert "no single cluster carries it: 2 clusters" in told(node_eps=None, levels=LEVELS)


def test_a_forecast_far_beyond_what_was_measured_is_called_a_guess() -> None:
    linear = tuple(Level(number, 60e3 * number) for number in (1, 2, 3, 4))
    assert "the law is a guess" in told(node_eps=None, levels=linear)
    assert "guess" not in told(rate=10_000, node_eps=None, levels=linear)


def test_why_levels_are_no_law_is_told() -> None:
    text = told(node_eps=None, levels=LEVELS[:2])
    assert "--scaling fits no law: 2 levels are too few" in text


def test_a_plan_from_nothing_says_how_to_measure() -> None:
    inputs = inputs_of(Request(rate=10e6), NOTHING, None)
    text = "\n".join(notes(inputs, plan(inputs)))
    assert "rsyslog-tune bench" in text
    assert "which is not measured" in text
    assert "split the stream over several" in text
    assert "rsyslog-tune bench" not in told()


def test_a_note_for_each_limit_that_is_met() -> None:
    assert "imtcp refuses session 201: set its maxSessions to 250 or more" in told(senders=1000)
    assert "imtcp" not in told(senders=100)
    assert "disk decides, processing alone needs 4" in told(node_disk_bytes=TIB)
    assert "disk decides" not in told()
    assert "has 34 GiB of memory by Elastic's ratio for hot nodes, 6 GiB" in told(
        node_disk_bytes=TIB
    )
    assert "Elastic's ratio" not in told(node_disk_bytes=None)
    assert "several lanes" in told()
    assert "several lanes" not in told(rate=100)
    assert "max_primary_shard_docs" not in told(bytes_per_event=1000)
    assert "at most 1,024 primary shards" in told(rate=200e6)


def test_each_copy_of_a_shard_needs_a_node_of_its_own() -> None:
    made = planned(rate=10, replicas=3).data_nodes
    assert (made.decided_by, made.count) == ("replicas", 5)


OWN = Measured(
    where="runs/prod",
    eps=60_000.0,
    shipper_us=10.0,
    engine_us=40.0,
    load_us=2.0,
    machines=(MachineCosts("lab1", 8.0, 32.0), MachineCosts("lab2", 12.0, 48.0)),
)
OPEN = replace(
    REQUEST, rate=1_000_000, peak=1, collector_eps=None, collector_cores=4, node_eps=None,
    node_cores=8, node_disk_bytes=1000 * TIB,
)  # fmt: skip


def open_range() -> PlanRange:
    reach = plan_range(OPEN, OWN, None)
    assert reach is not None
    return reach


def test_machines_that_differ_leave_a_range_by_what_an_event_costs_them() -> None:
    """Half of 4 cores: 250,000, 200,000 and 166,667 events a second with 8, 10 and 12 us; a data
    node has 8 cores and indexes each event twice."""
    made = plan(inputs_of(OPEN, OWN, None))
    counts = [one.collectors.needed for one in (open_range().low, made, open_range().high)]
    assert counts == [4, 5, 6]
    nodes = [one.data_nodes.by_processing for one in (open_range().low, made, open_range().high)]
    assert nodes == [16, 20, 24]


def test_no_range_is_given_for_one_machine_or_for_a_rate_that_somebody_gave() -> None:
    assert plan_range(OPEN, replace(OWN, machines=()), None) is None
    reach = plan_range(replace(OPEN, collector_cores=None, collector_eps=200_000), OWN, None)
    assert reach is not None
    assert reach.low.collectors == reach.high.collectors


def test_load_hosts_are_counted_by_the_measured_cost_of_a_sender() -> None:
    """Half of a core sends 250,000 events a second at 2 us each."""
    assert plan(inputs_of(OPEN, OWN, None)).load_hosts == 4
    assert planned().load_hosts is None


def test_what_is_known_of_machines_is_said() -> None:
    inputs = inputs_of(OPEN, OWN, None)
    assert any(
        "2 machines that measured (lab1, lab2)" in one for one in notes(inputs, plan(inputs))
    )
    alone = inputs_of(OPEN, replace(OWN, machines=()), None)
    assert any("no range is given" in one for one in notes(alone, plan(alone)))

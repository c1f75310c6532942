"""What a run shows of each metric, and how an account and a failure read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.measure.factory import failed, limited_by, measured
from tests.measure.paced import paced
from tuner.engine.numbering import NAMED
from tuner.lab.written import WrittenFile
from tuner.measure.measurement import (
    Delivery,
    Failure,
    FailureKind,
    Measurement,
    Percentiles,
    Result,
    others_used,
)
from tuner.measure.series import restarted, value_of
from tuner.profile.metric import Metric
from tuner.space.knob import Bottleneck

FILES = (
    WrittenFile("a", 5000, 1000, 0.2),
    WrittenFile("b", 2000, 1000, None),
    WrittenFile("c", 1000, 1000, 0.1),
)
SATURATED = replace(
    measured(2000.0, durable=1800.0, paid=1900.0, rss_mib=3.0), files=FILES, deferred_cpu_us=0.5,
    store_bytes=500_000,
)  # fmt: skip
AT_A_RATE = replace(paced(), eps=9000.0, freshness_s=Percentiles(0.1, 0.2, 0.3, 0.4))


@pytest.mark.parametrize(
    ("run", "metric", "value"),
    [
        (SATURATED, Metric.EPS, 2000.0),
        (SATURATED, Metric.EPS_PAID, 1900.0),
        (SATURATED, Metric.EPS_DURABLE, 1800.0),
        (SATURATED, Metric.SHIPPER_CPU, 6.0),
        (SATURATED, Metric.ENGINE_CPU, 20.5),
        (SATURATED, Metric.FLOOD_CPU, 0.3),
        (SATURATED, Metric.SHIPPER_CORES, 0.012),
        (SATURATED, Metric.ENGINE_CORES, 0.04),
        (SATURATED, Metric.STORE, 500.0),
        (SATURATED, Metric.MEMORY, 3 * 1024**2),
        (SATURATED, Metric.FILE, 8.0),
        (SATURATED, Metric.DECOMPRESS_CPU, 300.0),
        (replace(SATURATED, files=FILES[1:2]), Metric.DECOMPRESS_CPU, None),
        (measured(1.0), Metric.FILE, None),
        (SATURATED, Metric.FRESHNESS_P99, None),
        (AT_A_RATE, Metric.EPS, 9000.0),
        (AT_A_RATE, Metric.SHIPPER_CPU, 6.0),
        (AT_A_RATE, Metric.ENGINE_CPU, 20.0),
        (AT_A_RATE, Metric.SHIPPER_CORES, 0.054),
        (AT_A_RATE, Metric.ENGINE_CORES, 0.18),
        (AT_A_RATE, Metric.MEMORY, 90 * 1024**2),
        (AT_A_RATE, Metric.FRESHNESS_P50, 0.1),
        (AT_A_RATE, Metric.FRESHNESS_P95, 0.2),
        (AT_A_RATE, Metric.FRESHNESS_P99, 0.3),
        (paced(p99_s=None), Metric.FRESHNESS_P50, None),
        (AT_A_RATE, Metric.STORE, None),
        (failed(), Metric.EPS, None),
    ],
)
def test_each_metric_is_its_own_figure(run: Result, metric: Metric, value: float | None) -> None:
    assert value_of(metric, run) == (None if value is None else pytest.approx(value))


def test_a_run_without_its_times_followed_no_restart() -> None:
    assert not restarted(measured(1.0))
    assert not restarted(failed())


def test_an_account_names_the_first_events_that_are_missing_or_doubled() -> None:
    assert str(Delivery(9, 8, 8, 2, 1, (4, 5), (7,))) == (
        "9 sent, 8 indexed, 8 found: 2 lost, 1 duplicated; missing: 4, 5; doubled: 7"
    )
    assert str(Delivery(9, 9, 9, 0, 0)) == "9 sent, 9 indexed, 9 found: 0 lost, 0 duplicated"
    many = tuple(range(NAMED))
    assert str(Delivery(99, 0, 0, 99, 0, many)).endswith("missing: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, "
                                                         "...")  # fmt: skip
    assert str(Delivery(99, 0, 0, 9, 0, many[1:])).endswith("8, 9")


def test_a_failure_has_what_was_sent_and_indexed_from_its_account() -> None:
    account = Delivery(9, 8, 7, 1, 0)
    failure = Failure.of(FailureKind.DELIVERY, "one is missing", account)
    assert (failure.sent, failure.indexed, failure.delivery) == (9, 8, account)
    assert str(failure) == "delivery incomplete: one is missing"


@pytest.mark.parametrize("kind", FailureKind)
def test_only_what_the_machine_may_be_the_cause_of_is_tried_again(kind: FailureKind) -> None:
    transient = {FailureKind.STALLED, FailureKind.FLOOD, FailureKind.ENGINE}
    assert replace(failed(), kind=kind).is_transient is (kind in transient)


def test_what_others_used_is_the_most_beside_any_run() -> None:
    def beside(share: float) -> Measurement:
        return replace(measured(1.0), verdict=limited_by(Bottleneck.DISK, share))

    assert others_used([beside(0.1), measured(1.0), beside(0.3), beside(0.2)]) == 0.3
    assert others_used([measured(1.0)]) == 0.0

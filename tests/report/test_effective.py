"""What is said of what was effective."""

from __future__ import annotations

from dataclasses import replace

from tests.measure.factory import measured
from tuner.engine.bulk_times import BulkLatency
from tuner.measure.effective import Effective, QueueUse, ThreadUse
from tuner.report.effective import effective_text

USED = Effective(
    queues=(
        QueueUse("main Q", 100_000, 21_593, 1024, 1, 1),
        QueueUse("logs queue", 50_000, 50_000, 2000, 4, 2),
    ),
    threads=(ThreadUse("rs:logs queue:R", 2, 6.294), ThreadUse("in:imptcp", 1, 0.47)),
    bulk=BulkLatency(40.0, 90.0, 120.0, 128.0, 330, 614_400.0, "histogram"),
    bulks_per_second=33.0,
    events_per_bulk=1_987.0,
    refreshes=10,
)


def test_what_is_configured_stands_beside_what_ran() -> None:
    text = effective_text(replace(measured(66_000.0), effective=USED))
    assert (
        "| logs queue | 50,000 messages, batch 2,000, 4 workers "
        "| held at most 50,000 (100%), 2 workers ran |"
    ) in text
    assert "| rs:logs queue:R |  | 2 threads, 6.29 us CPU per event |" in text


def test_bulk_requests_come_with_size_rate_and_percentiles() -> None:
    text = effective_text(replace(measured(66_000.0), effective=USED))
    assert "33.0 a second, each of 1,987 events and 600 KiB on average" in text
    assert "p50 40 ms, p95 90 ms, p99 120 ms, at most 128 ms (the engine's own histogram)" in text


def test_rates_go_on_to_durable_and_merged_with_the_space_that_it_took() -> None:
    run = measured(66_000.0, durable=60_000.0)
    text = effective_text(replace(run, eps_merged=55_000.0, store_bytes=182_000))
    assert "refreshed and flushed 60,000 EPS, to merged as well 55,000 EPS" in text
    assert "182 bytes on disk per event" in text


def test_work_put_off_is_told_with_the_rate_that_pays_for_it() -> None:
    run = replace(measured(66_000.0, paid=58_000.0), deferred_cpu_us=3.46)
    text = effective_text(run)
    assert (
        "58,000 EPS with the work paid for that was put off past the window "
        f"(3.5 of the engine's {run.engine_cpu_us + 3.46:.1f} us of CPU per event)" in text
    )


def test_what_nobody_counted_is_left_out() -> None:
    unknown = replace(USED, bulk=None, bulks_per_second=None, events_per_bulk=None)
    text = effective_text(replace(measured(66_000.0), effective=unknown))
    assert "bulk" not in text

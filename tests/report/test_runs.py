"""What people read of one run: what was effective, what limited it, and open-loop trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.measure.factory import failed, limited_by, measured
from tests.measure.paced import ACTION, MAIN, NOTHING, paced
from tests.measure.series import series
from tests.measure.stages import CALM
from tuner.engine.bulk_times import BulkLatency
from tuner.measure.bottleneck import Diagnosis
from tuner.measure.measurement import (
    Doubt,
    DoubtKind,
    Failure,
    Measurement,
    PacedMeasurement,
    TracePoint,
)
from tuner.measure.stages import Effective, QueueUse, ThreadUse
from tuner.measure.sustain import Bounds, LoadTrial, Overload, overload_plan
from tuner.report.markdown import blocks_markdown as markdown
from tuner.report.runs import (
    bottleneck_blocks,
    effective_blocks,
    effective_table,
)
from tuner.report.series import overload_blocks, phase_blocks, sustain_blocks
from tuner.space.knob import Bottleneck


def effective_markdown(run: Measurement) -> str:
    table = [] if run.effective is None else [effective_table(run.effective, "it")]
    return markdown([*effective_blocks(run), *table])


def freshness_markdown(outcome: PacedMeasurement | Failure, limit_s: float) -> str:
    whole = series((), "prod")
    fresh = replace(whole.variants[0], freshness=outcome, freshness_limit_s=limit_s)
    return markdown(phase_blocks(replace(whole, variants=(fresh,))))


def sustain_markdown(known: Bounds, trials: Sequence[LoadTrial]) -> str:
    return markdown(sustain_blocks(known, trials))


def overload_markdown(outcome: Overload | Failure) -> str:
    return markdown(overload_blocks(outcome))


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
    text = effective_markdown(replace(measured(66_000.0), effective=USED))
    assert (
        "| logs queue | 50,000 messages, batch 2,000, 4 workers "
        "| held at most 50,000 (100%), 2 workers ran |"
    ) in text
    assert "| rs:logs queue:R |  | 2 threads, 6.29 µs CPU per event |" in text


def test_bulk_requests_come_with_size_rate_and_percentiles() -> None:
    text = effective_markdown(replace(measured(66_000.0), effective=USED))
    assert "33.0 a second, each of 1,987 events and 600 KiB on average" in text
    assert "p50 40 ms, p95 90 ms, p99 120 ms, at most 128 ms (the engine's own histogram)" in text


def test_rates_go_on_to_durable_and_merged_with_the_space_that_it_took() -> None:
    run = measured(66_000.0, durable=60_000.0)
    text = effective_markdown(replace(run, eps_merged=55_000.0, store_bytes=182_000))
    assert "refreshed and flushed 60,000 EPS, to merged as well 55,000 EPS" in text
    assert "182 bytes on disk per event" in text


def test_work_put_off_is_told_with_the_rate_that_pays_for_it() -> None:
    run = replace(measured(66_000.0, paid=58_000.0), deferred_cpu_us=3.46)
    text = effective_markdown(run)
    assert (
        "58,000 EPS including deferred work "
        f"(3.5 of the engine's {run.engine_cpu_us + 3.46:.1f} µs of CPU per event)" in text
    )


def test_what_nobody_counted_is_left_out() -> None:
    unknown = replace(USED, bulk=None, bulks_per_second=None, events_per_bulk=None)
    text = effective_markdown(replace(measured(66_000.0), effective=unknown))
    assert "bulk" not in text


def test_a_sentence_then_the_figures_then_the_settings() -> None:
    verdict = Diagnosis(
        Bottleneck.ENGINE_CPU,
        (("engine", "78% of its cores"), ("machine", "98% of 2 cores")),
        ("outputs[logs].index.mapping", "outputs[logs].filter_path"),
        others_cpu=0.02,
        stages=CALM,
    )
    assert markdown(bottleneck_blocks(verdict)).splitlines() == [
        "bottleneck: engine CPU: the engine's CPU set the rate: make an event cheaper to index, "
        "or give the engine more cores",
        "",
        "- engine: 78% of its cores",
        "- machine: 98% of 2 cores",
        "- settings that can help: outputs[logs].index.mapping, outputs[logs].filter_path",
    ]


@pytest.mark.parametrize("bottleneck", Bottleneck)
def test_every_bottleneck_has_a_sentence(bottleneck: Bottleneck) -> None:
    text = markdown(bottleneck_blocks(limited_by(bottleneck)))
    assert text.startswith(f"bottleneck: {bottleneck.value}: ")
    assert text.count("\n") == 1


PLAN = overload_plan(10_000.0, 10.0)


def test_freshness_comes_as_percentiles_with_the_rate_and_the_guardrail() -> None:
    text = freshness_markdown(paced(p99_s=0.9), 45.0)
    assert "at 10,000 events per second" in text
    assert "p50 0.45 s, p95 0.90 s, p99 0.90 s, at most 0.90 s" in text
    assert "within freshness_p99_s, 45 s" in text


def test_a_breached_guardrail_cannot_be_overlooked() -> None:
    assert "ABOVE freshness_p99_s, 2 s" in freshness_markdown(paced(p99_s=3.0), 2.0)


def test_freshness_that_failed_or_cannot_be_seen_says_so() -> None:
    assert "not measured: delivery incomplete: it lost two" in freshness_markdown(failed(), 45.0)
    assert "cannot be seen" in freshness_markdown(paced(p99_s=None), 45.0)


def test_doubts_about_freshness_are_told() -> None:
    doubtful = replace(paced(), doubts=(Doubt(DoubtKind.DISTURBED, "63% of the cores"),))
    assert "doubt: disturbed (63% of the cores)" in freshness_markdown(doubtful, 45.0)


def test_the_sustainable_rate_names_what_was_too_much_and_why() -> None:
    trials = (
        LoadTrial(60_000.0, 10.0, "fell behind by 900 events each second", paced()),
        LoadTrial(58_500.0, 10.0, None, paced()),
    )
    text = sustain_markdown(Bounds(58_500.0, 60_000.0), trials)
    head = (
        "maximum sustainable rate: 58,500 events per second; 60,000 is not sustainable: fell behind"
    )
    assert head in text
    assert "| 58,500 | 10 | 0.45 s | 0.90 s | yes |" in text
    assert "| 60,000 | 10 | 0.45 s | 0.90 s | no: fell behind by 900 events each second |" in text


def test_a_pipeline_that_carries_nothing_says_so() -> None:
    assert "not found; 1,000 is not sustainable" in sustain_markdown(Bounds(None, 1_000.0), ())


def test_an_overload_tells_where_the_events_were_and_what_it_cost() -> None:
    run = replace(
        paced((TracePoint(0.0, 0, 0, 0),), pace_kept=False),
        effective=replace(
            NOTHING,
            queues=(
                replace(MAIN, most_held=70_000),
                replace(ACTION, most_held=50_000, most_on_disk=400_000, discarded=12),
            ),
        ),
        spool_bytes=256 * 1024**2,
        blocked_s=3.2,
    )
    text = overload_markdown(Overload(PLAN, run, 500_000, 20_000, 8.5))
    for said in (
        "15,000 events per second for 10 s, before and after it 5,000",
        "behind by at most 500,000 events, 20,000 of them not taken from the senders",
        "main Q held at most 70,000 of 100,000\n",
        "logs queue held at most 50,000 of 50,000 and 400,000 on disk, discarded 12",
        "on disk at most 256 MiB",
        "senders blocked for 3.2 s, 20,000 of 100,000 messages more than 50 ms late, by up to 3.2",
        "0 lost, 0 duplicated",
        "recovered 8.5 s after its end",
    ):
        assert said in text


def test_an_overload_that_did_not_end_or_failed_says_so() -> None:
    run = paced((TracePoint(0.0, 0, 0, 0),))
    assert "did not recover" in overload_markdown(Overload(PLAN, run, 0, 0, None))
    assert "overload: delivery incomplete" in overload_markdown(failed())

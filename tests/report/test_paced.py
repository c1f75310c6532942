"""What is said of open-loop trials."""

from __future__ import annotations

from dataclasses import replace

from tests.measure.factory import failed
from tests.measure.paced import paced
from tuner.measure.measurement import Doubt, DoubtKind
from tuner.measure.overload import Overload, overload_plan
from tuner.measure.paced_summary import Moment, QueueHigh
from tuner.measure.sustain import Bounds, LoadTrial
from tuner.report.paced import freshness_text, overload_text, sustain_text

PLAN = overload_plan(10_000.0, 1.5, 10.0)


def test_freshness_comes_as_percentiles_with_the_rate_and_the_guardrail() -> None:
    text = freshness_text(paced(p99_s=0.9), 45.0)
    assert "at 10,000 events per second" in text
    assert "p50 0.45 s, p95 0.90 s, p99 0.90 s, at most 0.90 s" in text
    assert "within freshness_p99_s, 45 s" in text


def test_a_breached_guardrail_cannot_be_overlooked() -> None:
    assert "ABOVE freshness_p99_s, 2 s" in freshness_text(paced(p99_s=3.0), 2.0)


def test_freshness_that_failed_or_cannot_be_seen_says_so() -> None:
    assert "not measured: delivery incomplete: it lost two" in freshness_text(failed(), 45.0)
    assert "cannot be seen" in freshness_text(paced(p99_s=None), 45.0)


def test_doubts_about_freshness_are_told() -> None:
    doubtful = replace(paced(), doubts=(Doubt(DoubtKind.DISTURBED, "63% of the cores"),))
    assert "doubt: disturbed (63% of the cores)" in freshness_text(doubtful, 45.0)


def test_the_sustainable_rate_names_what_was_too_much_and_why() -> None:
    trials = (
        LoadTrial(60_000.0, 10.0, "fell behind by 900 events each second", paced()),
        LoadTrial(58_500.0, 10.0, None, paced()),
    )
    text = sustain_text(Bounds(58_500.0, 60_000.0), trials)
    head = "maximum sustainable rate: 58,500 events per second; 60,000 is too much: fell behind"
    assert head in text
    assert "| 58,500 | 10 | 0.45 s | 0.90 s | yes |" in text
    assert "| 60,000 | 10 | 0.45 s | 0.90 s | no: fell behind by 900 events each second |" in text


def test_a_pipeline_that_carries_nothing_says_so() -> None:
    assert "none was found; 1,000 is too much" in sustain_text(Bounds(None, 1_000.0), ())


def test_an_overload_tells_where_the_events_were_and_what_it_cost() -> None:
    run = replace(
        paced((Moment(0.0, 0, 0, 0),), pace_kept=False),
        queues=(
            QueueHigh("main Q", 70_000, 100_000, 0),
            QueueHigh("logs queue[DA]", 400_000, 0, 12),
        ),
        spool_bytes=256 * 1024**2,
        blocked_s=3.2,
    )
    text = overload_text(Overload(PLAN, run, 500_000, 20_000, 8.5))
    for said in (
        "15,000 events per second for 10 s, before and after it 5,000",
        "behind by at most 500,000 events, 20,000 of them not taken from the senders",
        "main Q held at most 70,000 of 100,000\n",
        "logs queue[DA] held at most 400,000, discarded 12",
        "on disk at most 256 MiB",
        "senders blocked for 3.2 s, 20,000 of 100,000 messages more than 50 ms late, by up to 3.2",
        "0 lost, 0 duplicated",
        "recovered 8.5 s after its end",
    ):
        assert said in text


def test_an_overload_that_did_not_end_or_failed_says_so() -> None:
    run = paced((Moment(0.0, 0, 0, 0),))
    assert "not recovered" in overload_text(Overload(PLAN, run, 0, 0, None))
    assert "overload: delivery incomplete" in overload_text(failed())

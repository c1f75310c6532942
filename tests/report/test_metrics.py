"""What a run tells Prometheus, read as node_exporter reads it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from tests.measure.factory import failed, measured
from tests.measure.paced import paced
from tests.search.test_journal import HEADER
from tuner.measure.measurement import Doubt, DoubtKind, Result, TrialPlan
from tuner.report.metrics import (
    Gauges,
    metrics_text,
    of_intent,
    of_trials,
)
from tuner.search.study import BASELINE, Asked, Changes, Ending, Phase, Study, Trial
from tuner.search.verdict import judge

PLAN = TrialPlan(1.0, 2.0)
CHANGED: Changes = (("outputs[logs].queue.size", 5000),)
BEGUN = Gauges("prod", 1_700_000_000.0)


def metrics(gauges: Gauges) -> dict[str, Metric]:
    return {one.name: one for one in text_string_to_metric_families(metrics_text(gauges))}


def value(gauges: Gauges, name: str, **labels: str) -> float | None:
    """The value of a sample; None where there is none."""
    found = [
        sample.value
        for family in metrics(gauges).values()
        for sample in family.samples
        if sample.name == f"rsyslog_tune_{name}" and labels.items() <= sample.labels.items()
    ]
    assert len(found) <= 1
    return found[0] if found else None


def trial(number: int, phase: Phase, outcome: Result, changes: Changes = BASELINE) -> Trial:
    return Trial(number, phase, changes, "why", PLAN, outcome, 0.0)


def test_rates_are_those_of_the_profile_as_written_and_of_the_best_trial() -> None:
    trials = [
        trial(-1, Phase.WARM_UP, measured(90_000.0)),
        trial(0, Phase.CALIBRATE, measured(39_000.0)),
        trial(1, Phase.CALIBRATE, measured(40_000.0)),
        trial(2, Phase.CALIBRATE, measured(52_000.0)),
        trial(3, Phase.SEARCH, measured(60_000.0), CHANGED),
        trial(4, Phase.SEARCH, measured(50_000.0), CHANGED),
    ]
    gauges = of_trials(BEGUN, trials, 20, 100.0)
    assert value(gauges, "baseline_events_per_second") == 40_000
    assert value(gauges, "best_events_per_second") == 60_000
    assert value(gauges, "best_gain_ratio") == pytest.approx(0.5)
    assert value(gauges, "last_trial_events_per_second") == 50_000
    assert value(gauges, "cpu_seconds_per_event", process="rsyslogd") == pytest.approx(6e-6)
    assert value(gauges, "cpu_seconds_per_event", process="engine") == pytest.approx(2e-5)
    assert value(gauges, "trial_number") == 4
    assert value(gauges, "trials_planned") == 20
    assert value(gauges, "trials_total") == 6


def test_a_trial_that_failed_has_no_number() -> None:
    trials = [
        trial(0, Phase.CALIBRATE, measured(40_000.0)),
        trial(1, Phase.SEARCH, failed(), CHANGED),
    ]
    gauges = of_trials(BEGUN, trials, 20, 100.0)
    assert value(gauges, "last_trial_events_per_second") is None
    assert value(gauges, "cpu_seconds_per_event", process="engine") is None
    assert value(gauges, "trial_failures_total", kind="delivery") == 1
    assert value(gauges, "trial_failures_total", kind="guardrail") == 0
    assert value(gauges, "best_events_per_second") == 40_000


def test_doubts_are_counted_by_their_kind() -> None:
    doubted = replace(measured(1.0), doubts=(Doubt(DoubtKind.SENDER_LIMITED, "low 3 times"),))
    gauges = replace(BEGUN, outcomes=(doubted, doubted, paced()))
    assert value(gauges, "trial_doubts_total", kind="sender_limited") == 2
    assert value(gauges, "trial_doubts_total", kind="clock") == 0


def test_the_phase_and_the_time_left_follow_the_trial_that_begins() -> None:
    begun = replace(BEGUN, engine="sink", budget_s=60.0)
    gauges = of_intent(begun, Asked(-1, Phase.WARM_UP, BASELINE, "why", PLAN), 50.0)
    assert value(gauges, "phase", phase="warm-up") == 1
    assert value(gauges, "phase", phase="search") == 0
    assert value(gauges, "trial_number") == 0
    assert value(gauges, "remaining_seconds") == 50
    assert value(gauges, "budget_seconds") == 60
    gauges = of_intent(gauges, Asked(7, Phase.EFFECTS, BASELINE, "why", PLAN), -12.0)
    assert value(gauges, "phase", phase="effects") == 1
    assert value(gauges, "remaining_seconds") == 0
    info = metrics(gauges)["rsyslog_tune_info"].samples[0].labels
    assert (info["command"], info["profile"], info["engine"]) == ("search", "prod", "sink")


def test_the_gain_of_a_confirmation_comes_with_its_interval() -> None:
    pairs = [
        replace(trial(number, Phase.CONFIRM, measured(rate + number), changes), pair=number // 2)
        for number, (rate, changes) in enumerate([(40_000.0, BASELINE), (60_000.0, CHANGED)] * 6)
    ]
    study = Study(HEADER, tuple(pairs), Ending.FINISHED)
    gauges = replace(BEGUN, claimed=judge(study).claimed)
    low, middle, high = (
        value(gauges, "confirmed_gain_ratio", bound=bound) for bound in ("low", "ratio", "high")
    )
    assert low is not None
    assert middle == pytest.approx(0.5, abs=0.01)
    assert high is not None
    assert low < 0.5 < high
    assert value(BEGUN, "confirmed_gain_ratio", bound="ratio") is None


def test_every_metric_has_help_and_a_type_and_text_stays_text() -> None:
    profile = 'a"b\\c\nrsyslog_tune_running 7'
    gauges = replace(BEGUN, profile=profile, outcomes=(measured(1.0),))
    found = metrics(gauges)
    assert all(one.documentation and one.type in {"gauge", "counter"} for one in found.values())
    assert found["rsyslog_tune_info"].samples[0].labels["profile"] == gauges.profile
    assert value(gauges, "running") == 1

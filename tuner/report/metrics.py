"""The figures of a run under way, and these as text in Prometheus' format."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from prometheus_client import generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from tuner import __version__
from tuner.measure.measurement import DoubtKind, Failure, FailureKind, Result
from tuner.measure.paired import Comparison
from tuner.search.study import BASELINE, SCORED, Asked, Phase, Trial

BEGINNING = "start"
PHASES = (BEGINNING, *(phase.value for phase in Phase))


@dataclass(frozen=True)
class Gauges(Collector):
    """How far a search has come.

    `phase` is one of `PHASES`; `trial` is the number of the trial that runs or ran last, `planned`
    about how many there will be before the confirmation.  `outcomes` are those of all trials so
    far.  `started_s` counts from 1970, `budget_s` and `left_s` are None until the lab is there,
    `claimed` is what a confirmation shows.
    """

    profile: str
    started_s: float
    phase: str = BEGINNING
    is_running: bool = True
    engine: str = ""
    rsyslog: str = ""
    trial: int = 0
    planned: int | None = None
    outcomes: tuple[Result, ...] = ()
    baseline_eps: float | None = None
    best_eps: float | None = None
    budget_s: float | None = None
    left_s: float | None = None
    claimed: Comparison | None = None

    def collect(self) -> Iterator[Metric]:
        """Every metric that is known so far."""
        return _metrics(self)


def of_intent(gauges: Gauges, asked: Asked, left_s: float) -> Gauges:
    """`gauges` when a trial begins."""
    return replace(gauges, phase=asked.phase.value, trial=max(0, asked.number), left_s=left_s)


def of_trials(gauges: Gauges, trials: Sequence[Trial], planned: int, left_s: float) -> Gauges:
    """`gauges` when a trial has ended, of about `planned` within the budget."""
    last = trials[-1]
    number = max(0, last.number)
    seen = [trial for trial in trials if trial.phase in SCORED]
    rates = [
        (trial.changes, trial.measurement.eps) for trial in seen if trial.measurement is not None
    ]
    baseline = [rate for changes, rate in rates if changes == BASELINE]
    return replace(
        gauges,
        trial=number,
        planned=planned,
        outcomes=tuple(trial.outcome for trial in trials),
        baseline_eps=statistics.median(baseline) if baseline else None,
        best_eps=max((rate for _, rate in rates), default=None),
        left_s=left_s,
    )


_PREFIX = "rsyslog_tune"
_MICRO = 1e-6


def metrics_text(gauges: Gauges) -> str:
    """Every metric that is known so far, with its HELP and TYPE; seconds, ratios and events."""
    return generate_latest(gauges).decode()


def _metrics(gauges: Gauges) -> Iterator[Metric]:
    labels = {
        "version": __version__,
        "command": "search",
        "profile": gauges.profile,
        "engine": gauges.engine,
        "rsyslog": gauges.rsyslog,
    }
    yield InfoMetricFamily(_PREFIX, "What runs, and against what.", labels)
    last = gauges.outcomes[-1] if gauges.outcomes else None
    # A trial that failed gives no number.
    valid = None if isinstance(last, Failure) else last
    for name, text, value in _values(gauges, valid):
        if value is not None:
            yield GaugeMetricFamily(f"{_PREFIX}_{name}", text, value)
    phases = {name: float(name == gauges.phase) for name in PHASES}
    yield _labelled("phase", "1 for the phase it is in.", "phase", phases)
    if (claimed := gauges.claimed) is not None:
        ends = {"low": claimed.low - 1, "ratio": claimed.ratio - 1, "high": claimed.high - 1}
        text = "The gain in fresh pairs, with the ends of its 95 % interval."
        yield _labelled("confirmed_gain_ratio", text, "bound", ends)
    if valid is not None:
        cpu_us = {"rsyslogd": valid.shipper_cpu_us, "engine": valid.engine_cpu_us}
        each_s = {process: used_us * _MICRO for process, used_us in cpu_us.items()}
        text = "Processor time per event in the last trial."
        yield _labelled("cpu_seconds_per_event", text, "process", each_s)
    yield from _counts(gauges.outcomes)


def _values(gauges: Gauges, last: Result | None) -> Iterator[tuple[str, str, float | None]]:
    """The name, the text and the value of each gauge without labels; None where it is not known."""
    baseline, best = gauges.baseline_eps, gauges.best_eps
    yield "running", "Whether it runs; 0 once it has ended.", float(gauges.is_running)
    yield "start_time_seconds", "When it began, since 1970.", gauges.started_s
    yield "trial_number", "The trial that runs or ran last.", gauges.trial
    text = "About how many trials there will be before the confirmation."
    yield "trials_planned", text, gauges.planned
    yield "budget_seconds", "The budget in wall-clock time.", gauges.budget_s
    left_s = None if gauges.left_s is None else max(0.0, gauges.left_s)
    yield "remaining_seconds", "What is left of the budget.", left_s
    text = "Events indexed per second with the profile as written, the median of its runs."
    yield "baseline_events_per_second", text, baseline
    text = "The most events indexed per second in a trial; one lucky trial, not a claim."
    yield "best_events_per_second", text, best
    gain = None if best is None or baseline is None else best / baseline - 1
    yield "best_gain_ratio", "The best over the baseline, less 1; no claim.", gain
    eps = None if last is None or isinstance(last, Failure) else last.eps
    yield "last_trial_events_per_second", "Events indexed per second in the last trial.", eps


def _counts(outcomes: Sequence[Result]) -> Iterator[Metric]:
    trials = CounterMetricFamily(f"{_PREFIX}_trials", "Trials that have ended.")
    trials.add_metric([], len(outcomes))
    yield trials
    failed = Counter(outcome.kind for outcome in outcomes if isinstance(outcome, Failure))
    valid = (outcome for outcome in outcomes if not isinstance(outcome, Failure))
    doubted = Counter(doubt.kind for outcome in valid for doubt in outcome.doubts)
    failures = {kind.name.lower(): failed[kind] for kind in FailureKind}
    doubts = {kind.name.lower(): doubted[kind] for kind in DoubtKind}
    family = CounterMetricFamily
    yield _labelled("trial_failures", "Failed trials, by reason.", "kind", failures, family)
    yield _labelled(
        "trial_doubts", "Reasons to trust trials less, by kind.", "kind", doubts, family
    )


def _labelled(
    name: str,
    text: str,
    label: str,
    values: Mapping[str, float],
    kind: type[GaugeMetricFamily | CounterMetricFamily] = GaugeMetricFamily,
) -> Metric:
    """A metric with a value for each value of its label."""
    family = kind(f"{_PREFIX}_{name}", text, labels=[label])
    for label_value, value in values.items():
        family.add_metric([label_value], value)
    return family

"""The figures of a run that is under way, for whoever watches it from elsewhere."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tuner.measure.metrics import Result
from tuner.measure.paired import Comparison
from tuner.search.study import BASELINE, Asked, Header, Phase, Study, Trial
from tuner.search.verdict import judge

BEGINNING = "start"
SEARCH_PHASES = (BEGINNING, *(phase.value for phase in Phase))
BENCH_PHASES = (BEGINNING, "warm-up", "run", "freshness", "sustain", "overload", "ceiling")


@dataclass(frozen=True)
class Gauges:
    """How far a command has come.

    `phase` is one of `phases`; `trial` is the number of the trial that runs or ran last, `planned`
    about how many there will be, in a search before the confirmation.  `outcomes` are those of all
    trials so far.  `started_s` counts from 1970, `budget_s` and `left_s` are None for a command
    without a budget, `claimed` is what a confirmation shows.
    """

    command: str
    profile: str
    phases: tuple[str, ...]
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


def with_outcome(gauges: Gauges, outcome: Result) -> Gauges:
    """`gauges` with one more outcome."""
    return replace(gauges, outcomes=(*gauges.outcomes, outcome))


def of_header(gauges: Gauges, header: Header) -> Gauges:
    """`gauges` with what a search knows once its lab is open."""
    return replace(
        gauges, engine=header.engine, rsyslog=header.rsyslog, budget_s=header.budget_s
    )  # fmt: skip


def of_intent(gauges: Gauges, asked: Asked, left_s: float) -> Gauges:
    """`gauges` when a trial begins."""
    return replace(gauges, phase=asked.phase.value, trial=max(0, asked.number), left_s=left_s)


def of_trials(gauges: Gauges, trials: Sequence[Trial], planned: int, left_s: float) -> Gauges:
    """`gauges` when a trial has ended, of about `planned` within the budget."""
    last = trials[-1]
    number = max(0, last.number)
    seen = [one for one in trials if one.phase not in {Phase.WARM_UP, Phase.CONFIRM}]
    rates = [(one.changes, one.measurement.eps) for one in seen if one.measurement is not None]
    baseline = [rate for changes, rate in rates if changes == BASELINE]
    return replace(
        gauges,
        trial=number,
        planned=planned,
        outcomes=tuple(one.outcome for one in trials),
        baseline_eps=statistics.median(baseline) if baseline else None,
        best_eps=max((rate for _, rate in rates), default=None),
        left_s=left_s,
    )


def of_study(gauges: Gauges, study: Study) -> Gauges:
    """`gauges` when a search has ended, with what it claims."""
    return replace(gauges, claimed=judge(study).claimed)

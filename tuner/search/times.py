"""Where the time of a search went, by phase and by part of a trial; pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import zip_longest

from tuner.measure.measurement import Failure, Spent
from tuner.search.study import Phase, Study, Trial


@dataclass(frozen=True)
class PhaseTime:
    """The trials of one phase, their seconds, and how many of those were windows in which a rate
    was measured that counts: none of the warm-up's, none of trials that failed."""

    phase: Phase
    trials: int
    seconds: float
    windows_s: float


@dataclass(frozen=True)
class Overhead:
    """What `trials` of the search took beside their windows, in seconds: the median, and the
    median of each part, which need not add up to it.

    They are those that were measured without a restart of the engine before them.
    """

    trials: int
    median_s: float
    parts: Spent


@dataclass(frozen=True)
class Times:
    """The seconds of `machines` machines, those of each session from the end of the one before, or
    the start of the command, to the end of its last trial.

    `starts_s` went by before a session was ready to measure, `restarts_s` on `restarts` restarts of
    the engine with other node settings; `between_s` is what the search itself took between trials,
    to decide and to keep its books, and what machines waited for each other.  `measuring` is the
    share of the budget of each spent in windows.
    """

    machines: int
    total_s: float
    starts_s: float
    restarts: int
    restarts_s: float
    phases: tuple[PhaseTime, ...]
    between_s: float
    measuring: float
    overhead: Overhead | None


def times(study: Study) -> Times:
    """The time of every trial of a study, by what it went into."""
    trials = study.trials
    restarts_s = [_restart_s(trial) for trial in trials if _restart_s(trial) > 0]
    phases = tuple(_phase_time(phase, study.of(phase)) for phase in Phase if study.of(phase))
    in_trials_s = sum(one.seconds for one in phases) + sum(restarts_s)
    windows_s = sum(one.windows_s for one in phases)
    total_s, starts_s = 0.0, 0.0
    for machines, began_s, own in _by_session(study):
        total_s += machines * (max(one.ended_s for one in own) - began_s)
        starts_s += machines * sum(_gaps_s(own, began_s))
    whole_s = max((trial.ended_s for trial in trials), default=0.0)
    return Times(
        machines=max(1, len({trial.machine for trial in trials})),
        total_s=total_s,
        starts_s=starts_s,
        restarts=len(restarts_s),
        restarts_s=sum(restarts_s),
        phases=phases,
        between_s=total_s - starts_s - in_trials_s,
        measuring=windows_s / study.header.budget_s * (whole_s / total_s if total_s else 0.0),
        overhead=_overhead(study.of(Phase.SEARCH)),
    )


def _by_session(study: Study) -> Iterator[tuple[int, float, list[Trial]]]:
    """How many machines each session that made trials had, when the one before ended, and its
    trials."""
    began_s = 0.0
    for session, after in zip_longest(study.sessions, study.sessions[1:]):
        end_s = math.inf if after is None else after.at_s
        own = [trial for trial in study.trials if session.at_s <= trial.at_s < end_s]
        if own:
            yield len(session.machines), began_s, own
            began_s = max(trial.ended_s for trial in own)


def _gaps_s(trials: Sequence[Trial], ended_s: float) -> Iterator[float]:
    """The times in which no trial was under way: the next one begins for the search when one ends,
    or when a session is ready to measure."""
    for trial in sorted(trials, key=lambda one: one.at_s):
        yield max(0.0, trial.at_s - ended_s)
        ended_s = max(ended_s, trial.ended_s)


def _phase_time(phase: Phase, trials: Sequence[Trial]) -> PhaseTime:
    windows_s = 0.0 if phase is Phase.WARM_UP else sum(_window_s(trial) for trial in trials)
    return PhaseTime(phase, len(trials), sum(t.outcome.total_s for t in trials), windows_s)


def _window_s(trial: Trial) -> float:
    spent = trial.outcome.spent
    return 0.0 if spent is None or isinstance(trial.outcome, Failure) else spent.window_s


def _restart_s(trial: Trial) -> float:
    spent = trial.outcome.spent
    return 0.0 if spent is None else spent.restart_s


def _overhead(trials: Sequence[Trial]) -> Overhead | None:
    measured = [trial.measurement for trial in trials]
    every = [one.spent for one in measured if one is not None and one.spent is not None]
    alike = [spent for spent in every if spent.restart_s == 0.0]
    if not alike:
        return None
    names = [one.name for one in fields(Spent)]
    parts = Spent(**{name: statistics.median(getattr(s, name) for s in alike) for name in names})
    return Overhead(len(alike), statistics.median(s.overhead_s for s in alike), parts)

"""The front of two figures: points of a search of which none is better in both, each shown by fresh
pairs with the profile as written."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tuner.measure.paired import Comparison
from tuner.profile.objective import Objective
from tuner.search.calibration import over_baseline
from tuner.search.study import (
    BASELINE,
    SCORED,
    Changes,
    Limits,
    Options,
    Phase,
    Study,
    Trial,
)
from tuner.search.verdict import (
    Pair,
    candidate_of,
    confirming,
    disqualified,
    figure_compared,
    lesser_gain,
    measured_by,
    neighbours,
)

MOST_BESIDE = 4
"""Points that get pairs of their own, beside the winner."""
TIME_SHARE = 0.3
"""What of the budget is set aside for those pairs."""


def aside_s(options: Options, budget_s: float) -> float:
    """What a search sets aside for them, in seconds; 0 where none was asked for."""
    return 0.0 if options.front is None else TIME_SHARE * budget_s


@dataclass(frozen=True)
class FrontPoint:
    """A point with its gain of what the search makes better, and how the other figure moved, by
    pairs of its own."""

    changes: Changes
    gain: Comparison
    other: Comparison


def to_pair(trials: Sequence[Trial], other: Objective, limits: Limits) -> tuple[Changes, ...]:
    """Up to four points beside the winner, by the trials of the search: the front of both figures,
    spread over it."""
    winner = candidate_of(trials)
    logs: dict[Changes, list[tuple[float, float]]] = {}
    scored = [trial for trial in trials if trial.phase in SCORED]
    for trial, gain in over_baseline(scored, trials):
        if trial.measurement is not None and (figure := trial.measurement.figure_of(other)) > 0:
            logs.setdefault(trial.changes, []).append((gain, other.facts.log_score(figure)))
    means = {
        changes: (statistics.fmean(gain for gain, _ in runs), statistics.fmean(o for _, o in runs))
        for changes, runs in logs.items()
        if changes == BASELINE or disqualified(trials, changes, limits) is None
    }
    best = [
        changes
        for changes, figures in means.items()
        if not any(_is_better(rival, figures) for rival in means.values())
    ]
    beside = sorted((c for c in best if c not in (winner, BASELINE)), key=lambda c: -means[c][0])
    every = max(1.0, len(beside) / MOST_BESIDE)
    return tuple(beside[int(every * at)] for at in range(min(MOST_BESIDE, len(beside))))


def _is_better(rival: tuple[float, float], figures: tuple[float, float]) -> bool:
    return rival != figures and all(r >= f for r, f in zip(rival, figures, strict=True))


def front_of(study: Study) -> tuple[FrontPoint, ...]:
    """The points that pairs show, without those that are worse in both figures than another one or
    the profile as written; the largest gain first."""
    if study.header.options.front is None:
        return ()
    points = [*_points(study, study.header.options.front)]
    facts = study.header.options.front.facts
    figures = [
        (1.0, 1.0),
        *((point.gain.ratio, facts.turned(point.other.ratio)) for point in points),
    ]
    kept = [
        point
        for point, own in zip(points, figures[1:], strict=True)
        if not any(_is_better(rival, own) for rival in figures)
    ]
    return tuple(sorted(kept, key=lambda point: -point.gain.ratio))


def complete_front(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """The second sides of the complete pairs of such points."""
    runs = [trial for trial in trials if trial.phase is Phase.FRONT]
    points = {run.changes for run in runs if run.changes}
    return tuple(after for changes in points for _, after in neighbours(runs, BASELINE, changes))


def _points(study: Study, other: Objective) -> Iterator[FrontPoint]:
    runs = study.of(Phase.FRONT)
    paired = {run.changes: neighbours(runs, BASELINE, run.changes) for run in runs if run.changes}
    winner = candidate_of(study.trials)
    if winner is not None:
        paired[winner] = iter(confirming(study.trials))
    for changes, trials in paired.items():
        both = [*trials]
        pairs: tuple[Pair, ...] = measured_by(both)
        machines = [after.machine for _, after in both]
        gain, moved = lesser_gain(pairs, machines), figure_compared(pairs, other, machines)
        if gain is not None and moved is not None and gain.enough:
            yield FrontPoint(changes, gain, moved)

"""The front of two figures: points of a search of which none is better in both, each shown by fresh
pairs with the profile as written."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

from tuner.measure.enough import FEWEST_PAIRS
from tuner.measure.measurement import TrialPlan
from tuner.measure.paired import Comparison
from tuner.profile.objective import Objective
from tuner.search import notes
from tuner.search.budget import MOST_BESIDE
from tuner.search.calibration import over_baseline
from tuner.search.farm import Task, Work
from tuner.search.runner import Runner
from tuner.search.study import (
    BASELINE,
    SCORED,
    Changes,
    Limits,
    Phase,
    Step,
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


Paired = Callable[[Phase, Mapping[Changes, str], TrialPlan, int, str], Work]
"""What makes a pair: its phase, its sides with what they are called, the plan of a run, the number
and the machine."""


def front_pairs(runner: Runner, paired: Paired) -> Iterator[Step]:
    """The fewest pairs, in turns, of the profile as written and of as many points as there is time
    for."""
    forecast, header = runner.forecast, runner.setup.header
    if header.options.front is None:
        return
    forecast.aside_s, plan = 0.0, forecast.plans.final
    points = to_pair(runner.trials, header.options.front, header.limits)
    pairs_s = [FEWEST_PAIRS * forecast.pair_s(plan, changes) for changes in points]
    left_s = forecast.left_s() - runner.setup.pace.end_s
    fit = sum(total_s <= left_s for total_s in accumulate(pairs_s))
    if fit < len(points):
        yield runner.note(notes.shorter_front(fit, len(points)))
    made = {run.pair for run in _complete(runner.trials)}
    turns = [
        (pair, changes)
        for pair, changes in enumerate(FEWEST_PAIRS * points[:fit], 1)
        if pair not in made
    ]

    def next_task(_: str) -> Task | None:
        return partial(next_pair, *turns.pop(0)) if turns else None

    def next_pair(pair: int, changes: Changes, machine: str) -> Work:
        sides = {BASELINE: runner.baseline, changes: "on the front"}
        return (yield from paired(Phase.FRONT, sides, plan, pair, machine))

    yield from runner.run(next_task, again=False)


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


def _complete(trials: Sequence[Trial]) -> tuple[Trial, ...]:
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

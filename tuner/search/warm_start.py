"""What earlier searches ended with, as points of this search: to be measured first; pure.

Only the points are taken over.  Rates differ from day to day on one machine, so nothing that was
measured then counts now.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from tuner.search.study import BASELINE, Changes, Earlier, Phase, Study
from tuner.search.verdict import judge
from tuner.space.knob import Knob, Level

_MOST_POINTS = 3


def earlier_points(run: str, study: Study, knobs: Sequence[Knob]) -> tuple[Earlier, ...]:
    """Up to three points that a study ended with, as changes of what is searched now: what it
    recommended, what it confirmed, and the best that it measured more than once."""
    verdict = judge(study)
    candidates = [verdict.changes, verdict.confirmed, *_repeated(study)]
    points = dict.fromkeys(_here(changes, study, knobs) for changes in candidates if changes)
    points.pop(BASELINE, None)
    return tuple(Earlier(run, changes) for changes in list(points)[:_MOST_POINTS])


def _repeated(study: Study) -> list[Changes]:
    """Points that were measured again, to choose among them: the best mean first."""
    again = {trial.changes for trial in study.of(Phase.FINAL)} - {BASELINE}
    rates: dict[Changes, list[float]] = defaultdict(list)
    for trial in study.trials:
        if trial.changes in again and trial.measurement is not None:
            rates[trial.changes].append(trial.measurement.eps_paid)
    return sorted(rates, key=lambda changes: -float(np.mean(rates[changes])))


def _here(changes: Changes, study: Study, knobs: Sequence[Knob]) -> Changes:
    """The same settings as changes of the profile that is searched now, as far as its knobs have
    these levels."""
    then: dict[str, Level] = {axis.path: axis.current for axis in study.header.space}
    then |= dict(changes)
    levels = {
        knob.path: then[knob.path]
        for knob in knobs
        if knob.path in then and then[knob.path] in knob.levels
    }
    current = {knob.path: knob.current for knob in knobs}
    return tuple(sorted((path, level) for path, level in levels.items() if level != current[path]))

"""What the machine's speed explains of the trials that a search learns from; pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tuner.measure.covariates import Adjustment, ProbedRun, adjustment, usual
from tuner.measure.metrics import restarted
from tuner.search.study import Changes, Phase, Trial


def adjustment_of(trials: Sequence[Trial]) -> Adjustment | None:
    """The adjustment that the trials so far allow, to the speed of the machine while the profile
    was calibrated; None without a probe.

    A run just after a restart of the engine is slow for a reason of its own, and tells nothing of
    slopes.
    """
    by_settings: dict[Changes, list[ProbedRun]] = {}
    calibrated = []
    for trial in trials:
        run = trial.measurement
        if run is None or run.speed is None or restarted(run):
            continue
        logs = run.speed.logs
        by_settings.setdefault(trial.changes, []).append(ProbedRun(math.log(run.eps_paid), logs))
        if trial.phase is Phase.CALIBRATE:
            calibrated.append(logs)
    return adjustment(list(by_settings.values()), usual(calibrated)) if calibrated else None

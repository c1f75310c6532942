"""What the machine's speed, by the probe beside each run, explains of the noise of rates; pure.

An analysis of covariance (Fisher 1932, Statistical Methods for Research Workers, 4th ed.): of runs
of the same settings, log(EPS) falls as the probe's fixed work takes longer, by slopes that a
regression estimates.  The probe is settings-independent by construction only: where it shows
otherwise, what it explains must not be taken out.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from tuner.measure.speed import Logs

Floats = NDArray[np.float64]

# 20 runs of one profile on Elasticsearch, two cores, windows of 4 s: least squares
# of log(EPS) on the logs of both pieces gave -1.18 (standard error 0.36) and -1.23 (0.39), with a
# correlation of -0.67 and a residual standard deviation of 0.071; without them it was 0.146.
# Machines differ, so the prior's standard deviations are twice those errors.
_PRIOR_SLOPES = np.array([-1.2, -1.2])
_PRIOR_COVARIANCE = np.array([[0.56, -0.375], [-0.375, 0.56]])
_RESIDUAL_SIGMA = 0.07
_CHANCE = 0.05
_FEWEST_PAIRS = 3


@dataclass(frozen=True)
class ProbedRun:
    """The logarithm of a run's rate, and the covariates that the probe showed beside it."""

    log_rate: float
    logs: Logs


@dataclass(frozen=True)
class Slopes:
    """By how much the logarithm of a rate changes with the logarithms of what the probe's pieces
    take; `estimated` is how many of the two parameters the runs themselves decided."""

    zlib: float
    socket: float
    estimated: float = 0.0

    def explained(self, logs: Logs, usual: Logs) -> float:
        """How far above its usual value the machine's speed puts the logarithm of a rate."""
        return self.zlib * (logs[0] - usual[0]) + self.socket * (logs[1] - usual[1])


PRIOR = Slopes(*map(float, _PRIOR_SLOPES))
"""What is believed of slopes before any run."""


def slopes_of(settings: Sequence[Sequence[ProbedRun]]) -> Slopes:
    """The slopes within settings: each item of `settings` holds all runs of the same ones.

    A Bayesian regression with a normal prior and known noise (Gelman et al., Bayesian Data
    Analysis, 3rd ed., 14.8), because three to six runs alone would tell of nearly any slopes.  Each
    group's own means are taken out first: what differs between settings tells nothing of slopes.
    """
    centred = [_centred(runs) for runs in settings if len(runs) > 1]
    rates = np.concatenate([one for one, _ in centred] or [np.empty(0)])
    logs = np.concatenate([one for _, one in centred] or [np.empty((0, 2))])
    prior = np.linalg.inv(_PRIOR_COVARIANCE) * _RESIDUAL_SIGMA**2
    shown = logs.T @ logs
    slopes = np.linalg.solve(prior + shown, prior @ _PRIOR_SLOPES + logs.T @ rates)
    estimated = float(np.trace(np.linalg.solve(prior + shown, shown)))
    return Slopes(float(slopes[0]), float(slopes[1]), estimated)


def _centred(runs: Sequence[ProbedRun]) -> tuple[Floats, Floats]:
    """Rates and covariates of runs of the same settings without their means."""
    rates = np.array([run.log_rate for run in runs])
    logs = np.array([run.logs for run in runs])
    return rates - rates.mean(), logs - logs.mean(axis=0)


def usual(runs: Sequence[Logs]) -> Logs:
    """The mean of the covariates."""
    return statistics.fmean(one[0] for one in runs), statistics.fmean(one[1] for one in runs)


def moved(first: Sequence[Logs], second: Sequence[Logs]) -> bool:
    """Whether the settings themselves move the probe: of interleaved pairs of runs, whether its
    mean differs between the sides by more than chance explains in 19 of 20 cases.

    What is tested is what an adjustment would add, so by the slopes that are believed beforehand:
    one Student's t on the pairs' differences, and not one for each piece.  Then the raw figures
    count; where chance alone moved the probe (1 case in 20), those tend to differ by chance as
    well, so that a claim then needs both, raw and adjusted.
    """
    added = [PRIOR.explained(b, a) for a, b in zip(first, second, strict=True)]
    if len(added) < _FEWEST_PAIRS:
        return False
    error = statistics.stdev(added) / math.sqrt(len(added))
    return abs(statistics.fmean(added)) > float(stdtrit(len(added) - 1, 1 - _CHANCE / 2)) * error

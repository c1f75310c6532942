"""How fast the machine was during a run, by the probe beside it, and what that explains of the
noise of rates: a covariate, never a score; pure.

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

from tuner.lab.probe import Pieces

Logs = tuple[float, float]
"""The covariates of a run: logarithms of the CPU time of the probe's pieces, zlib before socket."""


@dataclass(frozen=True)
class Speed:
    """What one piece of the probe's fixed work took in the mean over a window, in microseconds of
    CPU time: time by the clock depends on how much the pipeline leaves of the cores, and so on its
    settings."""

    zlib_us: float
    socket_us: float

    @property
    def logs(self) -> Logs:
        """The covariates."""
        return math.log(self.zlib_us), math.log(self.socket_us)


def speed_of(pieces: Pieces | None) -> Speed | None:
    """The speed that the probe's work of a window shows; None without a probe."""
    if pieces is None or pieces.count < 1:
        return None
    each_us = 1e6 / pieces.count
    return Speed(pieces.zlib_cpu_s * each_us, pieces.socket_cpu_s * each_us)


Floats = NDArray[np.float64]

# 20 runs of one profile on Elasticsearch, two cores, windows of 4 s: least squares
# of log(EPS) on the logs of both pieces gave -1.18 (standard error 0.36) and -1.23 (0.39), with a
# correlation of -0.67 and a residual standard deviation of 0.071; without them it was 0.146.
# Machines differ, and a pipeline that waits for its disk depends little on the cores, so the prior
# is wider than those errors: five runs on a machine whose speed varies as much outweigh it.
_PRIOR_SLOPES = np.array([-1.2, -1.2])
_PRIOR_SIGMA = 0.85
_RESIDUAL_SIGMA = 0.07
_RESIDUAL_WEIGHT = 4
_ROUNDS = 6
# In standard deviations within settings, and in settings.
_REACH = 3.0
_WEIGHT_UNMOVED = 4


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

    A Bayesian regression with priors on slopes and noise (Gelman et al., Bayesian Data Analysis,
    3rd ed., 14.8; the mode of both in turn), because three to six runs alone would tell of nearly
    any slopes, and of anything where an engine still gets warm.  Each group's own means are taken
    out first: what differs between settings tells nothing of slopes.
    """
    centred = [_centred(runs) for runs in settings if len(runs) > 1]
    rates = np.concatenate([rates for rates, _ in centred] or [np.empty(0)])
    logs = np.concatenate([covariates for _, covariates in centred] or [np.empty((0, 2))])
    shown, target = logs.T @ logs, logs.T @ rates
    freedom = len(rates) - len(centred)
    variance = _RESIDUAL_SIGMA**2
    for _ in range(_ROUNDS):
        prior = np.eye(2) * variance / _PRIOR_SIGMA**2
        slopes = np.linalg.solve(prior + shown, prior @ _PRIOR_SLOPES + target)
        residuals = rates - logs @ slopes
        expected = _RESIDUAL_WEIGHT * _RESIDUAL_SIGMA**2
        variance = (expected + float(residuals @ residuals)) / (_RESIDUAL_WEIGHT + freedom)
    estimated = float(np.trace(np.linalg.solve(prior + shown, shown)))
    return Slopes(float(slopes[0]), float(slopes[1]), estimated)


def _centred(runs: Sequence[ProbedRun]) -> tuple[Floats, Floats]:
    """Rates and covariates of runs of the same settings without their means."""
    rates = np.array([run.log_rate for run in runs])
    logs = np.array([run.logs for run in runs])
    return rates - rates.mean(), logs - logs.mean(axis=0)


def usual(runs: Sequence[Logs]) -> Logs:
    """The mean of the covariates."""
    return statistics.fmean(logs[0] for logs in runs), statistics.fmean(logs[1] for logs in runs)


@dataclass(frozen=True)
class Adjustment:
    """What to take off the logarithms of rates of any settings for the machine's speed.

    `share` is how much of what the probe shows is the machine's and not the settings', from 0 to 1.
    """

    slopes: Slopes
    usual: Logs
    share: float
    sigma: float

    def above_usual(self, logs: Logs) -> float:
        """How far the machine's speed put a run above the usual.  What lies beyond three standard
        deviations of runs of the same settings is not the machine's."""
        reach = _REACH * self.sigma
        explained = self.slopes.explained(logs, self.usual)
        return self.share * min(max(explained, -reach), reach)


def adjustment(settings: Sequence[Sequence[ProbedRun]], middle: Logs) -> Adjustment | None:
    """The adjustment that the runs of all settings so far allow, to the usual speed `middle`; None
    without settings that were run twice.

    A point that was run once does not show whether the machine or its settings moved the probe.
    The share is the best linear prediction of the machine's part (an intraclass correlation, from
    the mean squares within and between settings: Searle, Casella and McCulloch 1992, Variance
    Components, 3.6): the more settings move the probe, the less is taken off.
    """
    slopes = slopes_of(settings)
    scores = [[slopes.explained(run.logs, middle) for run in runs] for runs in settings if runs]
    freedom = sum(len(runs) - 1 for runs in scores)
    if freedom < 1:
        return None
    within = sum(statistics.pvariance(runs) * len(runs) for runs in scores) / freedom
    share = _share_of_machine(scores, within)
    return Adjustment(slopes, middle, share, math.sqrt(within))


def _share_of_machine(scores: Sequence[Sequence[float]], within: float) -> float:
    """The variance within settings over all of it; a few settings that seem to have moved the probe
    are weighed against as many that have not."""
    counts = np.array([len(runs) for runs in scores])
    means = np.array([statistics.fmean(runs) for runs in scores])
    groups, runs = len(scores) - 1, float(counts.sum())
    if groups == 0 or within == 0:
        return 1.0
    spread = float(counts @ (means - counts @ means / runs) ** 2)
    between = (spread + _WEIGHT_UNMOVED * within) / (groups + _WEIGHT_UNMOVED)
    runs_of_group = (runs - float(counts @ counts) / runs) / groups
    return within / (within + max(0.0, between - within) / runs_of_group)

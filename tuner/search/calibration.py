"""How noisy the measurements are, before anything is searched: repeated runs of the profile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from tuner.errors import GuardrailBreached, JobFailed
from tuner.measure.adjusted import counted_sigma
from tuner.measure.contrast import detectable_by
from tuner.measure.measurement import Failure, FailureKind, Measurement
from tuner.measure.paired import Comparison, compare
from tuner.measure.speed import ProbedRun, Speed, slopes_of, usual
from tuner.search.study import Trial

Floats = NDArray[np.float64]

# What a quiet machine with two cores showed, worth as much as two differences of successive runs:
# a handful of runs alone would often tell of no noise at all.
_PRIOR_SIGMA = 0.05
_PRIOR_WEIGHT = 2.0
_LEAST_SIGMA = 0.005
FEWEST_RATES = 2
"""With one rate there is no noise to be seen."""
# Fewer runs than this tell a drift from noise only where it is absurd.
_FEWEST_DRIFTING = 4


@dataclass(frozen=True)
class Calibration:
    """What repeated runs of one profile show.

    `sigma` is the standard deviation of a run's logarithm, `sigma_adjusted` that without what the
    machine's speed explains, None where a run has no probe beside it; `drift` is the change from
    the first run to the last, by a straight line, with the standard error of that.
    `self_comparison` compares the profile with itself, run by neighbouring run, and is None with
    fewer than four runs.
    """

    runs: int
    sigma: float
    drift: float
    drift_error: float
    self_comparison: Comparison | None
    sigma_adjusted: float | None = None

    def detectable(self, pairs: int, *, restarting: bool = False) -> float | None:
        """The smallest gain, as a fraction, that so many pairs show with 80 % power, where the
        engine restarts in each or not; None where they can show nothing."""
        return detectable_by(pairs, self.sigma_counted, restarting=restarting)

    @property
    def sigma_counted(self) -> float:
        """The noise by which pairs decide."""
        if self.sigma_adjusted is None:
            return self.sigma
        return counted_sigma(self.sigma, self.sigma_adjusted)

    @property
    def drifts(self) -> bool:
        """Whether the rate changed by more than noise explains in 19 of 20 cases."""
        freedom = self.runs - 1 + _PRIOR_WEIGHT
        return (
            self.runs >= _FEWEST_DRIFTING
            and abs(self.drift) > float(stdtrit(freedom, 0.975)) * self.drift_error
        )

    @property
    def claims_by_itself(self) -> bool:
        """Whether the profile looks different from itself, so that something is wrong."""
        paired = self.self_comparison
        return paired is not None and not paired.low <= 1.0 <= paired.high


def calibrate(
    rates: Sequence[float], at_s: Sequence[float], speeds: Sequence[Speed | None] = ()
) -> Calibration:
    """From the rates of repeated runs, when they were made, and how fast the machine was; at least
    `FEWEST_RATES`.

    With three to six runs the slopes of the adjustment are mostly those believed beforehand, from
    20 runs on another machine (see `tuner.measure.speed`).
    """
    logs = np.log(np.asarray(rates, dtype=float))
    sigma = _sigma(logs)
    drift, drift_error = _drift(logs, np.asarray(at_s, dtype=float), sigma)
    pairs = list(pairwise(rates))[::2]
    paired = compare([a for a, _ in pairs], [b for _, b in pairs]) if len(pairs) >= 2 else None
    adjusted = _sigma_adjusted(logs, [one for one in speeds if one is not None])
    return Calibration(len(rates), sigma, drift, drift_error, paired, adjusted)


def _sigma(logs: Floats, fitted: float = 0.0) -> float:
    """The noise by differences of successive runs (von Neumann 1941), without their mean, which is
    the drift of an engine that still gets warm; it leans on what is usual.  So many parameters were
    `fitted` to the runs before."""
    steps = np.diff(logs)
    squares = float(((steps - steps.mean()) ** 2).sum()) / 2 + _PRIOR_WEIGHT * _PRIOR_SIGMA**2
    # The mean of m steps has the variance of a step over the square of m.
    freedom = max(0.0, len(steps) - 1 / len(steps) - fitted)
    return max(_LEAST_SIGMA, math.sqrt(squares / (freedom + _PRIOR_WEIGHT)))


def _sigma_adjusted(logs: Floats, speeds: Sequence[Speed]) -> float | None:
    """The noise that the machine's speed leaves; None unless it is known of every run."""
    if len(speeds) < len(logs):
        return None
    runs = [ProbedRun(float(log), one.logs) for log, one in zip(logs, speeds, strict=True)]
    slopes, middle = slopes_of([runs]), usual([run.logs for run in runs])
    rest = [run.log_rate - slopes.explained(run.logs, middle) for run in runs]
    return _sigma(np.array(rest), slopes.estimated)


def _drift(
    logs: Floats,
    at_s: Floats,
    sigma: float,
) -> tuple[float, float]:
    """The least-squares change over the whole time and its standard error."""
    lasts_s = float(np.ptp(at_s))
    if lasts_s == 0.0:
        return 0.0, math.inf
    times = (at_s - at_s.mean()) / lasts_s
    spread = float((times**2).sum())
    return float((times * logs).sum()) / spread, sigma / math.sqrt(spread)


def required(trial: Trial) -> Measurement:
    """The measurement of the baseline, without which no candidate can be compared with it; raises
    GuardrailBreached where it breached a guardrail, JobFailed where it failed otherwise."""
    if isinstance(trial.outcome, Measurement):
        return trial.outcome
    if not isinstance(trial.outcome, Failure):
        raise TypeError("a run at a fixed rate is no baseline")
    outcome, what = trial.outcome, "with its repairs" if trial.repaired else "as written"
    if outcome.kind is FailureKind.GUARDRAIL:
        raise GuardrailBreached(
            f"the profile {what} breaches its own guardrails: {outcome.reason}: there is "
            "nothing to compare with, so it stays as it is"
        )
    raise JobFailed(f"the profile {what} cannot be measured: {outcome}")

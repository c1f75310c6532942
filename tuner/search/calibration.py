"""How noisy the measurements are, before anything is searched: repeated runs of the profile."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tuner.errors import GuardrailBreached, JobFailed
from tuner.measure.contrast import counted_sigma, detectable_by
from tuner.measure.measurement import Failure, FailureKind, Measurement
from tuner.measure.series import restarted
from tuner.measure.speed import Adjustment, ProbedRun, Speed, adjustment, slopes_of, usual
from tuner.search.space import Floats
from tuner.search.study import HERE, Changes, Phase, Trial

# What a quiet machine with two cores showed, worth half as much as the difference of two runs: a
# handful of runs alone would often tell of no noise at all.  It only adds to what the runs tell.
_PRIOR_SIGMA = 0.05
_PRIOR_WEIGHT = 0.5
_LEAST_SIGMA = 0.005
# From fewer runs than this no drift is taken off: it would take most of their noise with it.
_FEWEST_DRIFTING = 5


@dataclass(frozen=True)
class Calibration:
    """What repeated runs of one profile show.

    `sigma` is the standard deviation of a run's logarithm, `sigma_adjusted` that without what the
    machine's speed explains, None where a run has no probe beside it.  The noise is
    `known_by` so many degrees of freedom.
    """

    runs: int
    sigma: float
    sigma_adjusted: float | None = None
    known_by: float = math.inf

    def detectable(self, pairs: int) -> float | None:
        """The smallest gain, as a fraction, that so many pairs show with 80 % power; None where
        they can show nothing, or the noise was not seen."""
        if self.known_by == 0.0:
            return None
        return detectable_by(pairs, self.sigma_counted, known_by=self.known_by)

    @property
    def sigma_counted(self) -> float:
        """The noise by which pairs decide."""
        if self.sigma_adjusted is None:
            return self.sigma
        return counted_sigma(self.sigma, self.sigma_adjusted)


@dataclass(frozen=True)
class Repeats:
    """The rates of repeated runs on one machine, and how fast it was."""

    rates: Sequence[float]
    speeds: Sequence[Speed | None] = ()
    machine: str = HERE

    @property
    def logs(self) -> Floats:
        """The logarithms of the rates."""
        logs: Floats = np.log(np.asarray(self.rates, dtype=float))
        return logs


def calibrating(trials: Sequence[Trial]) -> list[Trial]:
    """The repeated runs that have a rate: those of the profile with its repairs, where there are
    any."""
    runs = [trial for trial in trials if trial.phase is Phase.CALIBRATE]
    repaired = any(run.repaired for run in runs)
    return [run for run in runs if run.repaired is repaired and run.measurement is not None]


def repeats_of(
    trials: Sequence[Trial], figure: Callable[[Measurement], float] = lambda run: run.score
) -> list[Repeats]:
    """The repeated runs of the baseline, by machine."""
    by_machine: dict[str, list[Measurement]] = {}
    for trial in calibrating(trials):
        if trial.measurement is not None:
            by_machine.setdefault(trial.machine, []).append(trial.measurement)
    return [
        Repeats([figure(run) for run in runs], [run.scored_speed for run in runs], machine)
        for machine, runs in by_machine.items()
    ]


def over_baseline(
    measured: Sequence[Trial], trials: Sequence[Trial]
) -> Iterator[tuple[Trial, float]]:
    """Those of some trials that have a rate, with the logarithm of it over that of the baseline on
    their machine, by the repeated runs among all `trials`: machines differ.  One without such runs
    passes for a usual one."""
    baselines = {repeats.machine: float(repeats.logs.mean()) for repeats in repeats_of(trials)}
    usual = statistics.fmean(baselines.values()) if baselines else 0.0
    for run in measured:
        if run.measurement is not None:
            rate = math.log(run.measurement.score)
            yield run, rate - baselines.get(run.machine, usual)


def calibrate(*machines: Repeats) -> Calibration:
    """From repeated runs on each machine.

    Machines differ, so only what runs on the same one show is noise.  With three to six runs the
    slopes of the adjustment are mostly those believed beforehand, from 20 runs on another machine
    (see `tuner.measure.speed`).
    """
    logs = [repeats.logs for repeats in machines]
    sigma = _sigma(logs)
    runs = sum(map(len, logs))
    _, freedom = step_squares(logs)
    return Calibration(runs, sigma, _sigma_adjusted(machines), freedom)


def _sigma(logs: Sequence[Floats], fitted: float = 0.0) -> float:
    """The noise by differences of successive runs (von Neumann 1941); it is never below what leans
    on the usual.  So many parameters were `fitted` to the runs before."""
    squares, freedom = step_squares(logs)
    squares, freedom = squares / 2, max(0.0, freedom - fitted)
    leaning = (squares + _PRIOR_WEIGHT * _PRIOR_SIGMA**2) / (freedom + _PRIOR_WEIGHT)
    seen = squares / freedom if freedom > 0 else 0.0
    return max(_LEAST_SIGMA, math.sqrt(max(seen, leaning)))


def step_squares(logs: Sequence[Floats]) -> tuple[float, float]:
    """The squares of the steps from one run to the next of each machine and their degrees of
    freedom: each step has twice the variance of a run.  From five runs on they are without their
    mean, which is the drift of an engine that still gets warm.

    Two steps share a run, so that they tell less than as many numbers of their own: the degrees of
    freedom are those of a chi-squared with as much variance (Satterthwaite 1946).
    """
    squares, freedom = 0.0, 0.0
    for steps in (np.diff(machine_logs) for machine_logs in logs if len(machine_logs) > 1):
        count = len(steps)
        centring = np.eye(count) - (1 / count if count + 1 >= _FEWEST_DRIFTING else 0.0)
        covariances = (
            centring @ (2 * np.eye(count) - np.eye(count, k=1) - np.eye(count, k=-1)) @ centring
        )
        total = float(np.trace(covariances))
        steps_freedom = total**2 / float((covariances**2).sum())
        squares += float(steps @ centring @ steps) * 2 * steps_freedom / total
        freedom += steps_freedom
    return squares, freedom


def _sigma_adjusted(machines: Sequence[Repeats]) -> float | None:
    """The noise that the machines' speed leaves; None unless it is known of every run."""
    groups: list[list[ProbedRun]] = []
    for repeats in machines:
        speeds = [speed for speed in repeats.speeds if speed is not None]
        if len(speeds) < len(repeats.rates):
            return None
        runs = zip(repeats.logs.tolist(), speeds, strict=True)
        groups.append([ProbedRun(log, speed.logs) for log, speed in runs])
    slopes = slopes_of(groups)
    unexplained = []
    for group in groups:
        middle = usual([run.logs for run in group])
        residuals = [run.log_rate - slopes.explained(run.logs, middle) for run in group]
        unexplained.append(np.array(residuals))
    return _sigma(unexplained, slopes.estimated)


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
        if run is None or run.scored_speed is None or restarted(run):
            continue
        logs = run.scored_speed.logs
        by_settings.setdefault(trial.changes, []).append(ProbedRun(math.log(run.score), logs))
        if trial.phase is Phase.CALIBRATE:
            calibrated.append(logs)
    return adjustment(list(by_settings.values()), usual(calibrated)) if calibrated else None


def required(trial: Trial) -> Measurement:
    """The measurement of the baseline, without which no candidate can be compared with it; raises
    GuardrailBreached where it breached a guardrail, JobFailed where it failed otherwise."""
    if isinstance(trial.outcome, Measurement):
        return trial.outcome
    if not isinstance(trial.outcome, Failure):
        raise TypeError("a run at a fixed rate is no baseline")
    outcome, baseline = trial.outcome, "with its repairs" if trial.repaired else "as written"
    if outcome.kind is FailureKind.GUARDRAIL:
        less = "" if trial.plan.offered is None else "; --rate offers less"
        less += ", --outage is shorter" if less and trial.plan.outage_s else ""
        raise GuardrailBreached(
            f"the profile {baseline} breaches its own guardrails: {outcome.reason}: there is "
            f"nothing to compare with, so it stays as it is{less}"
        )
    raise JobFailed(f"the profile {baseline} cannot be measured: {outcome}")

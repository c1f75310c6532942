"""The course of `bench`: runs of a profile, and then the phases that were chosen."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from tuner.cli.console import say
from tuner.cli.files import MetricsFile
from tuner.cli.runs import lab_pace
from tuner.engines.index import MappingStyle
from tuner.flood.schedule import fixed
from tuner.lab.lab import Lab
from tuner.measure.ceiling import Ceiling, CeilingPlan, ceiling
from tuner.measure.measurement import Failure, Measurement, Outcome, TrialPlan
from tuner.measure.metrics import Result
from tuner.measure.overload import Overload, overload_of, overload_plan
from tuner.measure.paced import Pacing, run_paced
from tuner.measure.paced_summary import PacedMeasurement
from tuner.measure.survival import NamedRun, Survivor
from tuner.measure.sustain import Goal, LoadTrial, bounds, search_load, why_not
from tuner.measure.trial import run_trial
from tuner.profile.model import Profile
from tuner.report.bench import Bench, Sustained
from tuner.report.figures import eps, seconds
from tuner.report.metrics import with_outcome
from tuner.search.budget import trial_seconds

_LEAD_S = 2.0
# Freshness is judged where a pipeline should run, not where it is full.
_SHARE = 0.7
_FIRST_SHARE = 0.9


@dataclass(frozen=True)
class BenchOptions:
    """What the options ask for."""

    repeat: int
    window_s: float
    freshness: bool
    sustain: bool
    overload: bool
    ceiling: bool


class BenchCourse:
    """Runs a profile and then the phases that were chosen, one after the other in a lab, and goes
    on after a run that lost the engine."""

    def __init__(
        self,
        lab: Lab,
        profile: Profile,
        chosen: BenchOptions,
        metrics: MetricsFile,
        tell: Callable[[str], None],
    ) -> None:
        self._lab = lab
        self._profile = profile
        self._chosen = chosen
        self._metrics = metrics
        self._tell = tell
        self._pace = lab_pace(lab)
        self._names = (f"t{number}" for number in itertools.count())
        self._warm_up = TrialPlan(self._pace.warm_up_s, 2 * self._pace.engine_warm_up_s)
        self._survivor = Survivor(lab, profile, self._warm_up)

    def runs(self) -> Iterator[Outcome]:
        """A warm-up run, which is not kept, then the runs."""
        pace, repeat, window_s = self._pace, self._chosen.repeat, self._chosen.window_s
        plan = TrialPlan(pace.warm_up_s, window_s, window_s, awaits_counters=True)
        self._enter("warm-up")
        self._survivor.measured(
            self._profile,
            partial(run_trial, self._lab, self._profile, self._warm_up),
            next(self._names),
            lambda stage: self._tell(f"warm-up: {stage}"),
        )
        ends_s = time.monotonic() + repeat * trial_seconds(plan, pace.overhead_s, pace)
        for number in range(1, repeat + 1):
            run = f"run {number} of {repeat}"
            self._enter("run", number)
            measure = partial(run_trial, self._lab, self._profile, plan)
            for outcome in self._attempts(measure, _stages(run, ends_s, self._tell)):
                if isinstance(outcome, PacedMeasurement):
                    raise TypeError("a run that saturates has no pace")
                say(f"{run}: {_what(outcome)}")
                yield outcome

    def phases(self, measured: Bench, per_second: float) -> Iterator[Bench]:
        """What is known after each phase that was chosen; `per_second` is the median of the runs,
        or what the profile's workload asks for."""
        if self._chosen.freshness:
            self._enter("freshness")
            measured = replace(measured, freshness=self._freshness(per_second))
            yield measured
        if self._chosen.sustain:
            self._enter("sustain")
            measured = replace(measured, sustained=self._sustain(per_second))
            yield measured
        if self._chosen.overload:
            self._enter("overload")
            measured = replace(measured, overload=self._overload(per_second))
            yield measured
        if self._chosen.ceiling:
            self._enter("ceiling")
            yield replace(measured, ceiling=self._ceiling())

    def _freshness(self, per_second: float) -> PacedMeasurement | Failure | None:
        """From due to searchable, at seven tenths of the measured rate or at the profile's own;
        None where nothing is kept that could be searched."""
        if self._profile.measured.index.mapping is MappingStyle.NONE:
            return None
        fixed_rate = self._profile.workload.rate != "max"
        rate, judged_s = per_second if fixed_rate else _SHARE * per_second, self._judged_s()
        self._say(f"freshness: {eps(rate)} events per second for {judged_s:g} s")
        return self._paced(_steady(rate, judged_s))

    def _sustain(self, per_second: float) -> Sustained:
        """The maximum sustainable rate, beginning a little below the measured one."""
        window_s = self._chosen.window_s
        goal = Goal(trial_s=window_s, enough_s=3 * window_s)

        def evaluate(load: float) -> LoadTrial:
            self._tell(f"sustainable rate: {eps(load)} events per second")
            outcome = self._paced(_steady(load, window_s))
            reason = why_not(outcome, self._profile)
            say(f"{eps(load)} events per second: {reason or 'carried'}")
            return LoadTrial(load, window_s, reason, outcome)

        trials = search_load(evaluate, goal, _FIRST_SHARE * per_second)
        return Sustained(bounds(trials, goal), trials)

    def _overload(self, per_second: float) -> Overload | Failure:
        """150 % of the measured rate, for the length of a window."""
        plan = overload_plan(per_second, self._chosen.window_s)
        self._say(f"overload: {eps(plan.over_per_second)} events per second for {plan.over_s:g} s")
        outcome = self._paced(plan.pacing)
        return outcome if isinstance(outcome, Failure) else overload_of(plan, outcome)

    def _ceiling(self) -> Ceiling:
        """What the warm engine carries without rsyslog."""
        self._say("the engine's ceiling")
        return ceiling(self._lab, self._profile, say, CeilingPlan(engine_warm_up_s=0.0))

    def _paced(self, pacing: Pacing) -> PacedMeasurement | Failure:
        """A run by a schedule; the second one where the first lost the engine."""
        measure = partial(run_paced, self._lab, self._profile, pacing)
        *_, outcome = self._attempts(measure, lambda _: None)
        if isinstance(outcome, Measurement):
            raise TypeError("a run by a schedule does not saturate")
        return outcome

    def _attempts(self, measure: NamedRun, tell: Callable[[str], None]) -> Iterator[Result]:
        """Each attempt of a run, in the metrics as it ends."""
        for result in self._survivor.attempts(self._profile, measure, self._names, tell, say):
            self._metrics.update(with_outcome(self._metrics.gauges, result))
            yield result

    def _judged_s(self) -> float:
        """As long as a window, and whole refresh intervals, two at least: freshness goes up and
        down with them."""
        window_s = self._chosen.window_s
        interval_s = self._lab.engine.refresh_s(self._profile.measured)
        if not interval_s:
            return window_s
        return interval_s * max(2, math.ceil(window_s / interval_s))

    def _enter(self, phase: str, trial: int | None = None) -> None:
        gauges = replace(self._metrics.gauges, phase=phase)
        self._metrics.update(gauges if trial is None else replace(gauges, trial=trial))

    def _say(self, phase: str) -> None:
        """Show which phase begins: as it goes on, and as a line that stays."""
        self._tell(phase)
        say(phase)


def _steady(per_second: float, judged_s: float) -> Pacing:
    whole_s = _LEAD_S + judged_s
    return Pacing(fixed(per_second), whole_s, _LEAD_S, whole_s)


def _stages(run: str, ends_s: float, tell: Callable[[str], None]) -> Callable[[str], None]:
    """Shows the stages of a run, and about how long the runs still take."""
    return lambda stage: tell(
        f"{run}: {stage}, about {seconds(ends_s - time.monotonic())} until the last run ends"
    )


def _what(outcome: Outcome) -> str:
    if isinstance(outcome, Failure):
        return f"failed: {outcome.reason}"
    return f"{eps(outcome.eps)} EPS"

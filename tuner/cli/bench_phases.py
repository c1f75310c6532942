"""The phases of `rsyslog-tune bench` beyond its runs: freshness, sustainable rate, overload."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

from tuner.cli.console import say
from tuner.engines.index import MappingStyle
from tuner.flood.schedule import fixed
from tuner.lab.lab import Lab
from tuner.measure.ceiling import Ceiling, CeilingPlan, ceiling
from tuner.measure.measurement import Failure
from tuner.measure.overload import Overload, overload_of, overload_plan
from tuner.measure.paced import Pacing, run_paced
from tuner.measure.paced_summary import PacedMeasurement
from tuner.measure.sustain import Goal, LoadTrial, bounds, search_load, why_not
from tuner.profile.model import Profile
from tuner.report.bench import Sustained
from tuner.report.figures import eps

_LEAD_S = 2.0
# Freshness is judged where a pipeline should run, not where it is full.
_SHARE = 0.7
_FIRST_SHARE = 0.9
_OVERLOAD = 1.5


@dataclass
class Phases:
    """Runs the phases one after the other in a lab; `rate` is the median of the runs, or what the
    profile's workload asks for, and `window_s` what was asked for a run."""

    lab: Lab
    profile: Profile
    rate: float
    window_s: float
    tell: Callable[[str], None]
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def freshness(self) -> PacedMeasurement | Failure | None:
        """From due to searchable, at seven tenths of the measured rate or at the profile's own;
        None where nothing is kept that could be searched."""
        if self.profile.measured.index.mapping is MappingStyle.NONE:
            return None
        fixed_rate = self.profile.workload.rate != "max"
        rate, judged_s = self.rate if fixed_rate else _SHARE * self.rate, self._judged_s()
        self._begin(f"freshness: {eps(rate)} events per second for {judged_s:g} s")
        return self._paced(rate, judged_s)

    def sustain(self) -> Sustained:
        """The maximum sustainable rate, beginning a little below the measured one."""
        goal = Goal(trial_s=self.window_s, enough_s=3 * self.window_s)

        def evaluate(load: float) -> LoadTrial:
            self.tell(f"sustainable rate: {eps(load)} events per second")
            outcome = self._paced(load, self.window_s)
            reason = why_not(outcome, self.profile)
            say(f"{eps(load)} events per second: {reason or 'carried'}")
            return LoadTrial(load, self.window_s, reason, outcome)

        trials = search_load(evaluate, goal, _FIRST_SHARE * self.rate)
        return Sustained(bounds(trials, goal), trials)

    def overload(self) -> Overload | Failure:
        """Half as much again as the measured rate, for the time of a window."""
        plan = overload_plan(self.rate, _OVERLOAD, self.window_s)
        self._begin(
            f"overload: {eps(plan.over_per_second)} events per second for {plan.over_s:g} s"
        )
        outcome = run_paced(self.lab, self.profile, plan.pacing, self._name(), lambda _: None)
        return outcome if isinstance(outcome, Failure) else overload_of(plan, outcome)

    def ceiling(self) -> Ceiling:
        """What the engine, warm by now, carries without rsyslog."""
        self._begin("the engine's ceiling")
        return ceiling(self.lab, self.profile, say, CeilingPlan(engine_warm_up_s=0.0))

    def _paced(self, per_second: float, judged_s: float) -> PacedMeasurement | Failure:
        whole_s = _LEAD_S + judged_s
        pacing = Pacing(fixed(per_second), whole_s, _LEAD_S, whole_s)
        return run_paced(self.lab, self.profile, pacing, self._name(), lambda _: None)

    def _judged_s(self) -> float:
        """As long as a window, and whole refresh intervals, two at least: freshness goes up and
        down with them."""
        interval_s = self.lab.engine.refresh_s(self.profile.measured)
        if not interval_s:
            return self.window_s
        return interval_s * max(2, math.ceil(self.window_s / interval_s))

    def _begin(self, phase: str) -> None:
        """Show which phase begins: as it goes on, and as a line that stays."""
        self.tell(phase)
        say(phase)

    def _name(self) -> str:
        return f"p{next(self._numbers)}"

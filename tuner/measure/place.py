"""Measuring in one lab: trials that saturate or follow a rate, and the ceiling of its engine."""

from __future__ import annotations

from tuner.flood.pace import fixed
from tuner.measure.ceiling import Ceiling, CeilingPlan, ceiling
from tuner.measure.measurement import Result, TrialPlan
from tuner.measure.paced import Pacing, run_paced
from tuner.measure.sustain import overload_plan
from tuner.measure.trial import Survivor, Tell, run_trial
from tuner.profile.model import Profile


class LabTrials(Survivor):
    """Trials in one lab, whose engine may die and gets warm first where it was restarted."""

    def trial(
        self, profile: Profile, plan: TrialPlan, per_second: float | None, name: str, tell: Tell
    ) -> Result:
        """A trial by `plan`: at `per_second` events a second, else as fast as they are taken."""

        def run(name: str, tell: Tell) -> Result:
            if per_second is None:
                return run_trial(self.lab, profile, plan, name, tell)
            return run_paced(self.lab, profile, _pacing(plan, per_second), name, tell)

        return self.measured(profile, run, name, tell)

    def ceiling(self, profile: Profile, tell: Tell) -> Ceiling:
        """What the engine carries of the documents of `profile` without rsyslog, once warm."""
        restarted = self.lab.engine.run_with(profile) > 0
        warm_up_s = self.warm_up.window_s if restarted else 0.0
        return ceiling(self.lab, profile, tell, CeilingPlan(engine_warm_up_s=warm_up_s))


def _pacing(plan: TrialPlan, per_second: float) -> Pacing:
    if plan.overloads:
        return overload_plan(per_second, plan.window_s).pacing
    whole_s = plan.warm_up_s + plan.window_s
    return Pacing(fixed(per_second), whole_s, plan.warm_up_s, whole_s)

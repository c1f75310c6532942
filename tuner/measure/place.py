"""Measuring in one lab: trials that saturate or follow a rate, and the ceiling of its engine, which
restarts first where a profile wants other node settings, and is started again where it is lost."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from tuner.engine.owned import remove
from tuner.errors import JobFailed, Refused, TuneError, Unreachable
from tuner.flood.pace import fixed
from tuner.lab.lab import Lab
from tuner.lab.nodes import NodeRefused
from tuner.measure.ceiling import Ceiling, CeilingPlan, ceiling
from tuner.measure.measurement import (
    Failure,
    FailureKind,
    Result,
    Spent,
    TrialPlan,
)
from tuner.measure.paced import Pacing, run_paced
from tuner.measure.prepared import prepare
from tuner.measure.sustain import overload_plan
from tuner.measure.trial import Tell, failure_of, run_trial
from tuner.profile.model import Profile


def run_profile(
    lab: Lab,
    profile: Profile,
    plan: TrialPlan,
    name: str,
    tell: Tell,
    per_second: float | None = None,
) -> Result:
    """A trial of a profile, under a name that is unique in the run: at `per_second` events a
    second, else as fast as they are taken.  Raises Refused for what a lab cannot measure,
    Unreachable where the engine is gone."""
    began_s = time.monotonic()
    try:
        trial = prepare(lab, profile, name)
    except (JobFailed, Refused, Unreachable) as error:
        failure, spent = failure_of(error, lab, name), Spent(start_s=time.monotonic() - began_s)
        return replace(failure, total_s=spent.total_s, spent=spent)
    if per_second is None:
        return run_trial(trial, plan, tell)
    return run_paced(trial, _pacing(plan, per_second), tell)


MOST_LOSSES = 3
"""So often in a row may an engine be lost before it is given up."""

FIRST_INDEX = TrialPlan(1.0, 1.0)
"""What goes into the first index of an engine of ours, before anything else.  Whatever it takes, on
the second index Elasticsearch 8.19 spent twice the CPU per event of the third: 131 and 60 us after
24 s on the first, 122 and 62 after 41 s.  After this and 24 s on the second, the third took 70 us
and those after it 77, 68 and 59 (2 cores, examples/published/p1-production.yaml)."""

NamedRun = Callable[[str, Tell], Result]
"""A run by its name, which tells of its stages."""


@dataclass
class LabTrials:
    """Measures in a lab whose engine may die or fall silent; it then runs again as it did first,
    and gets warm with the profile as `written`.  An engine of ours has had an index before, and is
    warm where it was started again."""

    lab: Lab
    written: Profile
    warm_up: TrialPlan
    _losses: int = 0
    _restart_s: float = 0.0
    _has_index: bool = False
    _is_cold: bool = False

    def trial(
        self, profile: Profile, plan: TrialPlan, per_second: float | None, name: str, tell: Tell
    ) -> Result:
        """A trial by `plan`, as `run_profile` makes it."""
        run = partial(run_profile, self.lab, profile, plan, per_second=per_second)
        return self.measured(profile, run, name, tell)

    def ceiling(self, profile: Profile, tell: Tell) -> Ceiling:
        """What the engine carries of the documents of `profile` without rsyslog, once warm."""
        restarted = self.lab.engine.run_with(profile) > 0
        warm_up_s = self.warm_up.window_s if restarted else 0.0
        return ceiling(self.lab, profile, tell, CeilingPlan(engine_warm_up_s=warm_up_s))

    def measured(self, profile: Profile, run: NamedRun, name: str, tell: Tell) -> Result:
        """What `run` gives on the engine as `profile` wants it, with the seconds of the restarts
        before it; a Failure where the engine does not start so, or was lost.

        Raises Unreachable where the engine does not come back, or was lost too often without a run
        in between that went well.
        """
        try:
            self.lab.check()
        except Unreachable as lost:
            self._revive(lost, name, tell)
        restart_s, began_s = self._restart_s, time.monotonic()
        self._restart_s = 0.0
        try:
            restart_s += self._turned(profile, name, tell)
            self._give_index(profile, name, tell)
            result = run(name, tell)
        except NodeRefused as refused:
            self._is_cold, self._has_index = True, False
            restart_s += time.monotonic() - began_s
            result = Failure(FailureKind.ENGINE_DOWN, str(refused))
        except Unreachable as lost:
            lost_s = time.monotonic() - began_s
            self._revive(lost, name, tell)
            spent = Spent(restart_s=restart_s, stop_s=lost_s)
            return Failure(
                FailureKind.ENGINE_DOWN, str(lost), total_s=lost_s, spent=spent, lost_engine=True
            )
        if not isinstance(result, Failure):
            self._losses = 0
        elif (loss := self.lab.loss()) is not None:
            self._revive(Unreachable(loss), name, tell)
            result = replace(result, lost_engine=True)
        return replace(result, spent=replace(result.spent or Spent(), restart_s=restart_s))

    def _turned(self, profile: Profile, name: str, tell: Tell) -> float:
        """Restart the engine if `profile` has other node settings, and warm up one that was
        restarted, because a JVM that has just started is slow; the seconds that it took, 0 without
        a restart."""
        began_s = time.monotonic()
        if self.lab.engine.run_with(profile) > 0:
            self._is_cold, self._has_index = True, False
        if not self._is_cold:
            return 0.0
        self._get_warm(profile, f"{name}w", tell)
        return time.monotonic() - began_s

    def _get_warm(self, profile: Profile, name: str, tell: Tell) -> None:
        self._give_index(profile, name, tell)
        run_profile(self.lab, profile, self.warm_up, name, tell)
        self._is_cold = False

    def _give_index(self, profile: Profile, name: str, tell: Tell) -> None:
        if self.lab.engine.restarts and not self._has_index:
            self._has_index = True
            run_profile(self.lab, profile, FIRST_INDEX, f"{name}f", tell)

    def _revive(self, lost: Unreachable, name: str, tell: Tell) -> None:
        """Start the engine again and warm it up, which may lose it again."""
        self._losses += 1
        if self._losses >= MOST_LOSSES:
            raise Unreachable(f"the engine was lost {self._losses} times in a row: {lost}")
        tell("starting the engine again")
        began_s = time.monotonic()
        try:
            self.lab.engine.revive()
        except Unreachable as gone:
            raise Unreachable(f"{lost}; {gone}") from None
        self._is_cold, self._has_index = True, False
        with contextlib.suppress(TuneError):
            remove(self.lab.client, self.lab.owner, self.lab.owner.prefix)
        try:
            self._get_warm(self.written, f"{name}r{self._losses}", tell)
        except Unreachable as second_loss:
            self._revive(second_loss, name, tell)
        self._restart_s = time.monotonic() - began_s


def _pacing(plan: TrialPlan, per_second: float) -> Pacing:
    if plan.overloads:
        return overload_plan(per_second, plan.window_s).pacing
    whole_s = plan.warm_up_s + plan.window_s
    return Pacing(fixed(per_second), whole_s, plan.warm_up_s, whole_s)

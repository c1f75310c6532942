"""Profiles side by side in one lab, in blocks of runs, and the exit code of runs that failed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tuner.errors import GuardrailBreached, JobFailed
from tuner.flood.schedule import fixed
from tuner.lab.lab import Lab
from tuner.measure.blocks import Arm, Run, block_order
from tuner.measure.measurement import Failure, FailureKind, TrialPlan
from tuner.measure.metrics import Result
from tuner.measure.paced import Pacing, run_paced
from tuner.measure.paced_summary import PacedMeasurement
from tuner.measure.trial import Tell, run_trial
from tuner.measure.turning import turned, when_turned
from tuner.profile.model import Profile
from tuner.report.figures import eps
from tuner.search.budget import NODE_PACE, SINK_PACE, Pace, trial_seconds
from tuner.search.checks import check_plan, interval_s


@dataclass
class SideBySide:
    """Runs arms in a lab, each run under a name of its own.

    `plan` is that of a saturating run; with `judges_freshness` runs follow the fixed rate of
    their workload instead, for as long as that takes.
    """

    lab: Lab
    plan: TrialPlan
    rng: random.Random
    tell: Callable[[str], None]
    judges_freshness: bool = False
    count: int = 0

    def warm_up(self, arm: Arm) -> None:
        """Run the first arm unscored: an engine that was just started is slow for a while."""
        self.tell("warming up the engine")
        if not turned(self.lab, arm.profile, self._warm_up, self._name(), _quiet):
            plan = TrialPlan(self.plan.warm_up_s, 2 * lab_pace(self.lab).engine_warm_up_s)
            run_trial(self.lab, arm.profile, plan, self._name(), _quiet)

    def blocks(self, arms: Sequence[Arm], count: int) -> Iterator[Run]:
        """Every arm once a block, as each run ends; the engine is warm for the first arm."""
        last = arms[0]
        for block in range(1, count + 1):
            for arm in block_order(arms, last, self.rng):
                self.tell(f"block {block} of {count}: {arm.name}")
                yield Run(arm.name, block, self._result(arm.profile))
                last = arm

    def at_a_rate(self, profile: Profile, per_second: float, least_s: float = 0.0) -> Result:
        """One run at a fixed rate, judged for `least_s` seconds or as long as its refresh interval
        asks for."""
        plan = check_plan(profile)
        whole_s = plan.warm_up_s + max(least_s, plan.window_s)
        pacing = Pacing(fixed(per_second), whole_s, plan.warm_up_s, whole_s)
        return self._when_turned(
            profile, lambda name, tell: run_paced(self.lab, profile, pacing, name, tell)
        )

    def _result(self, profile: Profile) -> Result:
        rate = profile.workload.rate
        if self.judges_freshness and rate != "max":
            return self.at_a_rate(profile, float(rate), self.plan.window_s)
        return self._when_turned(
            profile, lambda name, tell: run_trial(self.lab, profile, self.plan, name, tell)
        )

    def _when_turned(self, profile: Profile, run: Callable[[str, Tell], Result]) -> Result:
        return when_turned(self.lab, profile, self._warm_up, self._name(), run, _quiet)

    @property
    def _warm_up(self) -> TrialPlan:
        """What an engine gets that has restarted."""
        return TrialPlan(self.plan.warm_up_s, lab_pace(self.lab).engine_warm_up_s)

    def _name(self) -> str:
        self.count += 1
        return f"b{self.count}"


def lasts_s(
    arms: Sequence[Arm], plan: TrialPlan, count: int, pace: Pace, judges_freshness: bool
) -> float:
    """About how many seconds so many blocks take, from the start of the lab."""
    waits_s = sum(interval_s(arm.profile) for arm in arms) if judges_freshness else 0.0
    run_s = len(arms) * trial_seconds(plan, pace.overhead_s, pace) + waits_s
    restarts = len({arm.node for arm in arms}) - 1
    restart_s = pace.start_s + pace.engine_warm_up_s
    return pace.start_s + 2 * pace.engine_warm_up_s + count * (run_s + restarts * restart_s)


def result_text(result: Result) -> str:
    """What a run gave, in a few words."""
    match result:
        case Failure():
            return f"failed: {result}"
        case PacedMeasurement(freshness_s=fresh) if fresh is not None:
            return f"{eps(result.eps)} EPS, freshness p99 {fresh.p99:.2f} s"
        case _:
            return f"{eps(result.eps)} EPS"


def lab_pace(lab: Lab) -> Pace:
    """What a lab needs in seconds."""
    return NODE_PACE if lab.engine.warms_up else SINK_PACE


def _quiet(_stage: str) -> None:
    """Runs of a few seconds need no line for each of their stages."""


_BREACHED = (FailureKind.DELIVERY, FailureKind.GUARDRAIL)


def require_none_failed(results: Iterable[object]) -> None:
    """Raise GuardrailBreached or JobFailed when some of the results are failures."""
    failures = [one for one in results if isinstance(one, Failure)]
    if not failures:
        return
    what = "1 run failed" if len(failures) == 1 else f"{len(failures)} runs failed"
    breaches = [failure for failure in failures if failure.kind in _BREACHED]
    if breaches:
        raise GuardrailBreached(f"{what}: {breaches[0].reason}")
    raise JobFailed(f"{what}: {failures[0].reason}")

"""Profiles side by side in one lab, in blocks of runs, and the exit code of runs that failed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from tuner.cli.console import say
from tuner.cli.options import EngineChoice
from tuner.errors import GuardrailBreached, JobFailed
from tuner.flood.schedule import fixed
from tuner.lab.lab import Lab
from tuner.measure.blocks import Arm, Run, block_order
from tuner.measure.measurement import Failure, FailureKind, TrialPlan
from tuner.measure.metrics import Result
from tuner.measure.paced import Pacing, run_paced
from tuner.measure.paced_summary import PacedMeasurement
from tuner.measure.survival import NamedRun, Survivor
from tuner.measure.trial import run_trial
from tuner.profile.model import Profile
from tuner.report.figures import eps
from tuner.search.budget import NODE_PACE, SINK_PACE, Pace, trial_seconds
from tuner.search.guardrails import check_plan, interval_s


class SideBySide:
    """Runs arms in a lab, each run under a name of its own, and goes on after a run that lost the
    engine.

    `plan` is that of a saturating run; with `judges_freshness` runs follow the fixed rate of
    their workload instead, for as long as that takes.
    """

    def __init__(
        self,
        lab: Lab,
        arms: Sequence[Arm],
        plan: TrialPlan,
        rng: random.Random,
        tell: Callable[[str], None],
        *,
        judges_freshness: bool = False,
    ) -> None:
        self.lab = lab
        self._arms = arms
        self._plan = plan
        self._rng = rng
        self._tell = tell
        self._judges_freshness = judges_freshness
        self._names = (f"b{number}" for number in itertools.count(1))
        after_a_start = TrialPlan(plan.warm_up_s, lab_pace(lab).engine_warm_up_s)
        self._survivor = Survivor(lab, arms[0].profile, after_a_start)

    def warm_up(self) -> None:
        """Run the first arm unscored: an engine that was just started is slow for a while."""
        self._tell("warming up the engine")
        profile = self._arms[0].profile
        plan = TrialPlan(self._plan.warm_up_s, 2 * lab_pace(self.lab).engine_warm_up_s)
        run = partial(run_trial, self.lab, profile, plan)
        self._survivor.measured(profile, run, next(self._names), _quiet)

    def blocks(self, count: int) -> Iterator[Run]:
        """Every arm once a block, as each run ends; the engine is warm for the first arm."""
        last = self._arms[0]
        for block in range(1, count + 1):
            for arm in block_order(self._arms, last, self._rng):
                self._tell(f"block {block} of {count}: {arm.name}")
                for result in self._results(arm.profile):
                    yield Run(arm.name, block, result)
                last = arm

    def at_a_rate(
        self, profile: Profile, per_second: float, least_s: float = 0.0
    ) -> Iterator[Result]:
        """One run at a fixed rate, judged for `least_s` seconds or as long as its refresh interval
        asks for; another where it lost the engine."""
        plan = check_plan(profile)
        whole_s = plan.warm_up_s + max(least_s, plan.window_s)
        pacing = Pacing(fixed(per_second), whole_s, plan.warm_up_s, whole_s)
        return self._attempts(profile, partial(run_paced, self.lab, profile, pacing))

    def _results(self, profile: Profile) -> Iterator[Result]:
        rate = profile.workload.rate
        if self._judges_freshness and rate != "max":
            return self.at_a_rate(profile, float(rate), self._plan.window_s)
        return self._attempts(profile, partial(run_trial, self.lab, profile, self._plan))

    def _attempts(self, profile: Profile, run: NamedRun) -> Iterator[Result]:
        return self._survivor.attempts(profile, run, self._names, _quiet, say)


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


def pace_of(engine: EngineChoice) -> Pace:
    """What a kind of lab needs in seconds."""
    return SINK_PACE if engine is EngineChoice.SINK else NODE_PACE


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
    breaches = [
        failure
        for failure in failures
        if failure.kind in _BREACHED or (failure.delivery is not None and failure.delivery.lost > 0)
    ]
    if breaches:
        raise GuardrailBreached(f"{what}: {breaches[0].reason}")
    raise JobFailed(f"{what}: {failures[0].reason}")

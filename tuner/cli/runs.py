"""Profiles side by side on the machines of a place, in blocks of runs: the machines at work, and
the exit code of runs that failed."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from tuner.cli.console import say
from tuner.engines.index import MappingStyle
from tuner.errors import GuardrailBreached, JobFailed, Unreachable
from tuner.measure.blocks import Arm, Run, block_order
from tuner.measure.ceiling import Ceiling
from tuner.measure.measurement import Failure, FailureKind, PacedMeasurement, TrialPlan
from tuner.measure.metrics import Result
from tuner.profile.model import Profile
from tuner.report.figures import on
from tuner.schema.numerals import eps
from tuner.search.budget import Pace
from tuner.search.farm import (
    DroppedMachine,
    LostTrial,
    Machines,
    MeasuringPlace,
    Task,
    Telling,
)
from tuner.search.guardrails import check_plan
from tuner.search.notes import dropped
from tuner.search.study import BASELINE, Asked, Note, Phase, Trial

T = TypeVar("T")


class SideBySide:
    """Runs arms on the machines of a place, and goes on after a run that lost the engine.

    `plan` is that of a saturating run; with `judges_freshness` runs follow the fixed rate of
    their workload instead, for as long as that takes.  `begins` hears of a run before it begins,
    and `telling` of its stages where they are known here.
    """

    def __init__(
        self,
        place: MeasuringPlace,
        arms: Sequence[Arm],
        plan: TrialPlan,
        pace: Pace,
        rng: random.Random,
        begins: Callable[[Asked], None],
        *,
        telling: Telling = lambda _asked, _stage: None,
        judges_freshness: bool = False,
    ) -> None:
        profiles = {arm.name: arm.profile for arm in arms}
        self._place = place
        self._machines = Machines(
            place.farm(telling), time.monotonic, lambda asked: profiles[asked.why], begins
        )
        # Where there is one machine, its warm-up comes before the first.
        self._numbers = itertools.count(-1)
        self.arms = arms
        self._plan = plan
        self._warm_up = TrialPlan(plan.warm_up_s, 2 * pace.engine_warm_up_s)
        self._rng = rng
        self._judges_freshness = judges_freshness
        self._restarts = place.facts.restarts and len({arm.node for arm in arms}) > 1
        self._last: dict[str, Arm] = {}
        self._doing: dict[str, int] = {}

    def blocks(self, count: int) -> Iterator[tuple[Run | None, tuple[Run, ...]]]:
        """Every arm once a block, all of a block on one machine: each run as it ends, and all that
        count so far.

        The runs of a block whose machine is lost count no more, and the block is measured again
        elsewhere; None comes for it.  Where the engine restarts between arms, one machine measures
        all blocks: runs just after a restart do not count, and the others of two machines are no
        pairs.
        """
        left = iter(range(1, count + 1))
        runs: tuple[Run, ...] = ()

        def take(machine: str) -> Task | None:
            if self._restarts and machine != self._machines.names[0]:
                return None
            block = next(left, None)
            if block is None:
                return None
            return partial(self._block, block, self._rng.sample(self.arms, len(self.arms)))

        for happening in self._spread(take):
            if isinstance(happening, str):
                lost = (happening, self._doing.get(happening))
                runs = tuple(one for one in runs if (one.machine, one.block) != lost)
                yield None, runs
            elif happening.pair is not None:
                run = Run(happening.why, happening.pair, happening.outcome, happening.machine)
                runs = tuple(sorted((*runs, run), key=lambda one: one.block))
                yield run, runs

    def at_a_rate(self, per_second: float) -> tuple[tuple[Result | None, ...], str]:
        """How fresh each arm keeps its index at a rate, judged for as long as its refresh interval
        asks for, and the machine of all of them; None where nothing is kept that could be
        searched."""

        def work(machine: str) -> Generator[Asked, Trial, tuple[Result | None, ...]]:
            yield from self.warm(machine)
            fresh: list[Result | None] = []
            for arm in self.arms:
                if arm.profile.measured.index.mapping is MappingStyle.NONE:
                    fresh.append(None)
                    continue
                plan = check_plan(arm.profile)
                trial = yield from self.run(_asked(arm, plan, machine, per_second=per_second))
                fresh.append(trial.outcome)
            return tuple(fresh)

        return self.alone(work)

    def alone(
        self,
        work: Callable[[str], Generator[Asked, Trial, T]],
        ended: Callable[[Trial], None] = lambda _: None,
    ) -> tuple[T, str]:
        """What work on one machine comes to, with the machine; begun anew on another where that is
        lost.  `ended` hears of each run."""
        done: list[tuple[T, str]] = []

        def piece(machine: str) -> Generator[Asked, Trial, None]:
            done.append(((yield from work(machine)), machine))

        waiting = [piece]
        for happening in self._spread(lambda _: waiting.pop() if waiting else None):
            if isinstance(happening, Trial):
                ended(happening)
        return done[-1]

    def ceiling(self, profile: Profile) -> tuple[Ceiling, str]:
        """What the engine of one machine carries of a profile's documents without rsyslog, with the
        machine."""
        while True:
            machine = self._machines.names[0]
            try:
                return self._place.ceiling(machine, profile, say), machine
            except Unreachable as lost:
                if len(self._machines.names) == 1:
                    raise
                say(dropped(self._machines.drop(machine, str(lost)), len(self._machines.names)))

    def warm(self, machine: str) -> Generator[Asked, Trial, None]:
        """Run the first arm unscored, the first time on a machine: an engine that was just started
        is slow for a while."""
        if machine in self._last:
            return
        first = self.arms[0]
        asked = _asked(first, self._warm_up, machine)
        yield from self._once(replace(asked, phase=Phase.WARM_UP))
        self._last[machine] = first

    def run(self, asked: Asked) -> Generator[Asked, Trial, Trial]:
        """A run and, where it lost the engine, the same once more; the last."""
        trial = yield from self._once(asked)
        if isinstance(trial.outcome, Failure) and trial.outcome.lost_engine:
            say("started the engine again; repeating this run once")
            trial = yield from self._once(asked)
        return trial

    def _once(self, asked: Asked) -> Generator[Asked, Trial, Trial]:
        """A run, under a number of its own."""
        return (yield replace(asked, number=next(self._numbers)))

    def _spread(self, take: Callable[[str], Task | None]) -> Iterator[Trial | str]:
        """Keep every machine busy with the pieces of work that it can `take`; each run as it ends.

        A piece that is lost on its machine, whose name is given then, is done again from its
        beginning.  Raises Unreachable when no machine is left, or an engine here is gone.
        """
        for happening in self._machines.run(take):
            match happening:
                case Trial():
                    yield happening
                case LostTrial(asked=asked, reason=reason):
                    what = f"{_name(asked)} was lost on {asked.machine}"
                    say(f"{what}: {reason}; it does not count and is measured again")
                    yield asked.machine
                case DroppedMachine(machine=machine):
                    say(dropped(happening, len(self._machines.names)))
                    yield machine
                case Note(text=text):
                    say(text)

    def _block(
        self, block: int, shuffled: Sequence[Arm], machine: str
    ) -> Generator[Asked, Trial, None]:
        self._doing[machine] = block
        yield from self.warm(machine)
        for arm in block_order(shuffled, self._last[machine]):
            plan, per_second = self._plan, None
            if self._judges_freshness and (rate := arm.profile.workload.rate) != "max":
                judged, per_second = check_plan(arm.profile), float(rate)
                longest_s = max(plan.window_s, judged.window_s)
                plan = TrialPlan(judged.warm_up_s, longest_s)
            yield from self.run(_asked(arm, plan, machine, block, per_second))
            self._last[machine] = arm


def _name(asked: Asked) -> str:
    return asked.why if asked.pair is None else f"{asked.why}, block {asked.pair}"


def _asked(
    arm: Arm,
    plan: TrialPlan,
    machine: str,
    block: int | None = None,
    per_second: float | None = None,
) -> Asked:
    phase = Phase.CONFIRM if per_second is None else Phase.CHECK
    return Asked(
        0, phase, BASELINE, arm.name, plan, pair=block, per_second=per_second, machine=machine
    )


def begins_block(tell: Callable[[str], None], count: int) -> Callable[[Asked], None]:
    """Tells which run of so many blocks begins."""

    def begins(asked: Asked) -> None:
        if asked.phase is Phase.WARM_UP:
            tell("warming up the engine")
        elif asked.pair is not None:
            tell(f"block {asked.pair} of {count}: {asked.why}{on(asked.machine)}")

    return begins


def reported_runs(
    side: SideBySide, count: int, word: str, remark: Callable[[Sequence[Run], Run], str]
) -> Iterator[tuple[Run | None, tuple[Run, ...]]]:
    """`blocks` of a side by side, each run told as it ends, with a remark on it among all so far:
    `pair 3 of 8  A on lab1: 71,234 EPS`.  Each run is yielded before it is printed, so that
    Ctrl-C in between loses none."""
    for run, runs in side.blocks(count):
        if runs:
            yield run, runs
        if run is not None:
            arm = f"  {run.arm}" if len(side.arms) > 1 else ""
            text = f"{word} {run.block} of {count}{arm}{on(run.machine)}: {result_text(run.result)}"
            say(f"{text}{remark(runs, run)}")


def last_known(stages: Iterable[T]) -> tuple[T, Unreachable | None]:
    """What is known at the end; where the engine or the last machine is lost for good, what was
    known before that, and the loss.  Raises Unreachable where nothing was."""
    known: list[T] = []
    try:
        for stage in stages:
            known = [stage]
    except Unreachable as lost:
        if not known:
            raise
        return known[0], lost
    return known[0], None


def result_text(result: Result) -> str:
    """What a run gave, in a few words."""
    match result:
        case Failure():
            return f"failed: {result}"
        case PacedMeasurement(freshness_s=fresh) if fresh is not None:
            return f"{eps(result.eps)} EPS, freshness p99 {fresh.p99:.2f} s"
        case _:
            return f"{eps(result.eps)} EPS"


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

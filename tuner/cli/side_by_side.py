"""Variants side by side on the machines of a place, in blocks of runs: the machines at work."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import TypeVar

from tuner.cli.console import say
from tuner.errors import Unreachable
from tuner.measure.ceiling import Ceiling
from tuner.measure.measurement import Failure, TrialPlan
from tuner.measure.series import Arm, Run, block_order
from tuner.profile.model import Profile
from tuner.search.budget import Pace, check_plan, interval_s, trial_seconds
from tuner.search.farm import DroppedMachine, LostTrial, Machines, MeasuringPlace, Task, Telling
from tuner.search.notes import dropped
from tuner.search.study import BASELINE, Asked, Note, Phase, Trial

T = TypeVar("T")


@dataclass(frozen=True)
class Course:
    """What is measured: `blocks` blocks, each called a `word`, of runs of all arms by `plan`, in an
    order that `seed` decides, then `phases`.

    With `judges_freshness` runs follow the fixed rate of their workload instead of saturating, for
    as long as that takes.
    """

    arms: tuple[Arm, ...]
    word: str
    blocks: int
    plan: TrialPlan
    pace: Pace
    seed: int
    phases: tuple[str, ...] = ()
    judges_freshness: bool = False

    @property
    def nodes(self) -> int:
        """With how many different settings the engine must be started."""
        return len({arm.node for arm in self.arms})

    @property
    def runs_s(self) -> float:
        """About how many seconds all blocks take on one machine, once the engine is warm."""
        pace = self.pace
        waits_s = sum(interval_s(arm.profile) for arm in self.arms) if self.judges_freshness else 0
        run_s = len(self.arms) * trial_seconds(self.plan, pace.overhead_s, pace) + waits_s
        return self.blocks * (run_s + (self.nodes - 1) * (pace.start_s + pace.engine_warm_up_s))

    def run_of(self, arm: Arm, block: int, machine: str) -> Asked:
        """The run of an arm in a block."""
        rate = arm.profile.workload.rate
        if not self.judges_freshness or rate == "max":
            return run_of(arm, self.plan, machine, block)
        judged = check_plan(arm.profile)
        plan = TrialPlan(judged.warm_up_s, max(self.plan.window_s, judged.window_s))
        return run_of(arm, plan, machine, block, float(rate))


def run_of(
    arm: Arm,
    plan: TrialPlan,
    machine: str,
    block: int | None = None,
    per_second: float | None = None,
) -> Asked:
    """A run of an arm, in a block or in a phase after them, saturating or at a fixed rate."""
    phase = Phase.CONFIRM if per_second is None else Phase.CHECK
    return Asked(
        0, phase, BASELINE, arm.name, plan, pair=block, per_second=per_second, machine=machine
    )


class SideBySide:
    """Runs the arms of a course on the machines of a place, and goes on after a run that lost the
    engine.

    `begins` hears of a run before it begins, and `telling` of its stages where they are known here.
    """

    def __init__(
        self,
        place: MeasuringPlace,
        course: Course,
        begins: Callable[[Asked], None] = lambda _: None,
        telling: Telling = lambda _asked, _stage: None,
    ) -> None:
        profiles = {arm.name: arm.profile for arm in course.arms}
        self._place = place
        self._course = course
        self._machines = Machines(
            place.farm(telling), time.monotonic, lambda asked: profiles[asked.why], begins
        )
        # Where there is one machine, its warm-up comes before the first.
        self._numbers = itertools.count(-1)
        self._rng = random.Random(course.seed)
        self._last: dict[str, Arm] = {}
        self._doing: dict[str, int] = {}

    def blocks(self) -> Iterator[tuple[Run | None, tuple[Run, ...]]]:
        """Every arm once a block, all of a block on one machine: each run as it ends, and all that
        count so far.

        The runs of a block whose machine is lost count no more, and the block is measured again
        elsewhere; None comes for it.  Where the engine restarts between arms, one machine measures
        all blocks: runs just after a restart do not count, and the others of two machines are no
        pairs.
        """
        arms = self._course.arms
        left = iter(range(1, self._course.blocks + 1))
        on_one_machine = self._place.facts.restarts and self._course.nodes > 1
        runs: tuple[Run, ...] = ()

        def take(machine: str) -> Task | None:
            if on_one_machine and machine != self._machines.names[0]:
                return None
            block = next(left, None)
            if block is None:
                return None
            return partial(self._block, block, self._rng.sample(arms, len(arms)))

        for happening in self._spread(take):
            if isinstance(happening, str):
                lost = (happening, self._doing.get(happening))
                runs = tuple(run for run in runs if (run.machine, run.block) != lost)
                yield None, runs
            elif happening.pair is not None:
                run = Run(happening.why, happening.pair, happening.outcome, happening.machine)
                runs = tuple(sorted((*runs, run), key=attrgetter("block")))
                yield run, runs

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
        first, pace = self._course.arms[0], self._course.pace
        plan = TrialPlan(self._course.plan.warm_up_s, 2 * pace.engine_warm_up_s)
        yield from self._once(replace(run_of(first, plan, machine), phase=Phase.WARM_UP))
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
                    run = f"{_name(asked)} was lost on {asked.machine}"
                    say(f"{run}: {reason}; it does not count and is measured again")
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
            yield from self.run(self._course.run_of(arm, block, machine))
            self._last[machine] = arm


def _name(asked: Asked) -> str:
    return asked.why if asked.pair is None else f"{asked.why}, block {asked.pair}"

"""The runs of `bench`, `compare` and `sweep`: variants side by side on the machines of a place, in
blocks, then the phases, with their progress."""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

from tuner.cli.console import Verbosity, say, working
from tuner.cli.place import LabSpec, open_place
from tuner.engines.index import MappingStyle
from tuner.errors import Interrupted, Unreachable
from tuner.lab.engine import stores
from tuner.measure import sustain
from tuner.measure.ceiling import Ceiling
from tuner.measure.measurement import Failure, Measurement, PacedMeasurement, Result, TrialPlan
from tuner.measure.series import Arm, MeasuredProfile, Run, Series, block_order, values
from tuner.profile.metric import Metric
from tuner.profile.model import Profile
from tuner.report.figures import on
from tuner.schema.numerals import eps, percent, seconds
from tuner.search.budget import (
    LEAD_S,
    Pace,
    check_plan,
    check_rate,
    interval_s,
    trial_seconds,
)
from tuner.search.farm import DroppedMachine, LostTrial, Machines, MeasuringPlace, Task, Telling
from tuner.search.notes import dropped
from tuner.search.study import BASELINE, Asked, LabFacts, Note, Phase, Trial

T = TypeVar("T")
End = Unreachable | Interrupted | None
"""What ended a series early: the loss of the engine or of the last machine, or a signal."""
_FIRST_SHARE = 0.9
_KEPT_NODE = "node settings: the running engine keeps its own for all that is measured"


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
    ) -> tuple[T, str]:
        """What work on one machine comes to, with the machine; begun anew on another where that is
        lost."""
        done: list[tuple[T, str]] = []

        def piece(machine: str) -> Generator[Asked, Trial, None]:
            done.append(((yield from work(machine)), machine))

        waiting = [piece]
        for _ in self._spread(lambda _: waiting.pop() if waiting else None):
            """Its runs are not counted."""
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
                    block = "" if asked.pair is None else f", block {asked.pair}"
                    run = f"{asked.why}{block} was lost on {asked.machine}"
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


def measured(
    spec: LabSpec,
    course: Course,
    titles: Sequence[str],
    parent: Path | None = None,
    doubts: Sequence[str] = (),
) -> tuple[Series, End]:
    """What a course measures in a place of its own, as `last_known` gives it; `titles` say what
    each arm is."""
    profiles = [arm.profile for arm in course.arms]
    with (
        open_place(spec, profiles, parent, Verbosity.NORMAL) as place,
        working("warming up the engine") as tell,
    ):
        series = unmeasured(course, place.facts, titles, doubts)
        return last_known(Measuring(place, course, tell).stages(series))


def last_known(stages: Iterable[Series]) -> tuple[Series, End]:
    """The last of the stages; where the engine or the last machine is lost for good, or a signal
    ended it, what was known before that, and what ended it, which is raised where nothing was."""
    last: Series | None = None
    try:
        for series in stages:
            last = series
    except (Unreachable, Interrupted) as end:
        if last is None:
            raise
        return last, end
    if last is None:
        raise RuntimeError("nothing was measured")
    return last, None


def unmeasured(
    course: Course, facts: LabFacts, titles: Sequence[str], doubts: Sequence[str]
) -> Series:
    """A series before its first run."""
    fixed = [_KEPT_NODE] if facts.fixes_node and course.nodes > 1 else []
    changed = (facts.substitutions, *facts.beside)
    return Series(
        variants=tuple(
            MeasuredProfile(
                arm.name,
                title,
                arm.profile.guardrails.freshness_p99_s,
                substitutions,
                message_bytes=arm.profile.workload.mean_message_bytes,
            )
            for arm, title, substitutions in zip(course.arms, titles, changed, strict=True)
        ),
        engine=facts.engine,
        rsyslog=facts.fingerprint.rsyslog,
        machine=facts.machine,
        seed=course.seed,
        doubts=(*doubts, *fixed),
        untested=facts.untested,
        cores=facts.cores,
    )


class Measuring:
    """Measures a course in a place, and tells how far it has come."""

    def __init__(self, place: MeasuringPlace, course: Course, tell: Callable[[str], None]) -> None:
        self._course = course
        self._tell = tell
        self._stores = stores(place.facts.engine)
        self._side = SideBySide(place, course, self._begins, self._stage)
        self._began_s = math.inf
        self._ended = 0
        self._phases = {
            "freshness": self._freshness,
            "sustain": self._sustain,
            "overload": self._overload,
        }

    def stages(self, series: Series) -> Iterator[Series]:
        """What is known after each run and, where all arms gave a rate, after each phase.

        Each run is yielded before it is printed: Ctrl-C in between loses none.
        """
        for run, runs in self._side.blocks():
            series, self._ended = replace(series, runs=runs), len(runs)
            if runs:
                yield series
            if run is not None:
                self._tell_run(run, runs)
        if any(series.median_eps(name) is None for name in series.names):
            return
        for phase in self._course.phases:
            series, machine = self._phase(phase, series)
            if machine:
                series = replace(series, phases_on=(*series.phases_on, (phase, machine)))
            yield series

    def _phase(self, phase: str, series: Series) -> tuple[Series, str]:
        """What is known after a phase, and its machine, where it is begun anew if one is lost."""
        if phase == "ceiling":
            self._say("the engine's ceiling")
            ceiling, machine = self._side.ceiling(self._course.arms[0].profile)
            return replace(series, ceiling=ceiling), machine

        def work(machine: str) -> Generator[Asked, Trial, Series]:
            yield from self._side.warm(machine)
            return (yield from self._phases[phase](series, machine))

        return self._side.alone(work)

    def _freshness(self, series: Series, machine: str) -> Generator[Asked, Trial, Series]:
        """From due to searchable, of each arm at one rate: seven tenths of the lowest median, or
        that of the workload; nothing where nothing is kept that could be searched."""
        medians = [series.median_eps(name, machine) or 0.0 for name in series.names]
        variants = []
        for arm, variant in zip(self._course.arms, series.variants, strict=True):
            if arm.profile.measured.index.mapping is MappingStyle.NONE:
                variants.append(variant)
                continue
            rate = arm.profile.workload.rate
            per_second = check_rate(medians) if rate == "max" else float(rate)
            judged_s = self._judged_s(arm)
            where = f"{self._named(arm.name)}{on(machine)}"
            self._say(f"freshness{where}: {eps(per_second)} events per second for {judged_s:g} s")
            plan = TrialPlan(LEAD_S, judged_s)
            fresh = yield from self._paced(arm, machine, per_second, plan)
            variants.append(replace(variant, freshness=fresh))
        return replace(series, variants=tuple(variants))

    def _judged_s(self, arm: Arm) -> float:
        """As long as a window, and whole refresh intervals, two at least: freshness goes up and
        down with them."""
        window_s = self._course.plan.window_s
        # What arrives in the sink is found at once.
        refresh_s = interval_s(arm.profile) if self._stores else 0.0
        return refresh_s * max(2, math.ceil(window_s / refresh_s)) if refresh_s else window_s

    def _sustain(self, series: Series, machine: str) -> Generator[Asked, Trial, Series]:
        """The maximum sustainable rate of the first arm, beginning a little below the measured
        one."""
        arm, window_s = self._course.arms[0], self._course.plan.window_s
        enough_s, first = 3 * window_s, _FIRST_SHARE * (series.median_eps(arm.name, machine) or 0.0)
        trials: list[sustain.LoadTrial] = []
        while (load := sustain.next_load(trials, enough_s, first)) is not None:
            self._tell(f"sustainable rate{on(machine)}: {eps(load)} events per second")
            outcome = yield from self._paced(arm, machine, load, TrialPlan(LEAD_S, window_s))
            reason = sustain.why_not(outcome, arm.profile)
            say(f"{eps(load)} events per second: {reason or 'carried'}")
            trials.append(sustain.LoadTrial(load, window_s, reason, outcome))
        found = sustain.Sustained(sustain.bounds(trials, enough_s), tuple(trials))
        return replace(series, sustained=found)

    def _overload(self, series: Series, machine: str) -> Generator[Asked, Trial, Series]:
        """150 % of the measured rate of the first arm, for the length of a window."""
        arm, window_s = self._course.arms[0], self._course.plan.window_s
        per_second = series.median_eps(arm.name, machine) or 0.0
        plan = sustain.overload_plan(per_second, window_s)
        over = f"{eps(plan.over_per_second)} events per second for {plan.over_s:g} s"
        self._say(f"overload{on(machine)}: {over}")
        trial = TrialPlan(0.0, window_s, overloads=True)
        outcome = yield from self._paced(arm, machine, per_second, trial)
        if isinstance(outcome, Failure):
            return replace(series, overload=outcome)
        return replace(series, overload=sustain.overload_of(plan, outcome))

    def _paced(
        self, arm: Arm, machine: str, per_second: float, plan: TrialPlan
    ) -> Generator[Asked, Trial, PacedMeasurement | Failure]:
        """A run by a schedule; the second one where the first lost the engine."""
        trial = yield from self._side.run(run_of(arm, plan, machine, per_second=per_second))
        if isinstance(trial.outcome, Measurement):
            raise TypeError("a run by a schedule does not saturate")
        return trial.outcome

    def _named(self, arm: str) -> str:
        """An arm, where there is more than one."""
        return f" of {arm}" if len(self._course.arms) > 1 else ""

    def _begins(self, asked: Asked) -> None:
        """The time that all runs take counts from the first."""
        if asked.pair is not None:
            self._began_s = min(self._began_s, time.monotonic())
        self._stage(asked, "starting")

    def _stage(self, asked: Asked, stage: str) -> None:
        """Show the stages of a run here, and about how long the runs still take."""
        where = f"{self._named(asked.why)}{on(asked.machine)}"
        if asked.phase is Phase.WARM_UP:
            self._tell(f"warm-up{on(asked.machine)}: {stage}")
        elif asked.pair is not None:
            self._tell(f"{self._counted(asked.pair)}{where}: {stage}{self._left()}")

    def _counted(self, block: int) -> str:
        return f"{self._course.word} {block} of {self._course.blocks}"

    def _left(self) -> str:
        """How long the runs still take: as planned before the first one ended, then by those."""
        course, took_s = self._course, time.monotonic() - self._began_s
        left = len(course.arms) * course.blocks - self._ended
        left_s = took_s / self._ended * left if self._ended else course.runs_s
        return f" (about {seconds(left_s)} left)" if left > 0 else ""

    def _tell_run(self, run: Run, runs: tuple[Run, ...]) -> None:
        """Say what a run gave and, of two arms, what its pair shows once both ran:
        `pair 3 of 8, A on lab1: 71,234 EPS`."""
        arms = self._course.arms
        named, ratio = f"  {run.arm}" if len(arms) > 1 else "", ""
        if len(arms) == 2:
            first, other = (arm.name for arm in arms)
            a, b = (values(runs, arm, Metric.EPS).get(run.block) for arm in (first, other))
            ratio = f", {other} over {first} {percent(b / a)}" if a and b else ""
        gave = f"{self._counted(run.block)}{named}{on(run.machine)}: {result_text(run.result)}"
        say(f"{gave}{ratio}{self._left()}")

    def _say(self, phase: str) -> None:
        """Show which phase begins: as it goes on, and as a line that stays."""
        self._tell(phase)
        say(phase)


def result_text(result: Result) -> str:
    """What a run gave, in a few words."""
    match result:
        case Failure():
            return f"failed: {result}"
        case PacedMeasurement(freshness_s=fresh) if fresh is not None:
            return f"{eps(result.eps)} EPS, freshness p99 {fresh.p99:.2f} s"
        case _:
            return f"{eps(result.eps)} EPS"

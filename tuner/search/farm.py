"""What a search needs of the world, and where its trials run: on one machine or on several, each
with one trial at a time, which does one task after the other.

A task is a generator: it gives what is to be measured on its machine, and gets the trial.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Protocol

from tuner.errors import Unreachable
from tuner.measure.ceiling import Ceiling
from tuner.measure.measurement import Failure, Result
from tuner.measure.trial import Tell
from tuner.profile.model import Profile
from tuner.search.study import HERE, Asked, Changes, Header, LabFacts, Note, Record, Trial
from tuner.space.knob import Cost, Knob

if TYPE_CHECKING:
    from tuner.search.budget import Pace
    from tuner.search.space import Space, Strategy

# Beyond a few times its length, and what restarts of an engine and its merges take, a trial is not
# waited for.
_LENGTHS, PATIENCE_S = 3.0, 600.0

AND = " and "
"""Between the hardware of machines that differ, in the fingerprint of a search on them."""


@dataclass(frozen=True)
class Lost:
    """A trial without an outcome: its machine failed, which tells nothing of the settings.  A
    machine that `is_gone` takes no more trials."""

    reason: str
    is_gone: bool = False


class Farm(Protocol):
    """Machines that each measure one trial at a time."""

    @property
    def machines(self) -> tuple[str, ...]:
        """Their names, the same ones in the same order from the first trial to the last."""

    def start(self, asked: Asked, profile: Profile, /) -> None:
        """Begin a trial on its machine, which has none under way; one that it cannot begin is
        lost."""

    def wait(self, timeout_s: float, /) -> Mapping[int, Result | Lost]:
        """What has ended since, by the numbers of the trials: at least one, unless that takes
        longer than `timeout_s`."""

    def drop(self, machine: str, /) -> None:
        """Give a machine up: nothing comes of what it has under way, and it gets no more."""


Telling = Callable[[Asked, str], None]
"""Hears of the stages of a trial."""


@dataclass(frozen=True)
class MeasuringPlace:
    """Where a command measures: what its labs are, the run that owns what it creates there, its
    machines, and what the engine of one of them carries without rsyslog.

    `forget` removes what an earlier run has left in an engine that outlived it; `downloads_s` is
    how long an engine that was missing took to download.
    """

    facts: LabFacts
    run_id: str
    farm: Callable[[Telling], Farm]
    forget: Callable[[str], None]
    ceiling: Callable[[str, Profile, Tell], Ceiling]
    downloads_s: float = 0.0


@dataclass
class FarmOfOne:
    """This machine alone: a trial runs while it is waited for."""

    measure: Callable[[Asked, Profile], Result]
    machines: tuple[str, ...] = (HERE,)
    _begun: tuple[Asked, Profile] | None = None

    def start(self, asked: Asked, profile: Profile) -> None:
        """Keep what is to be measured."""
        self._begun = (asked, profile)

    def wait(self, _: float) -> Mapping[int, Result | Lost]:
        """Measure it."""
        if self._begun is None:
            raise RuntimeError("no trial is under way")
        (asked, profile), self._begun = self._begun, None
        return {asked.number: self.measure(asked, profile)}

    def drop(self, _: str) -> None:
        """Forget what is to be measured."""
        self._begun = None


@dataclass(frozen=True)
class LostTrial:
    """A trial that was lost with its machine, for a `reason` that is not its settings.  A machine
    that `is_gone` takes no more trials."""

    asked: Asked
    reason: str
    at_s: float
    is_gone: bool = False


Event = Trial | LostTrial
"""What became of a trial that was asked for."""


def longest_s(length_s: float, patience_s: float = PATIENCE_S) -> float:
    """After how many seconds a trial that lasts for `length_s` does not come back any more."""
    return _LENGTHS * length_s + patience_s


def _longest_by_plan_s(asked: Asked) -> float:
    plan = asked.plan
    return longest_s(plan.warm_up_s + plan.window_s + plan.extension_s)


Work = Generator[Asked | Note, Trial, Trial]
"""Gives what is to be measured on one machine, and what to say; returns the last trial."""

TaskSteps = Generator[Asked | Note, Trial, object]
"""A task under way on its machine, as `Work` is, with whatever result."""

Task = Callable[[str], TaskSteps]
"""A task, given the machine that does it."""

MOST_FAILURES = 3
"""A machine that fails so many times in a row is dropped, if there are others."""


@dataclass(frozen=True)
class DroppedMachine:
    """A machine that is used no more, and why."""

    machine: str
    reason: str


@dataclass(frozen=True)
class _UnderWay:
    """What a machine does: a trial, since when for the search and until when it may take, and the
    task that it is of."""

    asked: Asked
    at_s: float
    until_s: float
    task: Task
    work: TaskSteps


MachineEvent = Trial | LostTrial | DroppedMachine | Note
"""What happened on the machines at work: a trial ended, or was lost, or a machine was given up."""


@dataclass
class Machines:
    """Those machines of the `farm` that have not been dropped.

    `begins` hears of a trial before it runs, and `ended` of what became of it before anybody else.
    What there is a `refusal` for is not measured.  A machine that keeps a trial for `longest_s` is
    given up.
    """

    farm: Farm
    clock: Callable[[], float]
    candidate: Callable[[Asked], Profile]
    begins: Callable[[Asked], None] = lambda _: None
    ended: Callable[[Event], None] = lambda _: None
    refusal: Callable[[Asked], Failure | None] = lambda _: None
    longest_s: Callable[[Asked], float] = _longest_by_plan_s
    _open: dict[str, _UnderWay] = field(default_factory=dict)
    _refused: dict[int, Result | Lost] = field(default_factory=dict)
    _failures: Counter[str] = field(default_factory=Counter)
    _dropped: set[str] = field(default_factory=set)
    _seen_s: float = 0.0

    def __post_init__(self) -> None:
        self._seen_s = self.clock()

    @property
    def names(self) -> tuple[str, ...]:
        """Those that take trials."""
        return tuple(machine for machine in self.farm.machines if machine not in self._dropped)

    @property
    def under_way(self) -> tuple[Asked, ...]:
        """The trials that have not ended."""
        return tuple(trial.asked for trial in self._open.values())

    def now_s(self) -> float:
        """When the last trial ended, by the clock: what follows at once on a machine begins there,
        so that the two runs of a pair are known to be neighbours."""
        return self._seen_s

    def run(
        self,
        next_task: Callable[[str], Task | None],
        *,
        again: bool = True,
        until_s: Callable[[], float] = lambda: math.inf,
    ) -> Iterator[MachineEvent]:
        """Keep every machine busy with the tasks that there are for it, until none is left; what
        happens, as it does.

        A task that is lost with its machine is done `again` by the next one that is idle.  What is
        still under way at `until_s` by the clock goes on in the next call.  Raises Unreachable when
        no machine is left.
        """
        lost: deque[Task] = deque()
        while True:
            for machine in self.names:
                while machine in self.names and machine not in self._open:
                    task = lost.popleft() if lost else next_task(machine)
                    if task is None:
                        break
                    yield from self._go_on(machine, task, task(machine), None)
            if not self._open or self.clock() >= until_s():
                return
            for event, begun in self._wait(until_s()):
                yield event
                reason = self._reason_to_drop(event)
                if isinstance(event, Trial) and reason is None:
                    yield from self._go_on(event.machine, begun.task, begun.work, event)
                    continue
                begun.work.close()
                if reason is not None:
                    yield self.drop(begun.asked.machine, reason)
                if again:
                    lost.append(begun.task)

    def drop(self, machine: str, reason: str) -> DroppedMachine:
        """Use a machine no more; raises Unreachable where it was the last."""
        self._dropped.add(machine)
        self.farm.drop(machine)
        if not self.names:
            raise Unreachable(f"no machine is left to measure on: {machine}: {reason}")
        return DroppedMachine(machine, reason)

    def _wait(self, until_s: float) -> list[tuple[Event, _UnderWay]]:
        """What ended since; at least one, unless that takes longer than until `until_s`."""
        ended, self._refused = self._refused, {}
        while not ended and self.clock() < until_s:
            ends_s = min(trial.until_s for trial in self._open.values())
            left_s = min(ends_s, until_s) - self.clock()
            try:
                ended |= self.farm.wait(max(0.0, left_s))
            except Unreachable as gone:
                for begun in self._open.values():
                    self.ended(LostTrial(begun.asked, str(gone), self.clock(), is_gone=True))
                raise
            for begun in self._open.values():
                if begun.until_s <= self.clock() and begun.asked.number not in ended:
                    self.farm.drop(begun.asked.machine)
                    lasted = f"no answer for {self.clock() - begun.at_s:.0f} s"
                    ended[begun.asked.number] = Lost(lasted, is_gone=True)
        self._seen_s = self.clock()
        finished = [trial for trial in self._open.values() if trial.asked.number in ended]
        events = []
        for begun in sorted(finished, key=lambda trial: trial.asked.number):
            outcome, asked = ended[begun.asked.number], begun.asked
            event: Event = (
                LostTrial(asked, outcome.reason, self._seen_s, outcome.is_gone)
                if isinstance(outcome, Lost)
                else Trial.of(asked, outcome, begun.at_s, self._seen_s)
            )
            self.ended(event)
            events.append((event, self._open.pop(asked.machine)))
        return events

    def _go_on(
        self, machine: str, task: Task, work: TaskSteps, trial: Trial | None
    ) -> Iterator[Note]:
        """Continue work up to its next trial, or its end."""
        try:
            step = next(work) if trial is None else work.send(trial)
            while isinstance(step, Note):
                yield step
                step = next(work)
        except StopIteration:
            return
        asked = replace(step, machine=machine)
        until_s = self.clock() + self.longest_s(asked)
        self._open[machine] = _UnderWay(asked, self._seen_s, until_s, task, work)
        self.begins(asked)
        failure = self.refusal(asked)
        if failure is None:
            self.farm.start(asked, self.candidate(asked))
        else:
            self._refused[asked.number] = failure

    def _reason_to_drop(self, event: Event) -> str | None:
        """Why a machine is used no more: it is gone, or failed too often in a row where there are
        others; None where it is."""
        machine = event.asked.machine
        failed = isinstance(event, LostTrial) or event.is_transient
        self._failures[machine] = self._failures[machine] + 1 if failed else 0
        if isinstance(event, LostTrial) and event.is_gone:
            return event.reason
        if self._failures[machine] < MOST_FAILURES or len(self.names) == 1:
            return None
        return f"it failed {MOST_FAILURES} times in a row"


@dataclass(frozen=True)
class Candidates:
    """The points that may be proposed: what they turn, the `profile` of each, whether it is valid,
    and the repairs that each contains, as the baseline does once it lost events without."""

    knobs: tuple[Knob, ...]
    profile: Callable[[Changes], Profile]
    is_valid: Callable[[Changes], bool]
    repairs: Changes = ()

    def node_part(self, changes: Changes) -> Changes:
        """Those of the changes that the engine must restart for."""
        restarting = {knob.path for knob in self.knobs if knob.cost is Cost.NODE_RESTART}
        return tuple(change for change in changes if change[0] in restarting)

    def restarts_for(self, changes: Changes) -> bool:
        """Whether the engine must restart between the profile as written and another point."""
        return bool(self.node_part(changes))


@dataclass(frozen=True)
class Setup:
    """How a search begins, or goes on with its `record`: `farm` measures the profiles of its
    candidates, and `strategy` is made of the space and the noise of one trial.

    `used_s` says how many seconds of the budget are used, `pace` what its lab takes of them.
    `begins` hears of each trial before it runs, and `ended` of what became of it.
    """

    record: Record
    candidates: Candidates
    farm: Farm
    strategy: Callable[[Space, float], Strategy]
    rng: Random
    used_s: Callable[[], float]
    pace: Pace
    begins: Callable[[Asked], None] = lambda _: None
    ended: Callable[[Event], None] = lambda _: None

    @property
    def header(self) -> Header:
        """What was asked for."""
        return self.record.study.header

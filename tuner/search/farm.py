"""Where trials run: on one machine or on several, each with one trial at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tuner.measure.ceiling import Ceiling
from tuner.measure.measurement import TrialPlan
from tuner.measure.metrics import Result
from tuner.measure.trial import Tell
from tuner.profile.model import Profile
from tuner.search.study import HERE, Asked, LabFacts, Trial

# Beyond a few times its length, and what restarts of an engine and its merges take, a trial is not
# waited for.
_LENGTHS, _PATIENCE_S = 3.0, 600.0

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


class Evaluator(Protocol):
    """What a search asks for trials."""

    @property
    def machines(self) -> tuple[str, ...]:
        """The machines of this session."""

    @property
    def session_number(self) -> int:
        """Another number in each session, whose machines are others even where they are called the
        same."""

    def start(self, asked: Asked, profile: Profile) -> None:
        """Begin a trial on its machine, which has none under way."""

    def wait(self) -> tuple[Event, ...]:
        """What ended since, in the order in which the search learns of it; at least one."""

    def drop(self, machine: str) -> None:
        """Give a machine up."""


@dataclass(frozen=True)
class _UnderWay:
    """A trial under way: since when for the search, and until when it may take."""

    asked: Asked
    at_s: float
    until_s: float


@dataclass
class TimedFarm:
    """A farm's trials with their times by `clock`, in seconds since the command started.  A machine
    that keeps a trial for far longer than it lasts is given up."""

    farm: Farm
    clock: Callable[[], float]
    _open: dict[int, _UnderWay] = field(default_factory=dict)

    @property
    def session_number(self) -> int:
        """There is only one."""
        return 1

    @property
    def machines(self) -> tuple[str, ...]:
        """Those of the farm."""
        return self.farm.machines

    def start(self, asked: Asked, profile: Profile, at_s: float | None = None) -> None:
        """Begin a trial; `at_s` is when that was for the search, now by default."""
        now_s = self.clock()
        until_s = now_s + longest_s(asked.plan)
        self._open[asked.number] = _UnderWay(asked, now_s if at_s is None else at_s, until_s)
        self.farm.start(asked, profile)

    def wait(self) -> tuple[Event, ...]:
        """What ended since; at least one."""
        while True:
            left_s = min(one.until_s for one in self._open.values()) - self.clock()
            ended, now_s = self.farm.wait(max(0.0, left_s)), self.clock()
            events = [self._event(number, ended[number], now_s) for number in sorted(ended)]
            for one in [one for one in self._open.values() if one.until_s <= now_s]:
                self.farm.drop(one.asked.machine)
                lasted = f"no answer for {longest_s(one.asked.plan):.0f} s"
                events.append(self._event(one.asked.number, Lost(lasted, is_gone=True), now_s))
            if events:
                return tuple(events)

    def drop(self, machine: str) -> None:
        """Give a machine up."""
        self.farm.drop(machine)

    def _event(self, number: int, outcome: Result | Lost, now_s: float) -> Event:
        one = self._open.pop(number)
        if isinstance(outcome, Lost):
            return LostTrial(one.asked, outcome.reason, now_s, outcome.is_gone)
        return Trial.of(one.asked, outcome, one.at_s, now_s)


def longest_s(plan: TrialPlan) -> float:
    """After how many seconds a trial does not come back any more."""
    return _LENGTHS * (plan.warm_up_s + plan.window_s + plan.extension_s) + _PATIENCE_S

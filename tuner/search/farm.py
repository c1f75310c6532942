"""Where trials run: on one machine or on several, each with one trial at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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


def longest_s(plan: TrialPlan) -> float:
    """After how many seconds a trial does not come back any more."""
    return _LENGTHS * (plan.warm_up_s + plan.window_s + plan.extension_s) + _PATIENCE_S

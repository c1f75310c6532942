"""Runs on an engine that restarts first where a profile wants other node settings, and that is
started again where a run loses it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from tuner.engine.owned import remove
from tuner.errors import TuneError, Unreachable
from tuner.lab.lab import Lab
from tuner.lab.nodes import NodeRefused
from tuner.measure.measurement import Failure, FailureKind, Spent, TrialPlan
from tuner.measure.metrics import Result
from tuner.measure.trial import Tell, run_trial
from tuner.profile.model import Profile

MOST_LOSSES = 3
"""So often in a row may an engine be lost before it is given up."""

NamedRun = Callable[[str, Tell], Result]
"""A run by its name, which tells of its stages."""


@dataclass
class Survivor:
    """Measures in a lab whose engine may die or fall silent; it then runs again as it did first,
    and gets warm with the profile as `written`."""

    lab: Lab
    written: Profile
    warm_up: TrialPlan
    _losses: int = 0
    _restart_s: float = 0.0

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
            result = run(name, tell)
        except NodeRefused as refused:
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
        """Restart the engine if `profile` has other node settings, and warm it up, because a JVM
        that has just started is slow; the seconds that it took, 0 without a restart."""
        began_s = time.monotonic()
        if self.lab.engine.run_with(profile) == 0:
            return 0.0
        run_trial(self.lab, profile, self.warm_up, f"{name}w", tell)
        return time.monotonic() - began_s

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
        with contextlib.suppress(TuneError):
            remove(self.lab.client, self.lab.owner, self.lab.owner.prefix)
        try:
            run_trial(self.lab, self.written, self.warm_up, f"{name}r{self._losses}", tell)
        except Unreachable as again:
            self._revive(again, name, tell)
        self._restart_s = time.monotonic() - began_s

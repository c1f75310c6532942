"""Trials that the engine does not survive: they have failed, and it is started again."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from tuner.engine.owned import remove
from tuner.errors import TuneError, Unreachable
from tuner.lab.lab import Lab
from tuner.measure.measurement import Failure, FailureKind, TrialPlan
from tuner.measure.metrics import Result
from tuner.measure.spent import Spent
from tuner.measure.trial import Tell, run_trial
from tuner.profile.model import Profile

MOST_LOSSES = 3
"""So often in a row may an engine be lost before it is given up."""


@dataclass
class Survivor:
    """Measures in a lab whose engine may die or fall silent; it then runs again as it did first,
    and gets warm with the profile as `written`."""

    lab: Lab
    written: Profile
    warm_up: TrialPlan
    _losses: int = 0
    _restart_s: float = 0.0

    def measured(self, run: Callable[[], Result], name: str, tell: Tell) -> Result:
        """What `run` gives; a Failure where it lost the engine, of whose restart the next run
        tells.

        Raises Unreachable where the engine does not come back, or was lost too often without a run
        in between that went well.
        """
        try:
            self.lab.check()
        except Unreachable as lost:
            self._revive(lost, name, tell)
        before, began_s = Spent(restart_s=self._restart_s), time.monotonic()
        self._restart_s = 0.0
        try:
            result = run()
        except Unreachable as lost:
            lost_s = time.monotonic() - began_s
            self._revive(lost, name, tell)
            spent = replace(before, stop_s=lost_s)
            return Failure(FailureKind.ENGINE_DOWN, str(lost), total_s=lost_s, spent=spent)
        if not isinstance(result, Failure):
            self._losses = 0
        spent = result.spent or Spent()
        return replace(result, spent=replace(spent, restart_s=spent.restart_s + before.restart_s))

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

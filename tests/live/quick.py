"""rsyslog-tune with shorter trials and a clock of their own: `python quick.py search ...`.

For tests of what a search does, not of what it finds: windows are too short to tell settings
apart, no more events are under way than keep every worker busy, so that they are soon indexed, and
each trial counts as many seconds of the budget as planned, however slow the machine is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

from tuner.cluster import farm
from tuner.lab.lab import Lab
from tuner.measure import place, trial
from tuner.measure.measurement import Result, TrialPlan
from tuner.profile.model import Profile
from tuner.profile.placement import BacklogMarks, backlog_marks
from tuner.search import budget
from tuner.search.farm import Lost
from tuner.search.study import Asked


def shortened(pace: budget.Pace) -> budget.Pace:
    """With windows that hold events, and no more, on engines that run already."""
    return replace(
        pace, start_s=1.0, engine_warm_up_s=1.0, warm_up_s=0.3, window_s=0.6, overhead_s=0.8,
        longest_search_s=0.6, longest_final_s=0.6, longest_window_s=1.0,
    )  # fmt: skip


SINK_PACE, NODE_PACE = shortened(budget.SINK_PACE), shortened(budget.NODE_PACE)
_RUN_PROFILE = place.run_profile


def planned_s(plan: TrialPlan) -> float:
    """The seconds that a trial is planned to take."""
    return plan.warm_up_s + plan.window_s + NODE_PACE.overhead_s


def least_backlog(profile: Profile) -> BacklogMarks:
    """With no more room than keeps every worker busy."""
    marks = backlog_marks(profile)
    return marks._replace(room=min(marks.low, marks.room))


@dataclass
class Clock:
    """The seconds that trials were planned to take; those on several machines at once overlap."""

    now_s: float = 0.0
    plans: dict[int, TrialPlan] = field(default_factory=dict)

    def run_profile(
        self, lab: Lab, profile: Profile, plan: TrialPlan, *more: Any, **named: Any
    ) -> Result:
        """Measure as always, and count what was planned."""
        outcome = _RUN_PROFILE(lab, profile, plan, *more, **named)
        self.now_s += planned_s(plan)
        return replace(outcome, total_s=planned_s(plan))


class PlannedFarm(farm.DaskFarm):
    """Machines whose trials take as long as planned, however long that is, by one clock."""

    clock = Clock()

    def start(self, asked: Asked, profile: Profile) -> None:
        """Begin a trial elsewhere."""
        self.clock.plans[asked.number] = asked.plan
        super().start(asked, profile)

    def wait(self, timeout_s: float) -> Mapping[int, Result | Lost]:
        """Wait for trials elsewhere, as long as it takes."""
        ended = dict(super().wait(600))
        for number, outcome in ended.items():
            total_s = planned_s(self.clock.plans[number])
            self.clock.now_s += total_s / len(self.machines)
            if not isinstance(outcome, Lost):
                ended[number] = replace(outcome, total_s=total_s)
        return ended


def main() -> None:
    """The command, for as long as the clock is ours."""
    clock = PlannedFarm.clock
    with (
        patch.object(budget, "SINK_PACE", SINK_PACE),
        patch.object(budget, "NODE_PACE", NODE_PACE),
        patch.object(place, "run_profile", clock.run_profile),
        patch.object(farm, "DaskFarm", PlannedFarm),
        patch.object(trial, "backlog_marks", least_backlog),
    ):
        from tuner.cli import main as command
        from tuner.cli.search_session import Stopwatch

        with patch.object(Stopwatch, "__call__", lambda watch: watch.before_s + clock.now_s):
            command.main()


if __name__ == "__main__":
    main()

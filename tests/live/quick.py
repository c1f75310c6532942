"""rsyslog-tune with shorter trials and a clock of their own: `python quick.py search ...`.

For tests of what a search does, not of what it finds: windows are too short to tell settings
apart, and each trial counts as many seconds of the budget as planned, however slow the machine is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from unittest.mock import patch

from tuner.lab.lab import Lab
from tuner.measure import trial
from tuner.measure.measurement import Outcome, TrialPlan
from tuner.profile.model import Profile
from tuner.search import budget


def shortened(pace: budget.Pace) -> budget.Pace:
    """With windows that hold events, and no more, on engines that run already."""
    return replace(
        pace, start_s=1.0, engine_warm_up_s=1.0, warm_up_s=0.3, window_s=0.6, overhead_s=0.8,
        longest_search_s=0.6, longest_final_s=0.6, longest_window_s=1.0,
    )  # fmt: skip


SINK_PACE, NODE_PACE = shortened(budget.SINK_PACE), shortened(budget.NODE_PACE)
_RUN_TRIAL = trial.run_trial


@dataclass
class Clock:
    """The seconds that trials were planned to take."""

    now_s: float = 0.0

    def run_trial(
        self, lab: Lab, profile: Profile, plan: TrialPlan, name: str, tell: trial.Tell
    ) -> Outcome:
        """Measure as always, and count what was planned."""
        outcome = _RUN_TRIAL(lab, profile, plan, name, tell)
        total_s = plan.warm_up_s + plan.window_s + NODE_PACE.overhead_s
        self.now_s += total_s
        return replace(outcome, total_s=total_s)


def main() -> None:
    """The command, for as long as the clock is ours."""
    clock = Clock()
    with (
        patch.object(budget, "SINK_PACE", SINK_PACE),
        patch.object(budget, "NODE_PACE", NODE_PACE),
        patch.object(trial, "run_trial", clock.run_trial),
    ):
        from tuner.cli import main as command
        from tuner.cli.search_job import Stopwatch

        with patch.object(Stopwatch, "__call__", lambda watch: watch.before_s + clock.now_s):
            command.main()


if __name__ == "__main__":
    main()

"""A search that is computed, shown as a real one is.

As a program it is to be looked at, or interrupted:
`python -m tests.cli.simulated_screen FOLDER SECONDS [quiet|normal|verbose]`, where the seconds are
those that a trial really lasts.
"""

from __future__ import annotations

import random
import sys
import time
from dataclasses import replace
from pathlib import Path

from tests.search.simulated import BUDGET_S, PROFILE, START_S, World, search
from tuner.cli.console import Verbosity, Voice
from tuner.cli.progress import Progress, Running
from tuner.cli.search_screen import Screen, screen
from tuner.errors import Interrupted
from tuner.host.signals import end_orderly
from tuner.measure.bottleneck import Bottleneck, Verdict
from tuner.measure.measurement import Doubt, DoubtKind, Measurement
from tuner.measure.metrics import Result
from tuner.profile.model import Profile
from tuner.search.runner import trials_expected
from tuner.search.search import Search, Step
from tuner.search.study import BASELINE, Asked, Trial
from tuner.space.knobs import knobs

STAGES = ("starting", "warm-up", "window", "drain")
NOTHING_YET = Progress("small, elasticsearch 8.19.3, seed 1", BUDGET_S, knobs(PROFILE))


class Shown(World):
    """A world whose trials are seen as they go on, with bottlenecks and doubts."""

    screen: Screen

    def measure(self, asked: Asked, profile: Profile) -> Result:
        began_s = self.now_s
        for at, stage in enumerate(STAGES):
            running = Running(asked.number, asked.phase, asked.pair, stage, began_s + 2.0 * at)
            self.screen.began(running)
            time.sleep(self.lasts_s / len(STAGES))
        outcome = super().measure(asked, profile)
        if not isinstance(outcome, Measurement):
            return outcome
        rng = random.Random(asked.number)
        limits = Bottleneck.ENGINE_CPU if asked.changes else Bottleneck.MAIN_WORKER
        doubts = (Doubt(DoubtKind.UNSTEADY, "12 % drift"),) if rng.random() < 0.2 else ()
        return replace(outcome, doubts=doubts, verdict=Verdict(limits, (), (), 0.0))

    def hear(self, searching: Search, step: Step) -> None:
        if not isinstance(step, Trial):
            self.screen.say(step.text)
            return
        leader = searching.leader()
        best = BASELINE if leader is None else leader.changes
        expected = trials_expected(searching.runner, best)
        self.screen.ended(step, leader, expected, BUDGET_S - self.now_s)


def show(folder: Path, lasts_s: float, voice: Voice, name: str = "random") -> None:
    """Search to the end on this program's stderr."""
    world = Shown(START_S)
    folder.mkdir(exist_ok=True)
    with screen(voice, NOTHING_YET, lambda: world.now_s) as shown:
        world.screen = shown
        world.lasts_s = lasts_s
        search(folder, world, name=name, hear=world.hear)


if __name__ == "__main__":
    end_orderly()
    try:
        show(Path(sys.argv[1]), float(sys.argv[2]), Voice(Verbosity(sys.argv[3])))
    except Interrupted as interrupted:
        sys.exit(interrupted.exit_code)

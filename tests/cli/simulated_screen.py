"""A search that is computed, shown as a real one is.

As a program it is to be looked at, or interrupted:
`python -m tests.cli.simulated_screen FOLDER SECONDS quiet|normal|verbose [TRIAL]`, where each
trial really lasts that long.  The trial of that number lasts until the program is ended.
"""

from __future__ import annotations

import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.measure.factory import limited_by
from tests.search.simulated import BUDGET_S, PROFILE, START_S, World, search
from tuner.cli.console import Verbosity
from tuner.cli.search_screen import Progress, Running, Screen, screen
from tuner.errors import Interrupted
from tuner.host.signals import install_handlers
from tuner.measure.measurement import Doubt, DoubtKind, Measurement
from tuner.search.search import Search
from tuner.search.study import Asked, Step, Trial
from tuner.space.knob import Bottleneck
from tuner.space.knobs import knobs

STAGES = ("starting", "warm-up", "window", "drain")
NOTHING_YET = Progress("small, elasticsearch 8.19.3, seed 1", BUDGET_S, PROFILE, knobs(PROFILE))


def judged(asked: Asked, measurement: Measurement) -> Measurement:
    """With what limits the pipeline, and now and then a doubt."""
    limits = Bottleneck.ENGINE_CPU if asked.changes else Bottleneck.MAIN_WORKER
    is_unsteady = random.Random(asked.number).random() < 0.2
    doubts = (Doubt(DoubtKind.UNSTEADY, "12 % drift"),) if is_unsteady else ()
    return replace(measurement, doubts=doubts, verdict=limited_by(limits))


def watch(
    world: World, shown: Screen, lasts_s: float = 0.0, endless: int | None = None
) -> Callable[[Search, Step], None]:
    """Show the trials of a world stage by stage, each of which really takes `lasts_s`, and the one
    with the number `endless` for ever; what is returned shows the steps of its search."""

    def begin(asked: Asked) -> None:
        for at, stage in enumerate(STAGES):
            at_s = world.now_s + 2.0 * at
            shown.began(Running(asked.number, asked.phase, asked.pair, stage, at_s))
            time.sleep(lasts_s / len(STAGES))
        if asked.number == endless:
            signal.pause()

    def hear(searching: Search, step: Step) -> None:
        if not isinstance(step, Trial):
            shown.say(step.text)
            return
        shown.ended(step, searching.leader(), BUDGET_S - world.now_s)

    world.stop, world.adds = begin, judged
    return hear


def show(folder: Path, lasts_s: float, verbosity: Verbosity, endless: int | None) -> None:
    """Search to the end on this program's stderr."""
    world = World(START_S)
    folder.mkdir(exist_ok=True)
    with screen(verbosity, NOTHING_YET, lambda: world.now_s) as shown:
        search(folder, world, name="random", hear=watch(world, shown, lasts_s, endless))


if __name__ == "__main__":
    install_handlers()
    try:
        folder, lasts_s, verbosity, *endless = sys.argv[1:]
        last = int(endless[0]) if endless else None
        show(Path(folder), float(lasts_s), Verbosity(verbosity), last)
    except Interrupted as interrupted:
        sys.exit(interrupted.exit_code)

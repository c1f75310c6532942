"""How often whole searches claim a gain where no setting has an effect.  Run by hand:

python -m tests.benchmarks.null_searches [--searches 1000] [--machines 1]

The machine's speed varies, a probe sees it, and settings move the probe by so much of a rate, up or
down: the search itself picks those that look faster for it.  Several machines differ in speed by
30 % (standard deviation of the logarithm), and the first drifts by as much in the search.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.safety.scorecard import least_share
from tests.search.simulated import (
    BUDGET_S,
    START_S,
    Levels,
    Machine,
    Probe,
    Rack,
    World,
    search,
)
from tuner.measure.measurement import Measurement
from tuner.search.study import Asked, Study
from tuner.search.verdict import Claim, judge

SIGMA, NOISE = 0.1, 0.05
MOVES = (0.0, 0.05, 0.1, 0.2)
SPEEDS, DRIFT = 0.3, 0.3
# Both pieces of the probe together explain so much of a rate for each of their logarithms.
SLOPE = 2.4


def null_search(seed: int, move: float, machines: int) -> Study:
    """One search, of the default strategy, of a pipeline that carries the same whatever is set."""

    def moved(levels: Levels) -> float:
        return random.Random(f"{seed} {sorted(levels.items())}").uniform(-move, move) / SLOPE

    speeds = random.Random(seed)
    worlds: dict[str, World] = {}
    for number in range(machines):
        rate = 50_000.0 * math.exp(speeds.gauss(0, SPEEDS) if machines > 1 else 0.0)
        machine = Machine(SIGMA, Probe.SEES, seed * machines + number, moved)
        worlds[f"lab{number}"] = World(
            START_S, constant(rate), noise=NOISE, seed=f"{seed} {number} ", adds=machine
        )
    first = worlds["lab0"]
    if machines > 1:
        first.adds = drifting(first)
    with tempfile.TemporaryDirectory() as folder:
        world = first if machines == 1 else Rack(worlds)
        return search(Path(folder), world, seed=seed, name="default")


def constant(rate: float) -> Callable[[Levels], float]:
    """The same rate whatever is set."""
    return lambda _: rate


def drifting(world: World) -> Callable[[Asked, Measurement], Measurement]:
    """What the world adds, and a rate that grows steadily."""
    steady = world.adds

    def adds(asked: Asked, run: Measurement) -> Measurement:
        run, factor = steady(asked, run), math.exp(DRIFT * world.now_s / BUDGET_S)
        return replace(run, eps=run.eps * factor, eps_paid=run.eps_paid * factor)

    return adds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--searches", type=int, default=1000)
    parser.add_argument("--machines", type=int, default=1)
    options = parser.parse_args()
    each = options.searches // len(MOVES)
    with patch("os.fsync", lambda _: None):
        for move in MOVES:
            verdicts = [judge(null_search(seed, move, options.machines)) for seed in range(each)]
            claims = sum(one.claim is Claim.IMPROVED for one in verdicts)
            compared = [one.claimed for one in verdicts if one.claimed is not None]
            covered = sum(one.low <= 1.0 for one in compared)
            low, high = least_share(claims, each), 1 - least_share(each - claims, each)
            sys.stdout.write(
                f"settings move the probe by up to {move:.0%} of a rate: {claims} of {each} "
                f"searches claim a gain [{low:.1%}, {high:.1%}]; the lower bound holds in "
                f"{covered} of {len(compared)}\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()

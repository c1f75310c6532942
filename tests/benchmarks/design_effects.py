"""How often the intervals of effects cover, and what taking changes back costs, where the truth is
known.  Run by hand:

python -m tests.benchmarks.design_effects [--searches 1000]

The truth of a winner: of its changes half give nothing, one in ten harms by 3 %, the others give
12 % on the average; one pair of changes in ten gives up to 8 % more or less together.  The speed of
the machine wanders: a third of the noise of a run is added to it at each run, and a tenth of it is
lost.  "Covers": the interval holds what the change gave, averaged over the others.  "Harmful": what
was taken back cost more than the 5 % that were to be ruled out.  "Minimal": nothing that gives
nothing or harms is handed over.  Six pairs of what is left follow; of fewer than four blocks they
are one of the rows.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.measure.factory import measured
from tuner.measure.enough import FEWEST_PAIRS
from tuner.measure.measurement import TrialPlan
from tuner.schema.path import Path
from tuner.search.effects import RULED_OUT, designed, effects_of
from tuner.search.study import BASELINE, Changes, Phase, Trial
from tuner.search.verdict import experiments
from tuner.space.knob import Cost, Knob

NOISES = (0.02, 0.05, 0.1)
# Changes of the winner, and blocks of two runs.
SIZES = ((2, 1), (4, 3), (7, 3), (4, 4), (7, 7), (7, 8), (8, 8), (7, 16), (12, 16))
CALIBRATING = 4
PLAN = TrialPlan(2.0, 4.0)


@dataclass
class Truth:
    """What changes give, alone and by two, and a machine whose speed wanders."""

    rng: random.Random
    noise: float
    gives: Mapping[str, float]
    together: Mapping[tuple[str, str], float]
    speed: float = 0.0

    def log(self, changes: Changes) -> float:
        """The logarithm of the rate of a point; each interaction is half of what two give more."""
        signs = {path: 1 if path in dict(changes) else -1 for path in self.gives}
        alone = sum(signs[path] * give / 2 for path, give in self.gives.items())
        pairs = ((signs[a] * signs[b], more) for (a, b), more in self.together.items())
        return alone + sum(sign * more / 4 for sign, more in pairs)

    def run(self, number: int, phase: Phase, changes: Changes, pair: int | None = None) -> Trial:
        """One run."""
        self.speed = 0.9 * self.speed + self.rng.gauss(0, self.noise / 3)
        log = self.log(changes) + self.speed + self.rng.gauss(0, self.noise)
        outcome = measured(1e4 * math.exp(log))
        return Trial(number, phase, changes, "", PLAN, outcome, number, pair, ended_s=number + 1)


def truth(rng: random.Random, paths: str, noise: float) -> Truth:
    """One pipeline."""

    def gives() -> float:
        if rng.random() < 0.1:
            return -0.03
        return abs(rng.gauss(0, 0.15)) if rng.random() < 0.5 else 0.0

    pairs = [(a, b) for a in paths for b in paths if a < b and rng.random() < 0.1]
    together = {pair: rng.gauss(0, 0.04) for pair in pairs}
    return Truth(rng, noise, {path: gives() for path in paths}, together)


def trials(world: Truth, winner: Changes, blocks: int) -> Iterator[Trial]:
    """The calibration and the runs of the design."""
    for number in range(CALIBRATING):
        yield world.run(number, Phase.CALIBRATE, BASELINE)
    knobs = [Knob(Path(path), (0, 1), 0, Cost.RSYSLOG_RESTART, keys=(path,)) for path, _ in winner]
    design = designed(winner, (), knobs, blocks, lambda _: True)
    for pair, block in enumerate(design.blocks() if design else (), 1):
        for changes in world.rng.sample(block, 2):
            yield world.run(100 + pair, Phase.EFFECTS, changes, pair)


def pairs(world: Truth, left: Changes) -> Iterator[Trial]:
    """The confirmation of what is left of a winner."""
    numbers = itertools.count(1000)
    for pair in range(1, FEWEST_PAIRS + 1):
        for changes in world.rng.sample((BASELINE, left), 2):
            yield world.run(next(numbers), Phase.CONFIRM, changes, pair)


def row(count: int, blocks: int, noise: float, searches: int) -> str:
    """What so many searches showed."""
    paths, rng = "abcdefghijkl"[:count], random.Random(f"{count} {blocks} {noise}")
    winner = tuple((path, 1) for path in paths)
    covered, effects, harmful, lost, minimal, width = 0, 0, 0, 0.0, 0, 0.0
    for _ in range(searches):
        world = truth(rng, paths, noise)
        made = list(trials(world, winner, blocks))
        before = effects_of(made, winner)
        left = winner if before is None else before.left
        found = next(experiments([*made, *pairs(world, left)]), None)
        if found is None:
            continue
        for at, group in enumerate(found.groups):
            one, gave = found.of(at), math.exp(sum(world.gives[path] for path, _ in group))
            covered, effects = covered + (one.low <= gave <= one.high), effects + 1
            width += math.log(one.high / one.low) / 2
        cost = 1 - math.exp(world.log(left) - world.log(winner))
        harmful, lost = harmful + (cost > RULED_OUT), lost + max(0.0, cost)
        useless = [path for path, give in world.gives.items() if give <= 0]
        minimal += not any(path in useless for path, _ in left)
    shares = f"±{width / effects:.1%} | {covered / effects:.1%} | {harmful / searches:.1%}"
    return (
        f"| {count} | {2 * blocks} | {noise:.0%} | {shares} | {lost / searches:.2%} "
        f"| {minimal / searches:.0%} |"
    )


def main() -> None:
    """Print a table."""
    options = argparse.ArgumentParser()
    options.add_argument("--searches", type=int, default=1000)
    searches = options.parse_args().searches
    sys.stdout.write(
        "| changes | runs | noise of a run | interval | covers | harmful | lost | minimal |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    for count, blocks in SIZES:
        for noise in NOISES:
            sys.stdout.write(row(count, blocks, noise, searches) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

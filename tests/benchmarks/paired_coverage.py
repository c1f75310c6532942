"""How often the paired statistics are right on noise that others measured.  Run by hand:

python -m tests.benchmarks.paired_coverage [CSV]

The noise is that of configurations measured several times on several cloud machines: what is left
of log(performance) without its configuration's mean.  It is drawn again in two ways: from all
configurations of a system at once, or for each side of a comparison with the scale of one
configuration of its own, so that A and B differ in their noise.  In a third way the engine restarts
before the second run of each pair, whose rate is then a fifth lower on side A and a tenth on B.

Seven runs tell the scale of a configuration's noise, not its shape.  Five of nginx's 164 runs stand
out by more than 10 %, each in another configuration, on four machines: rare events that any run may
meet.  To draw a side from its configuration's own seven runs would take each for an event of every
seventh run of that side and of no run of the other.  Ten runs miss such an event in one comparison
of five, and then nothing in them tells of the 2 to 4 % that it adds to the mean: no test of means
keeps its level whatever the distribution (Bahadur and Savage 1956, Ann Math Stat 27:1115-1122).
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tuner.measure.paired import Comparison, compare

# The repository stands beside the folder of published measurements.
PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "replicates.csv"
COMPARISONS = 2000
TRUE_RATIO = 1.2
PAIRS = (6, 10)
RESTARTING_PAIRS = (8, 10)
LOST_BY_A, LOST_BY_B = math.log(0.8), math.log(0.9)
FEWEST_RUNS = 5

Residuals = NDArray[np.float64]
Draw = Callable[[int], Residuals]


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def residuals(path: Path) -> dict[str, list[Residuals]]:
    """The residuals of every configuration, by system."""
    runs: dict[tuple[str, str], list[float]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            of = (row["system"], row["configuration"])
            runs.setdefault(of, []).append(float(row["performance"]))
    found: dict[str, list[Residuals]] = {}
    for (system, _), measured in runs.items():
        if len(measured) >= FEWEST_RUNS:
            logs = np.log(measured)
            # A mean of k runs takes 1/k of their variance with it.
            spread = math.sqrt(len(logs) / (len(logs) - 1))
            found.setdefault(system, []).append((logs - logs.mean()) * spread)
    return found


def from_all(each: Sequence[Residuals], rng: np.random.Generator) -> Draw:
    pool = np.concatenate(each)
    return lambda pairs: rng.choice(pool, (2, pairs))


def from_two(each: Sequence[Residuals], rng: np.random.Generator) -> Draw:
    """Runs of any configuration, rescaled to one of each side's own.

    A scale is the median deviation from the median, so that what stands out in a configuration does
    not count into the scale by which it stands out.
    """
    scales = [np.median(np.abs(one - np.median(one))) for one in each]
    pool = np.concatenate([one / scale for one, scale in zip(each, scales, strict=True)])
    pool -= pool.mean()

    def draw(pairs: int) -> Residuals:
        sides = rng.choice(scales, (2, 1), replace=False)
        rescaled: Residuals = sides * rng.choice(pool, (2, pairs))
        return rescaled

    return draw


def compared(draw: Draw, pairs: int, ratio: float, restarting: bool) -> list[Comparison]:
    """The side that ran last runs first, so each follows a restart in every second pair."""
    after = [(restarting and turn % 2 == 1, restarting and turn % 2 == 0) for turn in range(pairs)]
    found = []
    for _ in range(COMPARISONS):
        a, b = draw(pairs)
        lost_by_a, lost_by_b = np.array(after).T * np.array([[LOST_BY_A], [LOST_BY_B]])
        a, b = np.exp(a + lost_by_a), np.exp(b + lost_by_b)
        found.append(compare(a.tolist(), (ratio * b).tolist(), after))
    return found


def line(name: str, way: str, draw: Draw, pairs: int, restarting: bool = False) -> str:
    equal = compared(draw, pairs, 1.0, restarting)
    gain = math.exp(math.sqrt(np.mean([math.log1p(one.detectable or 0.0) ** 2 for one in equal])))
    shown = np.mean([one.shows_more for one in compared(draw, pairs, gain, restarting)])
    claimed = np.mean([one.shows_more or one.shows_less for one in equal])
    found = compared(draw, pairs, TRUE_RATIO, restarting)
    covered = np.mean([one.low <= TRUE_RATIO <= one.high for one in found])
    return (
        f"{name:16} {way:18} {pairs:5} {covered:8.1%} {claimed:11.1%} {gain - 1:10.1%} {shown:6.1%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("csv", nargs="?", type=Path, default=PUBLISHED)
    path = parser.parse_args().csv
    if not path.is_file():
        sys.exit(
            f"{path}: there is no such file; name a CSV with the columns system, configuration "
            "and performance"
        )
    rng = np.random.default_rng(1)
    say(f"{COMPARISONS:,} comparisons a line, true ratio {TRUE_RATIO}; A/A: equal, yet told apart")
    say("system           noise of           pairs  covered  A/A claims detectable  found")
    for name, each in residuals(path).items():
        spread = np.concatenate(each).std()
        say(f"{name}: {len(each)} configurations, noise {spread:.1%}")
        for way, draw in (
            ("all", from_all(each, rng)),
            ("two scales", from_two(each, rng)),
        ):
            for pairs in PAIRS:
                say(line(name, way, draw, pairs))
        for pairs in RESTARTING_PAIRS:
            say(line(name, "all, restarts", from_all(each, rng), pairs, restarting=True))


if __name__ == "__main__":
    main()

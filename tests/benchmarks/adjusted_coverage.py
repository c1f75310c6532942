"""How often comparisons adjusted by the machine's speed are right.  Run by hand:

python -m tests.benchmarks.adjusted_coverage [--comparisons 2000] [CSV]

Simulated: a probe that shows nothing, a little or much of what the rates vary by, and settings that
move the probe without changing the rate.  Drawn again: pairs from published runs of one profile
with their probe, each side's runs by chance, so that equal is compared with equal.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tuner.measure.contrast import Counts, Estimate
from tuner.measure.paired import Comparison, compare
from tuner.measure.speed import PRIOR

# The repository stands beside the folder of published measurements.
PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "speed_probe.csv"
PAIRS = (6, 8, 10)
TRUE_GAIN = np.log(1.2)
SIGMAS = (0.146, 0.05)
CORRELATIONS = (0.0, 0.4, 0.85)
MOVES = (0.0, 0.01, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3)

Numbers = NDArray[np.float64]
Draw = Callable[[int], tuple[Numbers, Numbers]]
"""Logarithms of rates and what the probe explains of them, of so many runs."""


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def simulated(rng: np.random.Generator, sigma: float, correlation: float) -> Draw:
    """A probe whose slope is that of the published runs, or that varies as much for nothing."""

    def draw(runs: int) -> tuple[Numbers, Numbers]:
        machine, own = rng.normal(0.0, sigma, (2, runs))
        rates = correlation * machine + (1 - correlation**2) ** 0.5 * own
        return rates, machine * (correlation or max(CORRELATIONS))

    return draw


def resampled(rng: np.random.Generator, path: Path) -> Draw:
    """Runs of a file, each at most once in a comparison."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    rates = np.log([float(row["eps"]) for row in rows])
    pieces = np.log([[float(row["zlib_ms"]), float(row["socketpair_ms"])] for row in rows])
    speeds = np.array([PRIOR.explained((zlib, socket), (0.0, 0.0)) for zlib, socket in pieces])

    def draw(runs: int) -> tuple[Numbers, Numbers]:
        drawn = rng.choice(len(rates), runs, replace=False)
        return rates[drawn], speeds[drawn]

    return draw


def compared(
    draw: Draw, pairs: int, comparisons: int, gain: float = 0.0, moved: float = 0.0
) -> list[Comparison]:
    """Comparisons of sides that differ by `gain`, and by `moved` in what the probe shows."""
    found = []
    for _ in range(comparisons):
        rates, speeds = draw(2 * pairs)
        a, b = np.exp(rates[:pairs]), np.exp(rates[pairs:] + gain)
        of_both = (speeds[:pairs].tolist(), (speeds[pairs:] + moved).tolist())
        found.append(compare(a.tolist(), b.tolist(), (), of_both))
    return found


def line(name: str, equal: Sequence[Comparison], unequal: Sequence[Comparison]) -> str:
    """How often the truth is covered, equal ones are told apart, and a gain is shown; how long the
    adjusted interval and that which counts are beside the raw one; and what counted."""
    by_speeds = [one.by_speed for one in equal if one.by_speed is not None]
    raw = _length([one.raw for one in by_speeds])
    shares = [
        np.mean([one.low <= 1.0 <= one.high for one in equal]),
        np.mean([one.shows_more or one.shows_less for one in equal]),
        np.mean([one.shows_more for one in unequal]),
    ]
    lengths = [_length([one.adjusted for one in by_speeds]) / raw, _length(equal) / raw]
    counts = [one.counts for one in by_speeds]
    return name.ljust(44) + "".join(
        [f"{one:8.1%}" for one in shares]
        + [f"{one:9.2f}" for one in lengths]
        + [f"{counts.count(one) / len(counts):9.0%}" for one in Counts]
    )


def _length(of: Sequence[Estimate | Comparison]) -> float:
    return float(np.mean([np.log(one.high / one.low) ** 2 for one in of]) ** 0.5)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("csv", nargs="?", type=Path, default=PUBLISHED)
    parser.add_argument("--comparisons", type=int, default=2000)
    asked = parser.parse_args()
    rng = np.random.default_rng(1)
    say(f"{asked.comparisons:,} comparisons a line; claimed: equal ones; shown: a gain of 20 %")
    kinds = "".join(f"{one.name.lower():>9}" for one in Counts)
    say(f"{'':44} covered claimed   shown adj./raw cnt./raw{kinds}")
    for pairs in PAIRS:
        for sigma in SIGMAS:
            for correlation in CORRELATIONS:
                draw = simulated(rng, sigma, correlation)
                for moved in MOVES if correlation == max(CORRELATIONS) else MOVES[:1]:
                    equal = compared(draw, pairs, asked.comparisons, moved=moved)
                    unequal = compared(draw, pairs, asked.comparisons, TRUE_GAIN, moved)
                    name = f"{pairs} pairs, noise {sigma}, rho {correlation}, moved {moved}"
                    say(line(name, equal, unequal))
    if not asked.csv.is_file():
        say(f"{asked.csv}: there is no such file, so nothing is drawn from published runs")
        return
    for pairs in PAIRS:
        draw = resampled(rng, asked.csv)
        equal = compared(draw, pairs, asked.comparisons)
        unequal = compared(draw, pairs, asked.comparisons, TRUE_GAIN)
        say(line(f"{pairs} pairs of {asked.csv.name}", equal, unequal))


if __name__ == "__main__":
    main()

"""How often pairs on several machines claim what is not there, and hold what is.  Run by hand:

python -m tests.benchmarks.machine_claims [--comparisons 4000]

Machines differ in speed by 30 % (standard deviation of the logarithm), one of them drifts by as
much while it measures, and the gain differs among them by nothing, 2 % or 5 %.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from tuner.measure.machines import compare_across
from tuner.measure.paired import Comparison

NOISE, SPEEDS, DRIFT, GAIN = 0.05, 0.3, 0.3, 1.2
SHAPES = ((2, 3), (2, 5), (2, 8), (3, 4), (4, 2), (4, 4), (8, 1), (8, 2))


def compared(
    machines: int, each: int, gain: float, differs: float, rng: np.random.Generator
) -> Comparison:
    """So many pairs on each machine, in random order within a pair; the first machine drifts."""
    names = [f"lab{number}" for number in range(machines) for _ in range(each)]
    speed = np.repeat(rng.normal(0, SPEEDS, machines), each)
    gains = np.repeat(np.log(gain) + rng.normal(0, differs, machines), each)
    noise = rng.normal(0, NOISE, (2, len(names)))
    time = np.arange(2 * each) / (2 * each)
    drift = np.zeros((2, len(names)))
    for pair in range(each):
        order = rng.permutation(2)
        drift[order, pair] = DRIFT * time[2 * pair : 2 * pair + 2]
    a, b = np.exp(speed + drift[0] + noise[0]), np.exp(speed + gains + drift[1] + noise[1])
    return compare_across(a.tolist(), b.tolist(), names)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--comparisons", type=int, default=4000)
    count = parser.parse_args().comparisons
    rng = np.random.default_rng(1)
    sys.stdout.write("machines  pairs each  gains differ by  A/A claims  covered  half width\n")
    for differs in (0.0, 0.02, 0.05):
        for machines, each in SHAPES:
            equal = [compared(machines, each, 1.0, differs, rng) for _ in range(count)]
            better = [compared(machines, each, GAIN, differs, rng) for _ in range(count)]
            claims = np.mean([one.shows_more or one.shows_less for one in equal])
            covered = np.mean([one.low <= GAIN <= one.high for one in better])
            half = np.mean([np.log(one.high / one.low) / 2 for one in better])
            sys.stdout.write(
                f"{machines:8} {each:11} {differs:16.0%} "
                f"{claims:11.1%} {covered:8.1%} {half:11.1%}\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()

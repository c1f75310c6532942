"""Whether "N pairs detect a gain of X" holds, and whether intervals cover, whatever the noise is.
Run by hand:

python -m tests.benchmarks.noise_promise [--searches 1000]

Of each simulated search the profile is calibrated, the promise is read, and fresh pairs are made of
a profile that is faster by just what was promised: 80 % of them should show it.  Intervals are of
2, 3, 4, 6, 10 and 16 pairs of a profile that is 20 % faster, by one rate and by the lesser of two.
"""

from __future__ import annotations

import argparse
import math
import sys

import numpy as np

from tuner.measure.paired import Comparison, compare, least
from tuner.search.calibration import Calibration, Repeats, calibrate

NOISES = (0.02, 0.05, 0.1, 0.2, 0.4)
CALIBRATING = (2, 4, 6)
PAIRS = (6, 10)
FEW_PAIRS = (2, 3, 4, 6, 10, 16)
RATIO, DEFERRED = 1.2, 0.5


def calibrated(noise: float, runs: int, rng: np.random.Generator) -> Calibration:
    """What so many runs say whose logarithms differ by this noise."""
    rates = np.exp(11 + rng.normal(0, noise, runs)).tolist()
    return calibrate(Repeats(rates))


def compared(ratio: float, noise: float, pairs: int, rng: np.random.Generator) -> Comparison:
    """Fresh pairs of a profile and one that is faster by this ratio."""
    a, b = np.exp(rng.normal(0, noise, (2, pairs)))
    return compare(a.tolist(), (ratio * b).tolist())


def shown(noise: float, runs: int, pairs: int, searches: int, seed: int = 1) -> float:
    """How often so many pairs show what they were said to detect, by so many runs before them."""
    rng, found = np.random.default_rng(seed), 0
    for _ in range(searches):
        gain = calibrated(noise, runs, rng).detectable(pairs) or math.inf
        found += compared(1 + gain, noise, pairs, rng).shows_more
    return found / searches


def shown_again(noise: float, pairs: int, searches: int, seed: int = 1) -> float:
    """How often pairs show the smallest gain that other pairs said such pairs detect."""
    rng, found = np.random.default_rng(seed), 0
    for _ in range(searches):
        gain = compared(1.0, noise, pairs, rng).detectable or math.inf
        found += compared(1 + gain, noise, pairs, rng).shows_more
    return found / searches


def covered(noise: float, pairs: int, comparisons: int, seed: int = 1) -> tuple[float, float]:
    """How often the interval of one rate, and that of the lesser of two, holds what is true; half
    of the noise of the second rate is that of the first."""
    rng, one_rate, lesser = np.random.default_rng(seed), 0, 0
    for _ in range(comparisons):
        a, b = rng.normal(0, noise, (2, pairs))
        apart = rng.normal(0, noise, (2, pairs))
        paid = math.sqrt(DEFERRED) * np.array([a, b]) + math.sqrt(1 - DEFERRED) * apart
        first = compare(np.exp(a).tolist(), (RATIO * np.exp(b)).tolist())
        second = compare(np.exp(paid[0]).tolist(), (RATIO * np.exp(paid[1])).tolist())
        both = least([first, second])
        one_rate += first.low <= RATIO <= first.high
        lesser += both.low <= RATIO <= both.high
    return one_rate / comparisons, lesser / comparisons


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--searches", type=int, default=1000)
    searches = parser.parse_args().searches
    rng = np.random.default_rng(1)
    say("noise  runs  median of what is said: noise, what 6 pairs detect; shown by 6 and 10 pairs")
    for noise in NOISES:
        for runs in CALIBRATING:
            said = [calibrated(noise, runs, rng) for _ in range(searches)]
            sigma = np.median([one.sigma for one in said])
            gain = np.median([one.detectable(6) or math.inf for one in said])
            power = "  ".join(f"{shown(noise, runs, pairs, searches):6.1%}" for pairs in PAIRS)
            say(f"{noise:5.0%}  {runs:4}  {sigma:6.1%}  {gain:7.1%}  {power}")
    say("noise: what pairs say of themselves, shown by 6 and 10 other pairs")
    for noise in NOISES:
        power = "  ".join(f"{shown_again(noise, pairs, searches):6.1%}" for pairs in PAIRS)
        say(f"{noise:5.0%}  {power}")
    say(
        "noise: 95 % intervals that hold a true +20 %, of one rate / of the lesser of two, by pairs"
    )
    for noise in NOISES:
        each = (covered(noise, pairs, searches, round(100 * noise)) for pairs in FEW_PAIRS)
        say(f"{noise:5.0%}  " + "  ".join(f"{one:.1%} / {two:.1%}" for one, two in each))


if __name__ == "__main__":
    main()

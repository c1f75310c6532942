"""What the exact test beside the interval costs in power.  Run by hand:

python -m tests.benchmarks.power_of_the_rule

For each number of pairs, without restarts of the engine and with one in each pair, it finds the
gain that the whole rule (interval and exact test agree) shows in 80 % of simulated comparisons with
normal noise, over the gain by the formula for the interval alone.  The table of
`tuner/measure/contrast.py` is what it prints (in some minutes).
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from tuner.measure.contrast import Contrast
from tuner.measure.enough import FEWEST_PAIRS, FEWEST_RESTARTING

MOST_PAIRS = 16
COMPARISONS = 20_000
AT_ONCE = 500
LABELLINGS = 4096
POWER = 0.8
STEPS = 12

Numbers = NDArray[np.float64]


def shown(contrast: Contrast, runs: Numbers) -> NDArray[np.bool_]:
    """Of each row of runs whether interval and exact test show that B is above A.  Of more than
    4,096 labellings so many are taken by chance."""
    labelled = np.stack([contrast.differences(one) for one in np.eye(runs.shape[1])], axis=1)
    if len(labelled) > LABELLINGS:
        picked = np.random.default_rng(2).choice(len(labelled) - 1, LABELLINGS - 1, replace=False)
        labelled = np.concatenate([labelled[:1], labelled[1 + picked]])
    answers = []
    for start in range(0, len(runs), AT_ONCE):
        some = runs[start : start + AT_ONCE]
        differences = some @ labelled.T
        p = np.mean(np.abs(differences) >= np.abs(differences[:, :1]) - 1e-12, axis=1)
        squares = np.array([contrast.squares(one) for one in some])
        error = np.sqrt(squares / contrast.freedom / contrast.runs_behind)
        low = differences[:, 0] - stdtrit(contrast.freedom, 0.975) * error
        answers.append((low > 0) & (p < 0.05))
    return np.concatenate(answers)


def factor(contrast: Contrast) -> float:
    """By bisection, with the same noise at each step."""
    runs = np.random.default_rng(1).normal(size=(COMPARISONS, contrast.of_a + contrast.of_b))
    error = (1 / contrast.runs_behind) ** 0.5
    by_formula = sum(float(stdtrit(contrast.freedom, one)) for one in (0.975, POWER)) * error
    low, high = 0.8, 2.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        gain = np.repeat([0.0, middle * by_formula], [contrast.of_a, contrast.of_b])
        if np.mean(shown(contrast, runs + gain)) < POWER:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def main() -> None:
    for pairs in range(FEWEST_PAIRS, MOST_PAIRS + 1):
        line = f"{pairs} pairs: {factor(Contrast(pairs, pairs, paired=True)):.3f}"
        if pairs >= FEWEST_RESTARTING:
            halves = Contrast((pairs + 1) // 2, pairs // 2, paired=False)
            line += f"; restarting: {factor(halves):.3f}"
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

"""What is lost by proposing while others are still measured.  Run by hand:

python -m tests.benchmarks.parallel_regret [--seeds 20] [--trials 60] [--machines 1 4 8]
    [--fewer 7 12] [TABLE.csv COLUMN]

The same searches as in the arena, with as many trials, on one machine and on several: the regret of
each, and that of several machines over that of one, at the same seeds.  So many trials `fewer` on
one machine say what several machines lose, in trials.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from tests.benchmarks.arena_search import Plan, run
from tests.benchmarks.arena_surfaces import Noise, simulated, table

SIGMA, VARIANTS = 0.05, 5
DRAWS = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--machines", type=int, nargs="+", default=[1, 4, 8])
    parser.add_argument("--fewer", type=int, nargs="+", default=[])
    parser.add_argument("table", nargs="*", metavar="TABLE.csv COLUMN")
    options = parser.parse_args()
    noise = Noise(SIGMA)
    surfaces = [simulated(variant, noise) for variant in range(VARIANTS)]
    if options.table:
        path, column = options.table
        surfaces.append(table(Path(path), column, "max", set(), noise))
    plans = [(machines, Plan.of(options.trials)) for machines in options.machines]
    plans += [(1, Plan.of(options.trials).fewer(fewer)) for fewer in options.fewer]
    regrets = np.zeros((len(plans), len(surfaces), options.seeds))
    sys.stdout.write(
        "seeds  machines  search trials  regret  over that of the first [95 % interval]  CPU s\n"
    )
    for seed in range(options.seeds):
        for row, (machines, plan) in enumerate(plans):
            results = [run(one, "default", seed, SIGMA, plan, machines) for one in surfaces]
            regrets[row, :, seed] = [1 - one.ratio for one in results]
            sys.stdout.write(
                f"{seed + 1:5} {machines:9} {plan.search:14} "
                f"{over_the_first(regrets[:, :, : seed + 1], row)} {results[-1].own_s:21.2f}\n"
            )
            sys.stdout.flush()


def over_the_first(regrets: np.ndarray, row: int) -> str:
    """Each surface counts the same; the interval is a bootstrap over seeds."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(regrets.shape[2], size=(DRAWS, regrets.shape[2]))
    each = regrets.mean(axis=1)
    ratios = each[row][drawn].mean(axis=1) / each[0][drawn].mean(axis=1)
    low, high = np.quantile(ratios, (0.025, 0.975))
    over = each[row].mean() / each[0].mean()
    return f"{each[row].mean():7.4f}  {over:6.3f} [{low:.3f}, {high:.3f}]"


if __name__ == "__main__":
    main()

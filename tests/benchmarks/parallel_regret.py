"""What is lost by proposing while others are still measured.  Run by hand:

python -m tests.benchmarks.parallel_regret [--seeds 20] [--trials 60] [--machines 1 4 8]
    [TABLE.csv COLUMN]

The same searches as in the arena, with as many trials, on one machine and on several: the regret of
each, and that of several machines over that of one, at the same seeds.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from tests.benchmarks.arena_search import Plan, run
from tests.benchmarks.arena_surfaces import Noise, Surface, simulated, table

SIGMA, VARIANTS = 0.05, 5
DRAWS = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--machines", type=int, nargs="+", default=[1, 4, 8])
    parser.add_argument("table", nargs="*", metavar="TABLE.csv COLUMN")
    options = parser.parse_args()
    noise = Noise(SIGMA)
    surfaces = [simulated(variant, noise) for variant in range(VARIANTS)]
    if options.table:
        path, column = options.table
        surfaces.append(table(Path(path), column, "max", set(), noise))
    regrets = np.zeros((len(options.machines), len(surfaces), options.seeds))
    sys.stdout.write("seeds  machines  regret  over that of the first [95 % interval]  CPU s\n")
    for seed in range(options.seeds):
        for row, machines in enumerate(options.machines):
            own_s = 0.0
            for column_, surface in enumerate(surfaces):
                ratio, own_s = searched(surface, seed, machines, options.trials)
                regrets[row, column_, seed] = 1 - ratio
            sys.stdout.write(line(regrets[:, :, : seed + 1], row, machines, own_s))
            sys.stdout.flush()


def searched(surface: Surface, seed: int, machines: int, trials: int) -> tuple[float, float]:
    """The true rate of what was recommended over the best, and the seconds of proposals."""
    result = run(surface, "default", seed, SIGMA, Plan.of(trials), machines)
    return result.ratio, result.own_s


def line(regrets: np.ndarray, row: int, machines: int, own_s: float) -> str:
    """Each surface counts the same; the interval is a bootstrap over seeds."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(regrets.shape[2], size=(DRAWS, regrets.shape[2]))
    each = regrets.mean(axis=1)
    over = each[row][drawn].mean(axis=1) / each[0][drawn].mean(axis=1)
    low, high = np.quantile(over, (0.025, 0.975))
    return (
        f"{regrets.shape[2]:5} {machines:9} {each[row].mean():7.4f}  "
        f"{each[row].mean() / each[0].mean():6.3f} [{low:.3f}, {high:.3f}] {own_s:21.2f}\n"
    )


if __name__ == "__main__":
    main()

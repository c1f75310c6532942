"""How often whole searches claim a gain where no setting has an effect.  Run by hand:

python -m tests.benchmarks.null_searches [--searches 1000]

The machine's speed varies, a probe sees it, and settings move the probe by so much of a rate, up or
down: the search itself picks those that look faster for it.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.safety.scorecard import least_share
from tests.search.simulated import START_S, Levels, Machine, Probe, World, search
from tuner.search.study import Study
from tuner.search.verdict import Claim, judge

SIGMA, NOISE = 0.1, 0.05
MOVES = (0.0, 0.05, 0.1, 0.2)
# Both pieces of the probe together explain so much of a rate for each of their logarithms.
SLOPE = 2.4


def null_search(seed: int, move: float) -> Study:
    """One search, of the default strategy, of a pipeline that carries the same whatever is set."""

    def moved(levels: Levels) -> float:
        return random.Random(f"{seed} {sorted(levels.items())}").uniform(-move, move) / SLOPE

    machine = Machine(SIGMA, Probe.SEES, seed, moved)
    world = World(START_S, lambda _: 50_000.0, noise=NOISE, seed=f"{seed} ", adds=machine)
    with tempfile.TemporaryDirectory() as folder:
        return search(Path(folder), world, seed=seed, name="default")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--searches", type=int, default=1000)
    each = parser.parse_args().searches // len(MOVES)
    with patch("os.fsync", lambda _: None):
        for move in MOVES:
            verdicts = [judge(null_search(seed, move)) for seed in range(each)]
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

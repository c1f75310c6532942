"""What the search's model takes to propose a trial, as a search goes on.  Run by hand:

python tests/benchmarks/model_cost.py [--trial-seconds S] [--knobs N] [TRIALS ...]

For each number of trials a process of its own tells them to the default strategy, with a guardrail
that is far from its limit, and then goes on as a search does: ask, tell, ask who leads.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from tests.search.random_points import strategy
from tuner.search.space import Dimension, Observation, Point, Space

SIGMA = 0.05
PROPOSALS = 8
LEVELS = 6
MATTERING = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("trials", nargs="*", type=int, default=[100, 300, 1000, 3000])
    parser.add_argument("--trial-seconds", type=float, default=10.0)
    parser.add_argument("--knobs", type=int, default=30)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        figures = cost(options.trials[0], options.knobs, options.trial_seconds)
        sys.stdout.write(json.dumps(figures))
        return
    sys.stdout.write(
        f"{options.knobs} knobs, trials of {options.trial_seconds:g} s\n"
        "trials   CPU s per proposal: mean, most   share of a trial   peak MB\n"
    )
    for trials in options.trials:
        command = [sys.executable, __file__, "--alone", str(trials)]
        command += ["--knobs", str(options.knobs)]
        command += ["--trial-seconds", str(options.trial_seconds)]
        shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        mean_s, most_s, peak_mb = json.loads(shown)
        share = mean_s / options.trial_seconds
        sys.stdout.write(f"{trials:6} {mean_s:22.2f} {most_s:7.2f} {share:18.1%} {peak_mb:9.0f}\n")
        sys.stdout.flush()


def cost(trials: int, knobs: int, trial_s: float) -> tuple[float, float, float]:
    """Mean and largest CPU seconds of a proposal, and the peak memory in MB."""
    dimensions = tuple(Dimension(f"knob {at}", LEVELS, True) for at in range(knobs))
    space = Space(dimensions, lambda _: True, trial_s=trial_s)
    rng = np.random.default_rng(0)
    searcher = strategy("default", space, 0, SIGMA)
    for trial in range(trials):
        searcher.tell(observed(space, drawn(space, rng), trial, rng))
    searcher.beliefs()
    seconds = []
    for trial in range(trials, trials + PROPOSALS):
        began_s = time.process_time()
        proposal = searcher.ask()
        seconds.append(time.process_time() - began_s)
        assert proposal is not None
        told = observed(space, proposal.point, trial, rng)
        began_s = time.process_time()
        searcher.tell(told)
        searcher.beliefs()
        seconds[-1] += time.process_time() - began_s
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return sum(seconds) / len(seconds), max(seconds), peak_mb


def drawn(space: Space, rng: np.random.Generator) -> Point:
    """A point that has about three knobs in four at the start."""
    changed = rng.uniform(size=len(space.sizes)) < 0.25
    return tuple((rng.integers(space.sizes) * changed).tolist())


def observed(space: Space, point: Point, trial: int, rng: np.random.Generator) -> Observation:
    """A hill in some of the knobs, with noise, and memory that grows with one of them."""
    value = -0.05 * sum((level - 3) ** 2 for level in point[:MATTERING]) / LEVELS
    margins = (("rss_bytes", 1.0 - 0.1 * point[0] + 0.01 * rng.standard_normal()),)
    noisy = value + SIGMA * rng.standard_normal()
    return Observation(point, noisy, SIGMA, space.trial_s * trial, True, margins)


if __name__ == "__main__":
    main()

"""What a search on many machines makes of them.  Run by hand:

python -m tests.benchmarks.farm_scale [--machines 1 4 16 64 256] [--budget 600]

Whole searches of the simulated pipeline, whose trials take as long as those on Elasticsearch:
trials per hour, the share of the machines' time that went into trials while the search proposed,
and what a proposal costs.  Time passes in trials and, by the CPU time of this process, in the
search's own computing, so that a busy machine does not change the figures.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from time import process_time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.search.simulated import PACE, START_S, Rack, changed, rack, setup
from tuner.measure.measurement import Result
from tuner.profile.model import Profile
from tuner.search.farm import Lost
from tuner.search.runner import Runner
from tuner.search.search import Search
from tuner.search.study import Asked, Phase, Trial

OVERHEAD_S = 4.0


@dataclass
class BusyRack(Rack):
    """Machines that wait while the search computes."""

    computed_s: float = 0.0
    _since_s: float = 0.0

    def begin(self) -> None:
        """From now on computing takes time."""
        self._since_s = process_time()

    def start(self, asked: Asked, profile: Profile) -> None:
        self._pass()
        super().start(asked, profile)
        self.begin()

    def wait(self, timeout_s: float) -> dict[int, Result | Lost]:
        self._pass()
        ended = super().wait(timeout_s)
        self.begin()
        return ended

    def _pass(self) -> None:
        taken_s = process_time() - self._since_s
        self.now_s += taken_s
        self.computed_s += taken_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, nargs="+", default=[1, 4, 16, 64, 256])
    parser.add_argument("--budget", type=float, default=600.0)
    options = parser.parse_args()
    sys.stdout.write("machines  trials  trials/h  of one  in trials while proposing  CPU/trial\n")
    first: float | None = None
    for count in options.machines:
        world = BusyRack(rack(count, overhead_s=OVERHEAD_S).worlds, now_s=START_S)
        asked = changed(setup(world, name="default"), budget_s=options.budget, pace=PACE)
        world.begin()
        trials = [one for one in Search(Runner(asked)).run() if isinstance(one, Trial)]
        per_hour = len(trials) * 3600 / max(one.ended_s for one in trials)
        first = first or per_hour / count
        sys.stdout.write(
            f"{count:8}  {len(trials):6}  {per_hour:8.0f}  {per_hour / count / first:6.3f}  "
            f"{in_trials(trials, count):25.3f}  {world.computed_s / len(trials) * 1000:6.0f} ms\n"
        )
        sys.stdout.flush()


def in_trials(trials: list[Trial], machines: int) -> float:
    """The share of the machines' time between the first and the last trial of the search's phase
    that begins, that was spent in trials."""
    searching = [one for one in trials if one.phase is Phase.SEARCH]
    from_s, to_s = (pick(one.at_s for one in searching) for pick in (min, max))
    inside = [max(0.0, min(one.ended_s, to_s) - max(one.at_s, from_s)) for one in searching]
    return sum(inside) / (machines * (to_s - from_s))


if __name__ == "__main__":
    main()

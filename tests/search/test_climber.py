"""The climber on simulated surfaces: it climbs, it re-measures, it repeats no failure."""

from __future__ import annotations

import math
import random
from collections import Counter

from tests.measure.factory import failed, measured
from tuner.profile.knobs import Cost, Knob
from tuner.search.climber import Climber, moved
from tuner.search.study import BASELINE, Changes

BATCH = Knob("queue.dequeueBatchSize", (1, 2, 4, 8, 16), 2, Cost.RSYSLOG_RESTART)
WORKERS = Knob("queue.workerThreads", (1, 2, 3, 4), 1, Cost.RSYSLOG_RESTART)


def rate(point: Changes, best_batch: int = 8, best_workers: int = 3) -> float:
    """A smooth hill with its top at the given levels."""
    values = {BATCH.path: BATCH.current, WORKERS.path: WORKERS.current} | dict(point)
    batch, workers = values[BATCH.path], values[WORKERS.path]
    assert isinstance(batch, int)
    assert isinstance(workers, int)
    off = math.log2(batch / best_batch) ** 2 + (workers - best_workers) ** 2
    return 1000 * math.exp(-0.05 * off)


def climb(trials: int, noise: float = 0.0, seed: int = 1) -> tuple[Climber, list[Changes]]:
    rng = random.Random(seed)
    climber = Climber((BATCH, WORKERS), lambda _: True, rng)
    climber.tell(BASELINE, measured(rate(BASELINE)))
    asked = []
    for _ in range(trials):
        proposal = climber.ask()
        if proposal is None:
            break
        asked.append(proposal.changes)
        luck = math.exp(rng.gauss(0, noise))
        climber.tell(proposal.changes, measured(rate(proposal.changes) * luck))
    return climber, asked


def test_it_climbs_to_the_top_of_a_smooth_hill() -> None:
    climber, _ = climb(40)
    assert dict(climber.best) == {BATCH.path: 8, WORKERS.path: 3}


def test_a_point_is_measured_again_only_as_a_rival_or_as_the_best() -> None:
    _, asked = climb(12)
    once = Counter(asked)
    assert max(once.values()) <= 5
    assert len(once) >= 5


def test_a_lucky_point_is_measured_twice_before_it_becomes_the_best() -> None:
    climber = Climber((BATCH,), lambda _: True, random.Random(1))
    climber.tell(BASELINE, measured(1000))
    point = moved(BASELINE, BATCH, 4)
    climber.tell(point, measured(1500))
    assert climber.best == BASELINE
    again = climber.ask()
    assert again is not None
    assert again.changes == point
    climber.tell(point, measured(600))
    assert climber.best == BASELINE


def test_a_failed_point_is_never_asked_again() -> None:
    climber = Climber((BATCH, WORKERS), lambda _: True, random.Random(1))
    climber.tell(BASELINE, measured(1000))
    lost: set[Changes] = set()
    for _ in range(30):
        proposal = climber.ask()
        if proposal is None:
            break
        assert proposal.changes not in lost
        if proposal.changes == BASELINE:
            climber.tell(BASELINE, measured(1000))
        else:
            lost.add(proposal.changes)
            climber.tell(proposal.changes, failed())
    assert len(lost) == 4  # the neighbours of the baseline (batch 1, 4, workers 2) and a recipe
    assert climber.best_challenger() is None


def test_a_point_that_the_linter_refuses_is_never_proposed() -> None:
    climber = Climber((BATCH, WORKERS), lambda point: BATCH.path not in dict(point),
                      random.Random(1))  # fmt: skip
    climber.tell(BASELINE, measured(1000))
    for _ in range(10):
        proposal = climber.ask()
        if proposal is None:
            break
        assert BATCH.path not in dict(proposal.changes)
        climber.tell(proposal.changes, measured(900))


def test_the_same_seed_asks_the_same_points() -> None:
    assert climb(15, noise=0.05, seed=3)[1] == climb(15, noise=0.05, seed=3)[1]
    assert climb(15, noise=0.05, seed=3)[1] != climb(15, noise=0.05, seed=4)[1]


def test_returning_to_the_profile_s_own_level_is_no_change() -> None:
    there = moved(BASELINE, BATCH, 8)
    assert moved(there, BATCH, 2) == BASELINE

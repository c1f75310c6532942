from __future__ import annotations

import math

import numpy as np
import pytest

from tests.search.random_points import shrunken
from tuner.measure.paired import compare
from tuner.search.space import Belief, Observation, Point, choose, next_replication

NOISE = 0.05


def evenly(_point: Point) -> float:
    """Every trial takes as long."""
    return 1.0


def belief(at: int, mean: float, sd: float = 0.05, safe: float = 1.0) -> Belief:
    return Belief((at,), mean, sd, 1, safe)


def test_the_best_mean_that_keeps_the_guardrails_is_chosen() -> None:
    best = choose([belief(0, 1.0), belief(1, 1.2), belief(2, 1.5, safe=0.1)])
    assert best is not None
    assert best.point == (1,)
    assert choose([belief(2, 1.5, safe=0.1)]) is None
    assert choose([]) is None


def test_of_two_close_ones_the_less_known_is_measured_again() -> None:
    beliefs = [belief(0, 1.0, sd=0.01), belief(1, 0.99, sd=0.08), belief(2, 0.2, sd=0.08)]
    assert next_replication(beliefs, NOISE, 5, evenly) == (1,)


def test_a_point_that_takes_much_longer_to_measure_is_left_alone() -> None:
    beliefs = [belief(0, 1.0), belief(1, 1.0)]
    dear: dict[Point, float] = {(0,): 10.0, (1,): 60.0}
    assert next_replication(beliefs, NOISE, 5, dear.__getitem__) == (0,)
    dear = {(0,): 60.0, (1,): 10.0}
    assert next_replication(beliefs, NOISE, 5, dear.__getitem__) == (1,)


def test_a_hopeless_point_is_not_measured_again() -> None:
    beliefs = [belief(0, 1.0), belief(1, 0.98), belief(2, 0.4)]
    assert next_replication(beliefs, NOISE, 5, evenly) != (2,)


def test_nothing_is_measured_again_without_trials_or_candidates() -> None:
    assert next_replication([belief(0, 1.0)], NOISE, 0, evenly) is None
    assert next_replication([], NOISE, 5, evenly) is None
    assert next_replication([belief(0, 1.0)], NOISE, 5, evenly) is None
    assert next_replication([belief(0, 1.0, safe=0.0)], NOISE, 5, evenly) is None


def test_what_is_known_without_doubt_and_without_noise_gives_no_trouble() -> None:
    beliefs = [belief(0, 1.0, sd=0.0), belief(1, 1.0, sd=0.0)]
    assert next_replication(beliefs, 0.0, 3, evenly) in {(0,), (1,)}


def test_a_mean_of_many_is_shrunken_less_than_one_lucky_value() -> None:
    rng = np.random.default_rng(0)
    seen = [Observation((at,), 0.1 * rng.standard_normal(), NOISE) for at in range(20)]
    seen += [Observation((50,), 0.30, NOISE)]
    seen += [Observation((51,), 0.29, NOISE)] * 6
    beliefs = {one.point: one for one in shrunken(seen, 0.1)}
    assert beliefs[50,].mean < beliefs[51,].mean < 0.29
    assert beliefs[50,].sd > beliefs[51,].sd
    assert beliefs[51,].runs == 6


def test_points_that_failed_once_are_not_believed_in() -> None:
    seen = [
        Observation((0,), 1.0, NOISE),
        Observation((1,), 2.0, NOISE),
        Observation((1,), math.nan, NOISE, feasible=False),
    ]
    assert [one.point for one in shrunken(seen, NOISE)] == [(0,)]
    assert shrunken(seen[2:], NOISE) == []


def chosen_after(trials: int, rng: np.random.Generator, adaptive: bool) -> float:
    """The true value of the choice among 20 points, each measured once and some again."""
    truth = 0.05 * rng.standard_normal(20)
    seen = [
        Observation((at,), truth[at] + NOISE * rng.standard_normal(), NOISE) for at in range(20)
    ]
    for left in range(trials, 0, -1):
        beliefs = shrunken(seen, NOISE)
        point = next_replication(beliefs, NOISE, left, evenly) if adaptive else beliefs[0].point
        assert point is not None
        seen.append(Observation(point, truth[point[0]] + NOISE * rng.standard_normal(), NOISE))
    best = choose(shrunken(seen, NOISE))
    assert best is not None
    return float(np.max(truth) - truth[best.point[0]])


def test_replication_loses_less_than_trusting_the_first_measurements() -> None:
    without, with_some = (
        np.mean([chosen_after(n, np.random.default_rng(seed), True) for seed in range(150)])
        for n in (0, 10)
    )
    assert with_some < 0.7 * without


@pytest.mark.parametrize("pairs", [6, 10])
def test_where_all_is_equal_at_most_one_in_twenty_claims_a_gain(pairs: int) -> None:
    """A choice made by luck, then fresh pairs: what was measured before does not count."""
    rng = np.random.default_rng(pairs)
    claims = 0
    for _ in range(1000):
        a, b = np.exp(NOISE * rng.standard_normal((2, pairs)))
        shown = compare(a.tolist(), b.tolist())
        claims += shown.better and shown.p < 0.05
    assert claims <= 50

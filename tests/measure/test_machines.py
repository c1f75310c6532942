"""Pairs on several machines as one claim, and machines that stand out."""

from __future__ import annotations

import math
from statistics import geometric_mean

import numpy as np
import pytest

from tuner.measure.machines import compare_across, outliers
from tuner.measure.paired import Comparison, compare

NOISE = 0.03


def pairs(
    speeds: dict[str, float], gains: dict[str, float], each: int, seed: int = 1
) -> tuple[list[float], list[float], list[str]]:
    """So many pairs on each machine, whose speed and gain are factors."""
    rng = np.random.default_rng(seed)
    names = [name for name in speeds for _ in range(each)]
    a, b = np.exp(rng.normal(0.0, NOISE, (2, len(names))))
    level = np.array([50_000 * speeds[name] for name in names])
    return (level * a).tolist(), (level * [gains[one] for one in names] * b).tolist(), names


EQUAL = {"north": 1.0, "south": 1.0, "west": 1.0}
APART = {"north": 1.0, "south": 1.6, "west": 0.5}


def width(found: Comparison) -> float:
    return math.log(found.high / found.low)


def test_how_fast_a_machine_is_is_no_part_of_the_gain() -> None:
    gains = dict.fromkeys(APART, 1.2)
    found = compare_across(*pairs(APART, gains, 4))
    same = compare_across(*pairs(EQUAL, gains, 4))
    assert found.ratio == pytest.approx(same.ratio)
    assert (found.low, found.high) == pytest.approx((same.low, same.high))
    assert found.low < 1.2 < found.high
    assert found.shows_more
    assert found.pairs == 12


def test_the_averages_are_those_of_what_was_measured() -> None:
    a, b, names = pairs(APART, dict.fromkeys(APART, 1.2), 4)
    found = compare_across(a, b, names)
    assert found.averages == pytest.approx((geometric_mean(a), geometric_mean(b)))


def test_how_fast_a_machine_usually_is_explains_nothing_of_its_pairs() -> None:
    a, b, names = pairs(APART, dict.fromkeys(APART, 1.2), 4)
    of_a, of_b = np.random.default_rng(2).normal(0.0, 0.02, (2, len(names)))
    apart = np.array([{"north": 0.0, "south": 0.5, "west": -0.7}[one] for one in names])
    same = compare_across(a, b, names, (), (of_a.tolist(), of_b.tolist()))
    found = compare_across(a, b, names, (), ((of_a + apart).tolist(), (of_b + apart).tolist()))
    assert found.by_speed is not None
    assert same.by_speed is not None
    assert found.by_speed.slope == pytest.approx(same.by_speed.slope)
    assert (found.ratio, found.low, found.high) == pytest.approx((same.ratio, same.low, same.high))


def test_pairs_of_one_machine_are_compared_as_without_its_name() -> None:
    a, b, names = pairs({"north": 1.0}, {"north": 1.1}, 6)
    assert compare_across(a, b, names) == compare_across(a, b) == compare(a, b)


def test_the_interval_is_that_of_random_effects_with_a_degree_of_freedom_for_the_belief() -> None:
    """Gains of 0.1 and 0.3 on one machine, of 0.5 and 0.7 on another, as logarithms: the mean
    square of machines is 8 times that within them, 0.02, and the belief weighs as 1; with two
    degrees of freedom t is 4.303."""
    gains = np.exp([0.1, 0.3, 0.5, 0.7]).tolist()
    found = compare_across([1.0] * 4, gains, ["north", "north", "south", "south"])
    half = 4.303 * math.sqrt(0.02 * (8 + 1) / 2 / 4)
    assert math.log(found.ratio) == pytest.approx(0.4)
    assert math.log(found.high) == pytest.approx(0.4 + half, rel=1e-3)
    assert math.log(found.low) == pytest.approx(0.4 - half, rel=1e-3)


def test_what_is_detectable_grows_as_the_interval_does() -> None:
    a, b, names = pairs(APART, {"north": 1.05, "south": 1.2, "west": 1.37}, 4)
    found, alone = compare_across(a, b, names), compare(a, b)
    assert found.detectable is not None
    assert alone.detectable is not None
    wider = width(found) / width(alone)
    assert wider > 1.1
    assert math.log1p(found.detectable) == pytest.approx(wider * math.log1p(alone.detectable))


@pytest.mark.parametrize(("apart", "stands_out"), [(0.18, False), (0.19, True)])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_machine_stands_out_beyond_three_deviations_of_the_others(
    apart: float, stands_out: bool, sign: int
) -> None:
    """Which are 5 % at least, and one more for the mean of two."""
    logs = {"a": [1.0] * 3, "b": [1.0] * 3, "c": [1.0 + sign * apart] * 3}
    assert bool(outliers(logs)) is stands_out


def test_gains_that_differ_among_machines_widen_the_interval() -> None:
    alike = compare_across(*pairs(APART, dict.fromkeys(APART, 1.2), 4))
    differing = {"north": 1.05, "south": 1.2, "west": 1.37}
    found = compare_across(*pairs(APART, differing, 4))
    assert width(found) > 3 * width(alike)
    assert found.detectable is not None
    assert alike.detectable is not None
    assert found.detectable > alike.detectable


def test_several_machines_are_never_surer_than_their_pairs_on_one() -> None:
    for seed in range(30):
        a, b, names = pairs(EQUAL, dict.fromkeys(EQUAL, 1.0), 3, seed)
        alone = compare(a, b)
        assert width(compare_across(a, b, names)) >= width(alone) - 1e-9


def test_what_restarts_cost_is_no_part_of_the_gain_of_several_machines() -> None:
    """A run just after a restart is half as fast."""
    a, b, names = pairs(APART, dict.fromkeys(APART, 1.2), 4)
    after = [(at % 2 == 0, at % 2 == 1) for at in range(len(names))]
    for side, runs in enumerate((a, b)):
        runs[:] = [one / 2 if turn[side] else one for one, turn in zip(runs, after, strict=True)]
    found = compare_across(a, b, names, after)
    assert found.restarting
    assert found.low < 1.2 < found.high
    assert found.restarted == pytest.approx((0.5, 0.5), abs=0.1)


def test_what_is_not_there_is_seldom_claimed_where_machines_differ() -> None:
    none = dict.fromkeys(APART, 1.0)
    found = [compare_across(*pairs(APART, none, 4, seed)) for seed in range(300)]
    assert sum(one.shows_more or one.shows_less for one in found) < 0.06 * len(found)


def test_a_machine_that_stands_out_is_named_with_its_factor() -> None:
    apart = {"north": 0.0, "south": 0.02, "west": -0.02, "east": math.log(1.5)}
    logs = {name: [log] * 3 for name, log in apart.items()}
    (found,) = outliers(logs)
    assert found.machine == "east"
    assert found.ratio == pytest.approx(1.5)
    assert not outliers({name: log for name, log in logs.items() if name != "east"})
    assert not outliers(logs | {"east": [math.log(1.5)] * 2}), "two runs tell too little of it"


def test_of_two_machines_neither_stands_out() -> None:
    assert not outliers({"north": [0.0] * 3, "south": [1.0] * 3})

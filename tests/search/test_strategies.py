from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.search.random_points import NAMES, strategy
from tests.search.toys import SIGMA, PooledSpace, Valley, hill, line, mixed, points_asked, slope
from tuner.search.space import Dimension, Observation, Point, Space, Strategy


def strategy_of(name: str, space: Space, seed: int = 3) -> Strategy:
    return strategy(name, space, seed, SIGMA)


def slope_of_all(point: Point) -> float:
    return 0.1 * sum(point)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_asks_for_the_same_points_and_another_for_others(name: str) -> None:
    first, second = (points_asked(strategy_of(name, mixed()), slope, 13) for _ in range(2))
    assert first == second
    assert points_asked(strategy_of(name, mixed(), seed=4), slope, 13) != first


@pytest.mark.parametrize("name", NAMES)
def test_the_start_is_asked_for_first_and_only_valid_points_follow(name: str) -> None:
    space = mixed()
    asked = points_asked(strategy_of(name, space), slope, 16)
    assert asked[0] == space.start
    assert all(space.is_valid(point) for point in asked)
    assert all(
        0 <= level < size for point in asked for level, size in zip(point, space.sizes, strict=True)
    )
    assert [p for p in asked if p[2] != 2 and p[3] != 2] == [], "an inactive knob was moved"


@pytest.mark.parametrize("name", NAMES)
def test_of_a_pool_each_point_is_asked_for_once_until_none_is_left(name: str) -> None:
    drawn = np.random.default_rng(1).integers(mixed().sizes, size=(18, 4))
    pool = tuple({tuple(int(level) for level in row) for row in drawn})
    dimensions = tuple(
        replace(one, start=level) for one, level in zip(mixed().dimensions, pool[0], strict=True)
    )
    asked = points_asked(
        strategy_of(name, PooledSpace(dimensions, lambda _: True, pool=pool)), slope, 40
    )
    assert asked[0] == pool[0]
    assert sorted(asked) == sorted(pool)


@pytest.mark.parametrize("name", NAMES)
def test_a_space_that_is_used_up_ends(name: str) -> None:
    asked = points_asked(strategy_of(name, line(6)), hill, 30)
    assert sorted(asked) == [(at,) for at in range(6)]


@pytest.mark.parametrize("name", NAMES)
def test_a_space_of_which_little_is_valid_does_not_end_the_search(name: str) -> None:
    dimensions = tuple(Dimension(f"knob {at}", 5, True) for at in range(6))
    space = Space(dimensions, lambda point: sum(point) % 16 == 0)
    for seed in range(5):
        assert len(points_asked(strategy_of(name, space, seed), slope_of_all, 12)) == 12


def test_the_default_finds_the_top_of_a_hill_in_a_few_trials() -> None:
    for seed in range(3):
        searcher = strategy_of("default", line(), seed)
        points_asked(searcher, hill, 14, seed)
        assert abs(searcher.beliefs()[0].point[0] - 29) <= 2


@pytest.mark.parametrize("shift", [-0.05, -0.17, -0.3])
def test_what_restarts_of_the_engine_cost_is_no_part_of_what_a_node_setting_gives(
    shift: float,
) -> None:
    """The second knob is the node's and gives 10 %; each change of it restarts the engine."""
    space = Space((Dimension("a", 8, True), Dimension("node", 2, True)), lambda _: True)
    searcher, rng, before = strategy_of("default", space), np.random.default_rng(1), 0
    for trial, (a, node) in enumerate([(0, 0), (0, 0), (4, 0), (0, 1), (0, 0), (4, 1)] * 4):
        is_moved = node != before
        value = 0.1 * node + shift * is_moved + SIGMA * rng.standard_normal()
        moved_s = 25.0 if is_moved else 0.0
        searcher.tell(Observation((a, node), value, SIGMA, 40.0 * trial, moved_s=moved_s))
        before = node
    means = {one.point: one.mean for one in searcher.beliefs()}
    assert means[0, 1] - means[0, 0] == pytest.approx(0.1, abs=0.04)
    assert means[0, 0] == pytest.approx(0.0, abs=0.04)


def test_one_trial_just_after_a_restart_is_not_taken_for_a_slow_point() -> None:
    means = []
    for moved_s in (0.0, 25.0):
        searcher = strategy_of("default", line())
        for point, value in (((0,), 0.0), ((15,), 0.02), ((35,), -0.02)):
            searcher.tell(Observation(point, value, SIGMA))
        searcher.tell(Observation((25,), -0.1, SIGMA, moved_s=moved_s))
        (belief,) = [one for one in searcher.beliefs() if one.point == (25,)]
        means.append(belief.mean)
    assert means[0] < -0.04
    assert means[1] > 0.0


def test_a_long_window_counts_for_more_than_a_short_one() -> None:
    sds = []
    for error in (0.1, 0.03):
        searcher = strategy("default", line(), 0, 0.1)
        for at, value in ((0, 0.0), (10, 0.3), (20, -0.2), (30, 0.1)):
            searcher.tell(Observation((at,), value, error if at == 10 else 0.1))
        (belief,) = [one for one in searcher.beliefs() if one.point == (10,)]
        sds.append(belief.sd)
    assert sds[1] < 0.6 * sds[0]


def test_the_default_finds_the_best_category() -> None:
    searcher = strategy_of("default", mixed())
    asked = points_asked(searcher, slope, 30)
    assert max(slope(point) for point in asked) >= slope((5, 3, 2, 2)) - 0.05
    assert searcher.beliefs()[0].point[2] == 2


def test_what_is_asked_depends_only_on_what_was_told() -> None:
    space = mixed()
    first = strategy_of("default", space)
    record: list[Observation] = []
    rng = np.random.default_rng(0)
    for trial in range(15):
        proposal = first.ask()
        assert proposal is not None
        value = slope(proposal.point) + SIGMA * rng.standard_normal()
        record.append(Observation(proposal.point, value, SIGMA, 10.0 * trial))
        first.tell(record[-1])
    again = strategy_of("default", space)
    for one in record:
        again.tell(one)
    assert again.ask() == first.ask() == first.ask()
    assert again.beliefs() == first.beliefs()


def bowl(point: Point) -> float:
    """The best is at 3 in each of the first four knobs; the others do not matter."""
    return -0.05 * sum((level - 3) ** 2 for level in point[:4])


def test_after_hundreds_of_trials_it_rests_on_those_that_say_most() -> None:
    space = Space(tuple(Dimension(f"knob {at}", 6, True) for at in range(6)), lambda _: True)
    rng = np.random.default_rng(0)
    drawn = [tuple(row) for row in rng.integers(space.sizes, size=(400, 6)).tolist()]
    again = (3, 2, 3, 3, 0, 0)
    points = [space.start, *drawn[:200], space.start, again, *drawn[200:], again]
    searcher = strategy_of("default", space)
    for trial, point in enumerate(points):
        margins = (("memory", 0.5 - 0.1 * point[5]),)
        value = bowl(point) + SIGMA * rng.standard_normal()
        feasible = margins[0][1] > 0
        searcher.tell(Observation(point, value, SIGMA, 1.0 * trial, feasible, margins))
    beliefs = {one.point: one for one in searcher.beliefs()}
    assert len(beliefs) <= 120
    assert (beliefs[space.start].runs, beliefs[again].runs) == (2, 2)
    usable = sorted((one for one in set(points) if one[5] < 5), key=bowl)
    assert all(beliefs[one].mean == pytest.approx(bowl(one), abs=0.04) for one in usable[-10:])
    for _ in range(6):
        proposal = searcher.ask()
        assert proposal is not None
        assert bowl(proposal.point) >= -0.1
        assert proposal.point[5] < 5
        searcher.tell(Observation(proposal.point, bowl(proposal.point), SIGMA, 500.0))


def test_what_is_told_at_once_is_believed_as_what_is_told_bit_by_bit() -> None:
    means = []
    for is_asked in (False, True):
        searcher, rng = strategy_of("default", mixed()), np.random.default_rng(0)
        for trial, row in enumerate(rng.integers(mixed().sizes, size=(70, 4)).tolist()):
            value = slope(tuple(row)) + SIGMA * rng.standard_normal()
            searcher.tell(Observation(tuple(row), value, SIGMA, 10.0 * trial))
            if is_asked:
                searcher.beliefs()
        means.append({one.point: one.mean for one in searcher.beliefs()})
    best = sorted(means[0], key=lambda point: -means[0][point])[:10]
    assert [means[0][one] for one in best] == pytest.approx(
        [means[1][one] for one in best], abs=0.01
    )


def test_equal_values_and_equal_points_are_no_trouble() -> None:
    searcher = strategy_of("default", mixed())
    for trial in range(12):
        proposal = searcher.ask()
        assert proposal is not None
        searcher.tell(Observation(proposal.point, 1.0, 0.0, float(trial)))
        searcher.tell(Observation(proposal.point, 1.0, 0.0, float(trial)))
    assert all(one.runs == 2 for one in searcher.beliefs())


def test_without_noise_the_best_measured_is_believed_the_best() -> None:
    searcher = strategy("default", line(), 0, 0.0)
    for trial in range(12):
        proposal = searcher.ask()
        assert proposal is not None
        searcher.tell(Observation(proposal.point, hill(proposal.point), 0.0, float(trial)))
    beliefs = searcher.beliefs()
    assert beliefs[0].point == max((one.point for one in beliefs), key=hill)


def test_a_point_measured_well_often_is_believed_more_than_a_lucky_one() -> None:
    searcher = strategy("default", mixed(), 0, 0.1)
    values: Sequence[tuple[Point, float]] = [
        ((1, 0, 1, 2), 1.0), ((2, 2, 1, 2), 1.25), *[((3, 1, 0, 2), 1.2)] * 8,
    ]  # fmt: skip
    for at, (point, value) in enumerate(values):
        searcher.tell(Observation(point, value, 0.1, float(at)))
    beliefs = {one.point: one for one in searcher.beliefs()}
    assert beliefs[3, 1, 0, 2].sd < beliefs[2, 2, 1, 2].sd
    assert searcher.beliefs()[0].point == (3, 1, 0, 2)


def test_points_that_fail_or_break_a_guardrail_are_avoided() -> None:
    """Above 20 every trial breaks a guardrail, and that is where the top of the hill is."""
    searcher = strategy_of("default", line())
    asked = []
    for trial in range(18):
        proposal = searcher.ask()
        assert proposal is not None
        at = proposal.point[0]
        asked.append(at)
        margin = (20.5 - at) / 20
        margins = (("memory", margin),)
        searcher.tell(Observation((at,), hill((at,)), SIGMA, float(trial), margin > 0, margins))
    beliefs = searcher.beliefs()
    assert all(one.point[0] <= 20 for one in beliefs)
    assert 18 <= beliefs[0].point[0] <= 20
    assert sum(at > 20 for at in asked[8:]) <= 3


def test_failures_without_a_margin_are_avoided_too() -> None:
    searcher = strategy_of("default", mixed())
    asked = []
    for trial in range(25):
        proposal = searcher.ask()
        assert proposal is not None
        asked.append(proposal.point)
        well = proposal.point[2] != 2
        value = slope(proposal.point)
        searcher.tell(Observation(proposal.point, value, SIGMA, float(trial), well))
    assert all(one.point[2] != 2 for one in searcher.beliefs())
    assert sum(point[2] == 2 for point in asked[8:]) <= 5


def test_slow_drift_does_not_hide_the_best() -> None:
    """The machine gets slower; the best, 8, is measured late, and 11 again and again."""
    searcher = strategy("default", line(12), 1, SIGMA)
    order = [0, 11, 5, 2, 11, 3, 5, 11, 1, 10, 11, 5, 8, 11, 8, 5, 11]
    for trial, at in enumerate(order):
        value = -(((at - 8) / 10) ** 2) - 0.02 * trial
        searcher.tell(Observation((at,), value, SIGMA, 60.0 * trial))
    assert searcher.beliefs()[0].point == (8,)


def test_knobs_that_can_matter_by_the_verdict_are_tried_first() -> None:
    """Eight knobs, of which two could matter, as every trial says."""
    space = Space(tuple(Dimension(f"knob {at}", 4, True) for at in range(8)), lambda _: True)
    elsewhere = {}
    for matters in (frozenset({2, 5}), None):
        elsewhere[matters] = 0
        for seed in range(5):
            searcher = strategy_of("default", space, seed)
            for trial in range(16):
                proposal = searcher.ask()
                assert proposal is not None
                changed = {at for at, level in enumerate(proposal.point) if level != 0}
                elsewhere[matters] += trial > 5 and not changed & {2, 5}
                value = -0.1 * len(changed)
                searcher.tell(Observation(proposal.point, value, SIGMA, matters=matters))
    assert elsewhere[frozenset({2, 5})] < 0.5 * elsewhere[None]


def test_knobs_that_more_of_the_events_pass_are_climbed_first() -> None:
    """Four knobs for all events and sixteen for a tenth of them, which give a tenth as much."""

    def truth(point: Point) -> float:
        costs = [0.1 * (level - 2) ** 2 for level in point]
        return -sum(costs[:4]) - sum(costs[4:]) / 10

    def reached(share: float) -> float:
        shares = (1.0,) * 4 + (share,) * 16
        knobs = tuple(Dimension(f"{at}", 4, True, share=each) for at, each in enumerate(shares))
        space = Space(knobs, lambda _: True)
        asked = [points_asked(strategy_of("default", space, at), truth, 20, at) for at in range(4)]
        return float(np.mean([max(map(truth, points)) for points in asked]))

    assert reached(0.1) > 0.75 * reached(1.0)


def test_moves_that_turned_out_to_be_dear_are_made_less_often() -> None:
    def moves(took_s: float) -> int:
        knobs = (Dimension("a", 8, True), Dimension("node", 8, True, move_s=20.0))
        default = strategy("default", Space(knobs, lambda _: True, trial_s=10.0), 3, SIGMA)
        before, made = 0, 0
        rng = np.random.default_rng(0)
        for _ in range(25):
            proposal = default.ask()
            assert proposal is not None
            point = proposal.point
            moved = point[1] != before
            value = 0.02 * sum(point) + SIGMA * rng.standard_normal()
            default.tell(Observation(point, value, SIGMA, moved_s=took_s if moved else 0.0))
            before, made = point[1], made + moved
        return made

    assert moves(took_s=500.0) < moves(took_s=5.0)


@pytest.mark.parametrize(("together", "idle", "seeds"), [(2, 9, (2, 4, 5)), (3, 6, (4, 6, 7))])
def test_settings_that_help_only_together_are_turned_together(
    together: int, idle: int, seeds: Sequence[int]
) -> None:
    """The search starts where all are wrong, and each alone costs more than half of the rate."""
    reached = []
    for seed in seeds:
        valley = Valley.drawn(together, idle, np.random.default_rng(seed))
        searcher = strategy_of("default", valley.from_wrong(), seed)
        asked = points_asked(searcher, valley.truth, 32, seed)
        reached.append(max(map(valley.truth, asked)) == pytest.approx(valley.best))
    assert sum(reached) >= 2

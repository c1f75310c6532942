"""Undoing changes: the half that matters least first, and only what costs nothing stays undone."""

from __future__ import annotations

import itertools

import pytest

from tests.measure.factory import measured
from tuner.measure.measurement import TrialPlan
from tuner.search.budget import SHRINK_PAIRS
from tuner.search.shrink import attempts_of, attempts_to, shorter, shrunk
from tuner.search.study import Changes, Phase, Trial

WINNER: Changes = (("a", 1), ("b", 2), ("c", 3), ("d", 4))
EFFECTS = {"a": 0.30, "b": 0.00, "c": 0.01, "d": 0.10}
NUMBERS = itertools.count()


def anything(_changes: Changes) -> bool:
    """Every point is valid."""
    return True


def paths(changes: Changes | None) -> str:
    return "" if changes is None else "".join(path for path, _ in changes)


def round_of(
    number: int, before: Changes, after: Changes, ratio: float, noise: float = 0.0,
    rate: float = 1000.0,
) -> list[Trial]:  # fmt: skip
    """The trials of one round of pairs, in which `after` has that ratio to `before` with its
    `rate`, in turn more and less by the noise."""
    plan, swing = TrialPlan(1.0, 2.0), 1 + noise
    return [
        Trial(
            next(NUMBERS), Phase.SHRINK, changes, "", plan,
            measured(eps * (1 + 0.001 * pair)), 0.0, number * SHRINK_PAIRS + pair,
        )
        for pair in range(1, SHRINK_PAIRS + 1)
        for changes, eps in ((before, rate), (after, rate * ratio * swing ** (-1) ** pair))
    ]  # fmt: skip


def test_the_half_that_seems_to_matter_least_is_undone_first() -> None:
    assert paths(shorter(WINNER, EFFECTS, (), anything)) == "ad"


def test_what_would_be_no_valid_profile_is_not_tried() -> None:
    without_b = shorter(WINNER, EFFECTS, (), lambda changes: "c" in paths(changes))
    assert paths(without_b) == "acd"
    assert shorter(WINNER, EFFECTS, (), lambda changes: changes == WINNER) is None


def test_what_costs_nothing_stays_undone_and_the_next_half_is_tried() -> None:
    first = shorter(WINNER, EFFECTS, (), anything)
    assert first is not None
    tried = attempts_of(round_of(0, WINNER, first, 0.995))
    assert tried[0].kept
    assert paths(shrunk(WINNER, tried)) == "ad"
    assert paths(shorter(shrunk(WINNER, tried), EFFECTS, tried, anything)) == "a"


def test_what_may_cost_more_than_is_tolerated_for_all_that_the_pairs_say_comes_back() -> None:
    first = shorter(WINNER, EFFECTS, (), anything)
    assert first is not None
    quiet, noisy = (attempts_of(round_of(0, WINNER, first, 1.0, noise))[0] for noise in (0.02, 0.1))
    assert quiet.comparison.ratio == pytest.approx(noisy.comparison.ratio)
    assert quiet.kept
    assert not noisy.kept


def test_what_costs_the_gain_comes_back_and_half_as_much_is_tried() -> None:
    first = shorter(WINNER, EFFECTS, (), anything)
    assert first is not None
    tried = attempts_of(round_of(0, WINNER, first, 0.90))
    assert not tried[0].kept
    assert shrunk(WINNER, tried) == WINNER
    assert paths(shorter(WINNER, EFFECTS, tried, anything)) == "acd"


def test_of_many_changes_half_as_many_are_tried_each_time() -> None:
    many: Changes = tuple((path, 1) for path in "abcdefgh")
    effects = {path: 0.01 * at for at, path in enumerate("abcdefgh")}
    first = shorter(many, effects, (), anything)
    assert first is not None
    assert paths(first) == "efgh"
    tried = attempts_of(round_of(0, many, first, 0.90))
    assert paths(shorter(many, effects, tried, anything)) == "cdefgh"


def test_what_is_left_of_too_much_is_not_undone_with_others() -> None:
    """Without a to e it was too slow and without a and b it was not: c, d or e matters."""
    many: Changes = tuple((path, 1) for path in "abcdefghij")
    effects = {path: 0.01 * at for at, path in enumerate("abcdefghij")}
    first = shorter(many, effects, (), anything)
    assert paths(first) == "fghij"
    assert first is not None
    refused = round_of(0, many, first, 0.80)
    second = shorter(many, effects, attempts_of(refused), anything)
    assert paths(second) == "cdefghij"
    assert second is not None
    tried = attempts_of([*refused, *round_of(1, many, second, 1.0)])
    third = shorter(shrunk(many, tried), effects, tried, anything)
    assert paths(third) == "efghij"


def test_what_is_known_to_matter_does_not_keep_others_from_being_undone() -> None:
    refused = round_of(0, WINNER, WINNER[:1] + WINNER[2:], 0.80)
    tried = attempts_of(refused)
    assert tried[0].undone == ("b",)
    assert paths(shorter(WINNER, EFFECTS, tried, anything)) == "abd"


def test_the_same_is_not_tried_twice() -> None:
    two: Changes = (("a", 1), ("b", 2))
    tried = attempts_of(round_of(0, two, two[:1], 0.90))
    assert shorter(two, EFFECTS, tried, anything) is None


def test_a_single_change_is_left_alone() -> None:
    assert shorter((("a", 1),), EFFECTS, (), anything) is None


def test_a_round_that_was_broken_off_counts_for_nothing() -> None:
    first = shorter(WINNER, EFFECTS, (), anything)
    assert first is not None
    assert attempts_of(round_of(0, WINNER, first, 0.99)[:-2]) == ()


def test_what_led_to_a_point_is_told_from_what_another_winner_was_tried_without() -> None:
    other: Changes = (("x", 1), ("y", 2))
    first, second = WINNER[:3], WINNER[:2]
    trials = [
        *round_of(0, other, other[:1], 1.0),
        *round_of(1, WINNER, first, 1.0),
        *round_of(2, first, second, 0.9),
    ]
    assert [one.after for one in attempts_to(first, trials)] == [first, second]
    assert [one.after for one in attempts_to(other[:1], trials)] == [other[:1]]
    assert attempts_to(second, trials) == ()

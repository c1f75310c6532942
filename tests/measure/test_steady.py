from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tuner.measure.window import Poll, Steadiness, steadiness


def samples(rate_at: Callable[[float], float], seconds: float = 12.0) -> list[Poll]:
    """Polls ten times a second of a counter with the given rate."""
    found, total = [], 0.0
    for step in range(int(seconds * 10) + 1):
        found.append(Poll(step / 10, round(total), 10**9))
        total += rate_at(step / 10) / 10
    return found


def test_a_level_rate_is_steady_from_the_start() -> None:
    found = steadiness(samples(lambda _: 50_000))
    assert found.steady
    assert found.halves == pytest.approx(1)


def test_a_cold_start_inside_the_window_is_not_steady() -> None:
    assert not steadiness(samples(lambda t: 20_000 if t < 2 else 50_000)).steady


def test_a_rate_that_keeps_falling_is_not_steady() -> None:
    assert not steadiness(samples(lambda t: 60_000 - 2_500 * t)).steady


def test_a_rate_that_breaks_down_in_the_second_half_is_not_steady() -> None:
    assert not steadiness(samples(lambda t: 60_000 if t < 8 else 20_000)).steady


@pytest.mark.parametrize("rises", [0.1, -0.3])
def test_halves_and_drift_are_those_of_the_rate(rises: float) -> None:
    found = steadiness(samples(lambda t: 50_000 * (1 + rises * (t - 6) / 12)))
    # Whatever is cut off, the rest goes on changing.
    assert not found.reached
    assert found.drift == pytest.approx(rises * 23 / 24, abs=0.002)
    assert found.halves == pytest.approx((1 + rises / 4) / (1 - rises / 4), abs=0.001)


@pytest.mark.parametrize(
    ("reached", "halves", "drift", "steady"),
    [
        (True, 1.049, 0.5, True), (True, 0.951, -0.5, True), (True, 1.2, 0.1, True),
        (True, 1.2, -0.1, True), (True, 1.051, 0.11, False), (True, 0.949, -0.11, False),
        (False, 1.0, 0.0, False),
    ],
)  # fmt: skip
def test_level_are_halves_within_5_or_a_drift_within_10_percent(
    reached: bool, halves: float, drift: float, steady: bool
) -> None:
    assert Steadiness(reached, halves, drift).steady is steady


def test_noise_that_becomes_a_little_less_is_no_warm_up() -> None:
    found = steadiness(
        samples(lambda t: 50_000 * (1 + (0.1 if t < 6 else 0.08) * (-1) ** int(2 * t + 0.01)))
    )
    assert found.steady


def test_noise_alone_is_steady_most_of_the_time() -> None:
    rng = np.random.default_rng(3)
    steady = 0
    for _ in range(200):
        found = steadiness(samples(lambda _: 50_000 * rng.normal(1, 0.10)))
        steady += found.steady
    assert steady >= 160


def test_a_window_too_short_to_judge_is_not_called_steady() -> None:
    assert not steadiness(samples(lambda _: 50_000, seconds=1.0)).steady

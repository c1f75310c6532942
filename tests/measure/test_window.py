from __future__ import annotations

import pytest

from tuner.measure.window import Poll, rate_over, slope


def steady(rate: float, count: int = 51) -> list[Poll]:
    return [Poll(100 + n / 10, round(rate * n / 10), 10**6) for n in range(count)]


def test_a_steady_counter_gives_its_rate_without_error() -> None:
    found = rate_over(steady(5000))
    assert found.per_second == pytest.approx(5000)
    assert found.standard_error == pytest.approx(0, abs=1e-6)


def test_a_counter_that_slows_down_has_a_large_error() -> None:
    fast = steady(9000, 26)
    slow = [Poll(102.5 + n / 10, fast[-1].indexed + 600 * n, 10**6) for n in range(1, 26)]
    found = rate_over([*fast, *slow])
    assert found.standard_error > 500


def test_bulks_that_arrive_in_lumps_do_not_move_the_rate() -> None:
    lumpy = [Poll(n / 10, 5000 * (n // 5), 10**6) for n in range(101)]
    assert slope(lumpy) == pytest.approx(10_000, rel=0.03)


def test_too_few_samples_have_no_slope() -> None:
    assert slope(steady(5000, 1)) == 0


def test_what_slows_down_in_the_end_counts_in_full() -> None:
    """Five seconds at full rate, and one in which the engine did little else than refresh."""
    refreshing = [Poll(105 + n / 10, 30_000 + 100 * n, 10**6) for n in range(1, 11)]
    assert rate_over([*steady(6000), *refreshing]).per_second == pytest.approx(31_000 / 6)

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import numpy as np
import pytest

from tuner.measure.window import Mark, Poll, is_flat, rate_over, slope


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


def test_the_error_is_that_of_the_mean_of_five_batches() -> None:
    rates = [90, 110, 95, 120, 100]
    counted = np.concatenate([[0], np.cumsum(np.repeat(rates, 10))])
    found = rate_over([Poll(100 + n, int(one), 10**6) for n, one in enumerate(counted)])
    assert found.per_second == pytest.approx(103)
    assert found.standard_error == pytest.approx(statistics.stdev(rates) / math.sqrt(5))


def test_bulks_that_arrive_in_lumps_do_not_move_the_rate() -> None:
    lumpy = [Poll(n / 10, 5000 * (n // 5), 10**6) for n in range(101)]
    assert slope(lumpy) == pytest.approx(10_000, rel=0.03)


def test_too_few_samples_have_no_slope() -> None:
    assert slope(steady(5000, 1)) == 0
    assert slope(steady(5000, 2)) == pytest.approx(5000)


def test_what_slows_down_in_the_end_counts_in_full() -> None:
    """Five seconds at full rate, and one in which the engine did little else than refresh."""
    refreshing = [Poll(105 + n / 10, 30_000 + 100 * n, 10**6) for n in range(1, 11)]
    assert rate_over([*steady(6000), *refreshing]).per_second == pytest.approx(31_000 / 6)


def marked(cpu_us: Sequence[float], rates: Sequence[float]) -> list[Mark]:
    """Marks of a warm-up, by what each of its spans of 3 s showed."""
    marks = [Mark(100.0, 0, 5000)]
    for cost, rate in zip(cpu_us, rates, strict=True):
        last, events = marks[-1], int(3 * rate)
        cpu_ms = last.engine_cpu_ms + round(events * cost / 1000)
        marks.append(Mark(last.at_s + 3.0, last.indexed + events, cpu_ms))
    return marks


def test_an_engine_whose_cpu_per_event_still_falls_is_not_warm() -> None:
    falling = marked([60.0 * 0.98**at for at in range(20)], [20_000.0] * 20)
    level = marked([30.0, 31.0, 29.0, 30.5] * 5, [40_000.0, 41_000.0] * 10)
    rising = marked([30.0] * 20, [20_000.0 * 1.03**at for at in range(20)])
    assert not is_flat(falling)
    assert is_flat(level)
    assert not is_flat(rising)


def test_an_engine_gets_half_a_minute_before_it_is_judged() -> None:
    level = marked([30.0] * 20, [40_000.0] * 20)
    assert not is_flat(level[:10])
    assert is_flat(level[:11])


@pytest.mark.parametrize(
    ("costs_less", "rises", "flat"),
    [(0.045, 0.0, True), (0.055, 0.0, False), (0.0, 0.09, True), (0.0, 0.11, False),
     (-0.2, -0.2, True)],
)  # fmt: skip
def test_an_engine_is_warm_once_its_cost_falls_by_less_than_5_and_its_rate_rises_by_less_than_10(
    costs_less: float, rises: float, flat: bool
) -> None:
    """Percent, along a straight line over 30 s."""
    steps = [at / 9 for at in range(10)]
    costs = [50.0 * math.exp(-costs_less * step) for step in steps]
    assert is_flat(marked(costs, [1e5 * math.exp(rises * step) for step in steps])) is flat


def test_an_engine_that_indexes_nothing_for_a_while_is_not_warm() -> None:
    assert not is_flat(marked([30.0] * 20, [40_000.0] * 19 + [0.0]))


def test_the_fast_beginning_of_a_long_warm_up_does_not_count() -> None:
    costs = [100.0, 80.0, 60.0, 50.0, 42.0, 36.0, 32.0, *[30.0] * 12]
    assert is_flat(marked(costs, [40_000.0] * len(costs)))


def test_an_engine_whose_cpu_nobody_counts_is_judged_by_its_rate() -> None:
    assert is_flat(marked([0.0] * 20, [40_000.0] * 20))
    assert not is_flat(marked([0.0] * 20, [20_000.0 * 1.03**at for at in range(20)]))

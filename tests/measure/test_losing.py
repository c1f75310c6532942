"""When a window is cut short: clear losers only, and never before it had its chance."""

from __future__ import annotations

import random

from tuner.measure.window import Poll, is_losing


def window(rates: list[float], noise: float = 0.0, poll_s: float = 0.1) -> list[Poll]:
    """Samples of a counter that grows at these rates, one for each poll."""
    rng, count, samples = random.Random(1), 0.0, [Poll(0.0, 0, 0)]
    for number, rate in enumerate(rates, 1):
        count += rate * poll_s * (1 + rng.gauss(0, noise))
        samples.append(Poll(number * poll_s, int(count), int(count)))
    return samples


def test_a_clear_loser_is_cut_short() -> None:
    assert is_losing(window([50_000.0] * 30, noise=0.05), below=90_000)


def test_the_first_two_seconds_tell_nothing() -> None:
    assert not is_losing(window([50_000.0] * 19), below=90_000)
    assert is_losing(window([50_000.0] * 21), below=90_000)


def test_what_is_as_fast_or_nearly_so_goes_on() -> None:
    assert not is_losing(window([100_000.0] * 30, noise=0.05), below=90_000)
    assert not is_losing(window([88_000.0] * 30, noise=0.3), below=90_000)


def test_a_rate_that_rises_gets_its_time() -> None:
    rising = [20_000.0 + 2_000 * step for step in range(30)]
    assert not is_losing(window(rising), below=90_000)

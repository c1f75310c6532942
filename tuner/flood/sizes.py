"""The lengths of a pool of messages: a distribution's quantiles, shuffled by the seed."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tuner.flood.bodies import Dice
from tuner.profile.message_sizes import LONGEST_MESSAGE_BYTES, SPREAD, MessageSizes

# A log-normal reaches from its lower to its upper bound over this many standard deviations.
_SIGMAS = 4.0
_HALVINGS = 100


def lengths(dice: Dice, sizes: MessageSizes, longest_header: int, count: int) -> list[int]:
    """Give `count` lengths in bytes, an even number; their mean is exactly that of `sizes`."""
    if sizes.distribution == "lognormal" and sizes.least is not None and sizes.most is not None:
        return shuffled(dice, _lognormal(sizes.mean, sizes.least, sizes.most, count))
    spread = _spread(sizes, longest_header)
    half = count // 2
    steps = [round(spread * (step + 1) / half) for step in range(half)]
    mirrored = [sizes.mean + step for step in steps] + [sizes.mean - step for step in steps]
    return shuffled(dice, mirrored)


def shuffled(dice: Dice, values: list[int]) -> list[int]:
    """The same values in the order of the seed."""
    mixed = list(values)
    for last in range(len(mixed) - 1, 0, -1):
        other = dice.below(last + 1)
        mixed[last], mixed[other] = mixed[other], mixed[last]
    return mixed


def _spread(sizes: MessageSizes, longest_header: int) -> float:
    """How far uniform lengths reach to either side of their mean, in bytes."""
    if sizes.distribution == "fixed":
        return 0.0
    if sizes.least is not None and sizes.most is not None:
        return min(sizes.mean - sizes.least, sizes.most - sizes.mean)
    room = min(sizes.mean - longest_header, LONGEST_MESSAGE_BYTES - sizes.mean)
    return min(SPREAD * sizes.mean, room)


def _lognormal(mean: int, least: int, most: int, count: int) -> list[int]:
    """Quantiles of the log-normal distribution that has this mean between these bounds.

    Its standard deviation follows from the bounds; its median is found by bisection, the mean
    within the bounds growing with it.
    """
    values = np.arange(least, most + 1, dtype=np.float64)
    sigma = math.log(most / least) / _SIGMAS
    below, above = _bracket(values, mean, sigma)
    for _ in range(_HALVINGS):
        middle = (below + above) / 2
        if _mean(values, _shares(values, middle, sigma)) < mean:
            below = middle
        else:
            above = middle
    grown = np.cumsum(_shares(values, above, sigma))
    ranks = (np.arange(count) + 0.5) / count
    places = np.minimum(np.searchsorted(grown, ranks), len(values) - 1)
    return _with_sum([least + int(place) for place in places], mean * count, least, most)


def _bracket(values: NDArray[np.float64], mean: int, sigma: float) -> tuple[float, float]:
    """Two values of mu, one with a mean below and one above the wanted."""
    step = 1.0
    middle = math.log(mean)
    while _mean(values, _shares(values, middle - step, sigma)) > mean:
        step *= 2
    below, step = middle - step, 1.0
    while _mean(values, _shares(values, middle + step, sigma)) < mean:
        step *= 2
    return below, middle + step


def _shares(values: NDArray[np.float64], mu: float, sigma: float) -> NDArray[np.float64]:
    """How probable each value is; reckoned in logarithms, so that no tail vanishes."""
    logs = np.log(values)
    weights = -logs - (logs - mu) ** 2 / (2 * sigma**2)
    shares = np.exp(weights - np.max(weights))
    scaled: NDArray[np.float64] = shares / shares.sum()
    return scaled


def _mean(values: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
    return float(values @ shares)


def _with_sum(rounded: list[int], total: int, least: int, most: int) -> list[int]:
    """Move lengths by a byte each until they have the wanted sum."""
    moved = list(rounded)
    missing = total - sum(moved)
    step = 1 if missing > 0 else -1
    while missing:
        for place, length in enumerate(moved):
            if missing and least <= length + step <= most:
                moved[place] += step
                missing -= step
    return moved

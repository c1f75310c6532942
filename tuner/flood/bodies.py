"""The bodies of messages: what daemons really write, and how long they are, varied
by a seed."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import sys
from array import array
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tuner.profile.workload import LONGEST_MESSAGE_BYTES, SPREAD, MessageSizes
from tuner.reading import table

_T = TypeVar("_T")

# A log-normal reaches from its lower to its upper bound over this many standard deviations.
_SIGMAS = 4.0
_HALVINGS = 100
# So far from the logarithm of a mean all weight is on one of the bounds.
_FAR = float(1 << 17)


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
        swapped = dice.below(last + 1)
        mixed[last], mixed[swapped] = mixed[swapped], mixed[last]
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
    below, above = math.log(mean) - _FAR, math.log(mean) + _FAR
    for _ in range(_HALVINGS):
        middle = (below + above) / 2
        if float(values @ _shares(values, middle, sigma)) < mean:
            below = middle
        else:
            above = middle
    grown = np.cumsum(_shares(values, above, sigma))
    ranks = (np.arange(count) + 0.5) / count
    places = np.minimum(np.searchsorted(grown, ranks), len(values) - 1)
    return _with_sum([least + int(place) for place in places], mean * count, least, most)


def _shares(values: NDArray[np.float64], mu: float, sigma: float) -> NDArray[np.float64]:
    """How probable each value is; reckoned in logarithms, so that no tail vanishes."""
    logs = np.log(values)
    weights = -logs - (logs - mu) ** 2 / (2 * sigma**2)
    shares = np.exp(weights - np.max(weights))
    scaled: NDArray[np.float64] = shares / shares.sum()
    return scaled


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


TEXTS = table("flood/bodies.toml")
"""What bodies.toml says."""
_WORDS: Sequence[str] = TEXTS["words"].split()
_SENTENCES: Sequence[str] = TEXTS["sentences"]
_AWKWARD: Sequence[str] = TEXTS["awkward"]


class Dice:
    """Numbers that depend on the seed alone, on any release of Python and numpy."""

    def __init__(self, seed: int | str, draws: int) -> None:
        digest = hashlib.shake_128(str(seed).encode()).digest(8 * draws)
        self._draws, self._bytes = array("Q", digest), digest[::8]
        if sys.byteorder == "big":
            self._draws.byteswap()
        self._at = 0

    def below(self, bound: int) -> int:
        """Draw an integer from 0 to below `bound`; starts over when all draws are used."""
        draw = self._draws[self._at]
        self._at = (self._at + 1) % len(self._draws)
        return draw % bound

    def several(self, count: int) -> bytes:
        """Draw so many bytes at once; starts over as `below` does."""
        at, end = self._at, self._at + count
        if end > len(self._draws):
            return bytes(self.below(256) for _ in range(count))
        self._at = end % len(self._draws)
        return self._bytes[at:end]

    def pick(self, choices: Sequence[_T]) -> _T:
        """Draw one of the choices."""
        return choices[self.below(len(choices))]


def _blanks(dice: Dice) -> dict[str, Callable[[], str]]:
    return {
        "word": lambda: dice.pick(_WORDS),
        "user": lambda: dice.pick(TEXTS["users"]),
        "path": lambda: dice.pick(TEXTS["paths"]),
        "method": lambda: dice.pick(TEXTS["methods"]),
        "ip": lambda: f"10.{dice.below(256)}.{dice.below(256)}.{1 + dice.below(254)}",
        "port": lambda: str(1024 + dice.below(64512)),
        "number": lambda: str(dice.below(100_000)),
        "status": lambda: str(200 + dice.below(5) * 100 + dice.below(5)),
        "ms": lambda: f"{dice.below(10_000) / 1000:.3f}",
        "hex": lambda: f"{dice.below(1 << 48):012x}",
        "mac": lambda: dice.below(1 << 48).to_bytes(6).hex(":"),
        "base64": lambda: base64.b64encode(dice.below(1 << 63).to_bytes(9)).decode(),
    }


def body(dice: Dice, length: int, *, awkward: bool) -> str:
    """Write one body of exactly `length` printable ASCII characters.

    An awkward one has quotes and backslashes, which JSON must escape; the others have none.
    """
    blanks = _blanks(dice)
    sentences: list[str] = []
    written = 0
    while written <= length:
        sentence = dice.pick(_AWKWARD if awkward else _SENTENCES)
        sentences.append(re.sub(r"\{([a-z0-9]+)\}", lambda blank: blanks[blank[1]](), sentence))
        written += len(sentences[-1]) + 1
    text = " ".join(sentences)[:length]
    return text[:-1] + "x" if text.endswith(" ") else text

"""Freshness: from the moment an event should have been sent until a search finds it; pure.

Events are told apart by their numbers in blocks, which keeps the engine's answer small; a block
counts from the time of its first event, so that freshness is rounded up by at most one block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Percentiles:
    """Half, 95 %, 99 % and all of the values are at most so large."""

    p50: float
    p95: float
    p99: float
    max: float


class Arrivals:
    """Collects when blocks of events were found, in monotonic seconds."""

    def __init__(self) -> None:
        self._found: dict[int, int] = {}
        self._times: list[tuple[int, int, float]] = []

    @property
    def found(self) -> int:
        """Events found so far."""
        return sum(self._found.values())

    def add(self, at_s: float, blocks: Mapping[int, int]) -> None:
        """Note what a search that was over at `at_s` found: events by the first number of their
        block."""
        for first, count in blocks.items():
            new = count - self._found.get(first, 0)
            if new > 0:
                self._times.append((first, new, at_s))
                self._found[first] = count

    def freshness_s(self, intended_s: Mapping[int, float]) -> Percentiles | None:
        """Percentiles over the events of the blocks in `intended_s`, which says when the first of
        each block was due; None when none of them was found."""
        late = [
            (at_s - intended_s[first], count)
            for first, count, at_s in self._times
            if first in intended_s
        ]
        return weighted_percentiles(late)


def weighted_percentiles(values: list[tuple[float, int]]) -> Percentiles | None:
    """Percentiles of values that each stand for so many events: the smallest value that at least
    that share of the events does not exceed.  None when there are none."""
    if not values:
        return None
    ordered = np.array(sorted(values))
    shares = np.cumsum(ordered[:, 1]) / ordered[:, 1].sum()

    def at(share: float) -> float:
        place = int(np.searchsorted(shares, share - 1e-12))
        return float(ordered[min(place, len(ordered) - 1), 0])

    return Percentiles(at(0.50), at(0.95), at(0.99), float(ordered[-1, 0]))

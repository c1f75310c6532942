"""The steady window: samples of the engine's counter in, a rate and its error out."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_BATCHES = 5
# When a window is given up.
_LEAST_S = 2.0
_ERRORS = 3.0
_RISING = 1.05


@dataclass(frozen=True)
class Poll:
    """Events indexed and sent by one time (monotonic seconds): all that is read so often, because
    each further question would cost the engine time."""

    at_s: float
    indexed: int
    sent: int

    @property
    def backlog(self) -> int:
        """Events sent and not yet accounted for."""
        return self.sent - self.indexed


@dataclass(frozen=True)
class WindowRate:
    """Events per second, and the standard error of it."""

    per_second: float
    standard_error: float


def slope(samples: Sequence[Poll]) -> float:
    """Least-squares slope of the indexed count, events per second; 0 for fewer than two."""
    if len(samples) < 2:
        return 0.0
    times = np.array([sample.at_s for sample in samples])
    counts = np.array([sample.indexed for sample in samples], dtype=float)
    times -= times.mean()
    spread = float((times * times).sum())
    return float((times * (counts - counts.mean())).sum()) / spread if spread > 0 else 0.0


def rate_over(samples: Sequence[Poll]) -> WindowRate:
    """The rate from the first to the last sample, its error by batch means over five batches.

    Samples of a counter are autocorrelated, so the error comes from batches and not from single
    seconds (Law and Kelton, "Simulation Modeling and Analysis", on batch means).
    """
    edges = np.linspace(0, len(samples) - 1, _BATCHES + 1).astype(int)
    batches = [
        _between(samples[first], samples[last])
        for first, last in itertools.pairwise(edges)
        if last > first
    ]
    error = float(np.std(batches, ddof=1) / np.sqrt(len(batches))) if len(batches) > 1 else 0.0
    return WindowRate(_between(samples[0], samples[-1]) if samples else 0.0, error)


def _between(first: Poll, last: Poll) -> float:
    elapsed = last.at_s - first.at_s
    return (last.indexed - first.indexed) / elapsed if elapsed > 0 else 0.0


def is_losing(samples: Sequence[Poll], below: float) -> bool:
    """Whether the rate so far lies three standard errors below `below` events per second and does
    not rise from the first half to the second; never within the first two seconds."""
    lasted_s = samples[-1].at_s - samples[0].at_s
    if lasted_s < _LEAST_S:
        return False
    rate = rate_over(samples)
    if rate.per_second + _ERRORS * rate.standard_error >= below:
        return False
    half = len(samples) // 2
    return slope(samples[half:]) <= _RISING * slope(samples[: half + 1])

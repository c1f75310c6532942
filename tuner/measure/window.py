"""The steady window: samples of the engine's counter in; rate, error and steadiness out."""

from __future__ import annotations

import itertools
import statistics
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
    times, counts = zip(*((sample.at_s, sample.indexed) for sample in samples), strict=True)
    return statistics.linear_regression(times, counts).slope


def rise(counts: Sequence[tuple[float, int]]) -> float:
    """How fast a count grew over its times, per second: from the mean of the first third to that of
    the last, because batches make single moments jump; 0 for fewer than two."""
    third = max(1, len(counts) // 3)
    (early_s, early), (late_s, late) = (
        np.mean(part, axis=0).tolist() for part in (counts[:third], counts[-third:])
    )
    return (late - early) / (late_s - early_s) if late_s > early_s else 0.0


def kept_up(samples: Sequence[Poll]) -> float:
    """How many of the events that were sent each second did not come to wait."""
    first, last = samples[0], samples[-1]
    sent = (last.sent - first.sent) / max(last.at_s - first.at_s, 1e-9)
    return sent - rise([(sample.at_s, sample.backlog) for sample in samples])


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


MARK_S = 3.0
"""How often a warm-up asks for the engine's CPU."""
_FLAT_OVER_S = 30.0
_FALLING = 0.05
_CLIMBING = 0.10


@dataclass(frozen=True)
class Mark:
    """Events indexed and milliseconds of CPU that the engine had used by one time (monotonic
    seconds) of a warm-up."""

    at_s: float
    indexed: int
    engine_cpu_ms: int


def is_flat(marks: Sequence[Mark]) -> bool:
    """Whether an engine is warm: over the last 30 s its CPU per event fell by less than 5 % and the
    rate rose by less than 10 %, each by a straight line through its logarithms.

    A JVM compiles what it runs often: on a slow machine the CPU per event went 114, 100, 63, 51,
    45, 35 us over four minutes (Elasticsearch 8.19).
    """
    last = marks[-1].at_s
    recent = [mark for mark in marks if last - mark.at_s <= _FLAT_OVER_S]
    if last - marks[0].at_s < _FLAT_OVER_S or len(recent) < 3:
        return False
    passed_s = np.diff([mark.at_s for mark in recent])
    events = np.diff([mark.indexed for mark in recent])
    cpu_ms = np.diff([mark.engine_cpu_ms for mark in recent])
    if events.min() <= 0:
        return False
    fell = cpu_ms.min() > 0 and _change(np.log(cpu_ms / events)) <= -_FALLING
    return not fell and _change(np.log(events / passed_s)) < _CLIMBING


def _change(logs: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """By how much a straight line through the values rises from the first to the last."""
    return float(np.polyfit(np.linspace(0.0, 1.0, len(logs)), logs, 1)[0])


_BATCH = 5
_HALVES_APART = 0.05
_DRIFT = 0.10


@dataclass(frozen=True)
class Steadiness:
    """Whether a window came to a steady state in its first half, and how level it is.

    `halves` is the rate of the late half over that of the early one; `drift` the change that the
    straight line through the rates makes over the window, as a share of their mean.
    """

    reached: bool
    halves: float
    drift: float

    @property
    def steady(self) -> bool:
        """Whether a steady state was reached in the first half, and the whole is level."""
        level = abs(self.halves - 1) <= _HALVES_APART or abs(self.drift) <= _DRIFT
        return self.reached and level


def steadiness(samples: Sequence[Poll]) -> Steadiness:
    """Judge the samples of a window by MSER-5 (White, "An effective truncation heuristic for bias
    reduction in simulation output", Simulation 69, 1997), its halves and the drift of all of it.

    MSER-5 cuts off as much of the beginning as makes the standard error of the rest smallest; when
    that is all of the first half, no steady state was reached.  Nothing is really cut off: a window
    that stalls in its second half would look like one whose fast first half was the warm-up.
    """
    rates = [_between(early, late) for early, late in itertools.pairwise(samples[::_BATCH])]
    if len(rates) < 4:
        return Steadiness(reached=False, halves=0.0, drift=0.0)
    middle = len(rates) // 2
    early, late = float(np.mean(rates[:middle])), float(np.mean(rates[middle:]))
    line = np.polyfit(np.arange(len(rates)), rates, 1)
    mean = float(np.mean(rates))
    return Steadiness(
        reached=_mser(rates) < middle,
        halves=late / early if early > 0 else 0.0,
        drift=float(line[0]) * (len(rates) - 1) / mean if mean > 0 else 0.0,
    )


def _mser(rates: Sequence[float]) -> int:
    """The number of leading values whose removal makes the standard error of the rest smallest."""
    values = np.array(rates)
    count = len(values)
    errors = [
        float(np.sum((values[cut:] - values[cut:].mean()) ** 2)) / (count - cut) ** 2
        for cut in range(count // 2 + 1)
    ]
    return int(np.argmin(errors))

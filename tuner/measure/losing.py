"""Whether a running window shows already that its rate cannot win; pure."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.measure.window import Poll, rate_over, slope

_LEAST_S = 2.0
_ERRORS = 3.0
_RISING = 1.05


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

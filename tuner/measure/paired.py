"""Statistics of interleaved pairs: how much better, and how sure.

Rates are compared by the logarithm of their ratio, because effects are ratios and noise is
multiplicative.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

_SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Comparison:
    """The ratio B/A over n pairs with its 95 % interval.

    `p` is the exact two-sided sign-flip probability of a difference as large when there is none;
    `detectable` the smallest gain (as a fraction) that n such pairs show with 80 % power.
    """

    pairs: int
    ratio: float
    low: float
    high: float
    p: float
    detectable: float

    @property
    def better(self) -> bool:
        """Whether the whole interval lies above 1."""
        return self.low > 1.0

    @property
    def shows_more(self) -> bool:
        """Whether B is shown to be above A: the interval alone covers too seldom where the noise is
        skewed, so that the exact test must agree."""
        return self.better and self.p < _SIGNIFICANT

    @property
    def shows_less(self) -> bool:
        """Whether B is shown to be below A, likewise."""
        return self.high < 1.0 and self.p < _SIGNIFICANT


def compare(a: Sequence[float], b: Sequence[float]) -> Comparison:
    """Compare B with A, pair by pair; needs at least two pairs of positive values.

    The interval is Student's t on the mean log-ratio (reference: Student 1908; for n from 6 to 10
    pairs it covers better than a bootstrap).
    """
    if len(a) != len(b) or len(a) < 2:
        raise ValueError("a comparison needs at least two pairs")
    logs = [math.log(after / before) for before, after in zip(a, b, strict=True)]
    n = len(logs)
    mean = statistics.fmean(logs)
    error = statistics.stdev(logs) / math.sqrt(n)
    half = float(stdtrit(n - 1, 0.975)) * error
    power = (float(stdtrit(n - 1, 0.975)) + float(stdtrit(n - 1, 0.8))) * error
    return Comparison(
        pairs=n,
        ratio=math.exp(mean),
        low=math.exp(mean - half),
        high=math.exp(mean + half),
        p=sign_flip_p(logs),
        detectable=math.exp(power) - 1.0,
    )


def sign_flip_p(differences: Sequence[float]) -> float:
    """Exact two-sided p of the mean under all sign flips; up to 16 differences.

    Its floor is 2/2^n: five pairs cannot reach 0.05, six reach 0.031.  With more than 16
    differences the first 16 are used, whose floor of 0.00003 is far below any threshold.
    """
    used = np.asarray(differences[:16])
    sums = _all_signs(len(used)) @ used
    return float(np.mean(np.abs(sums) >= abs(used.sum()) - 1e-12))


@cache
def _all_signs(count: int) -> NDArray[np.float64]:
    """Every way to give signs to that many differences, a row each."""
    return np.array(list(itertools.product((1.0, -1.0), repeat=count)))

"""How far apart two sides of runs are, and what other labels would make of the same runs; pure.

The runs are taken as pairs or, where the two of a pair are no equals, each by itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

Numbers = NDArray[np.float64]

_MOST_ENUMERATED = 1 << 16
_DRAWN = 1 << 14


@dataclass(frozen=True)
class Fit:
    """The mean difference of B and A with its standard error, the degrees of freedom of that, and
    the exact two-sided p of no difference."""

    difference: float
    error: float
    freedom: float
    p: float


@dataclass(frozen=True)
class Contrast:
    """The runs of A before those of B, so many of each; as pairs in order, or each by itself.

    Where A and B are the same, their labels are arbitrary: within each pair, or among all runs.
    """

    of_a: int
    of_b: int
    paired: bool

    @property
    def runs_behind(self) -> float:
        """The variance of a run over that of the difference of both means."""
        return self.of_a * self.of_b / (self.of_a + self.of_b)

    def differences(self, values: Numbers) -> Numbers:
        """The mean difference under each labelling of the runs; the first is that of the true
        labels.  Beyond some 65,000 labellings 16,383 are drawn beside it, which keeps the test
        exact (Phipson and Smyth 2010, Stat Appl Genet Mol Biol 9:39)."""
        if self.paired:
            apart = values[self.of_a :] - values[: self.of_a]
            means: Numbers = _signs(self.of_a) @ apart / self.of_a
            return means
        sums: Numbers = _halves(self.of_a, self.of_b) @ values
        between: Numbers = sums / self.of_b - (values.sum() - sums) / self.of_a
        return between

    def squares(self, values: Numbers) -> float:
        """The squared deviations of runs that no difference of the sides explains; of pairs only
        what is left of the differences within them."""
        a, b = values[: self.of_a], values[self.of_a :]
        if self.paired:
            apart = b - a
            return float(((apart - apart.mean()) ** 2).sum()) / 2
        return float(((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum())

    @property
    def freedom(self) -> int:
        """The degrees of freedom of those squares."""
        return self.of_a - 1 if self.paired else self.of_a + self.of_b - 2

    def fit(self, values: Numbers) -> Fit:
        """Student's t (1908) on the difference, and the permutation test beside it."""
        differences = self.differences(values)
        variance = self.squares(values) / self.freedom / self.runs_behind
        return Fit(
            float(differences[0]), math.sqrt(variance), self.freedom, share_as_far(differences)
        )

    @property
    def least_p(self) -> float:
        """The p of a difference however clear: that of the true labels and, where the sides are as
        many, of the opposite ones."""
        if self.paired:
            return 2.0 ** (1 - self.of_a)
        return (2 if self.of_a == self.of_b else 1) / math.comb(self.of_a + self.of_b, self.of_a)


def share_as_far(differences: Numbers) -> float:
    """How many of the differences are as far from 0 as the first."""
    return float(np.mean(np.abs(differences) >= abs(differences[0]) - 1e-12))


@lru_cache(maxsize=4)
def _signs(pairs: int) -> Numbers:
    """Ways to exchange the sides of pairs, a row each; the first exchanges none."""
    if 2**pairs <= _MOST_ENUMERATED:
        return np.array(list(itertools.product((1.0, -1.0), repeat=pairs)))
    drawn = np.random.default_rng(0).choice((1.0, -1.0), (_DRAWN, pairs))
    drawn[0] = 1.0
    return drawn


@lru_cache(maxsize=4)
def _halves(of_a: int, of_b: int) -> Numbers:
    """Ways to choose the runs of B, a row each with 1 for such a run; the first is the true one."""
    runs = of_a + of_b
    if math.comb(runs, of_b) <= _MOST_ENUMERATED:
        chosen = np.array(list(itertools.combinations(reversed(range(runs)), of_b)))
    else:
        chosen = np.random.default_rng(0).random((_DRAWN, runs)).argsort(axis=1)[:, :of_b]
        chosen[0] = range(of_a, runs)
    rows: Numbers = np.zeros((len(chosen), runs))
    np.put_along_axis(rows, chosen, 1.0, axis=1)
    return rows


SIGNIFICANT = 0.05
_POWER = 0.8
# Beyond so many pairs nobody waits for an answer.
MOST_PAIRS = 1000

# A claim needs the exact test beside the interval, which costs power: of six pairs all must agree.
# By how much the gain that is shown in 80 % of comparisons exceeds what Student's t alone promises,
# as tests/benchmarks/power_of_the_rule.py found it (20,000 comparisons each, normal noise, standard
# error 0.005); less than 1 % where nothing stands here.
_OF_PAIRS: Mapping[int, float] = {6: 1.26, 7: 1.07, 8: 1.04, 9: 1.03, 10: 1.015, 11: 1.015}
_OF_RUNS: Mapping[int, float] = {7: 1.34, 8: 1.22, 9: 1.035, 10: 1.03, 11: 1.015, 12: 1.01}


# Where noise is estimated, some estimates are too low, and too small a gain is promised by them: by
# this quantile of Student's t, over that of known noise, a gain is larger that 80 % of comparisons
# show.  From three degrees of freedom on it is what the whole rule takes, within 2 %, and with
# fewer it is a little more (tests/benchmarks/noise_promise.py).
_UNSURE = 0.94


def unsure(known_by: float) -> float:
    """By how much a gain must be larger to be detected as often as is promised, where its noise was
    estimated by so many degrees of freedom."""
    return float(stdtrit(known_by, _UNSURE) / ndtri(_UNSURE)) if known_by < math.inf else 1.0


def detectable(
    contrast: Contrast, error: float, freedom: float, known_by: float = math.inf
) -> float | None:
    """The smallest gain, as a fraction, that runs like these show with 80 % power, where the
    logarithm of their ratio has this standard error, itself `known_by` so many degrees of freedom;
    None where they can show nothing."""
    if contrast.least_p >= SIGNIFICANT:
        return None
    scale = float(stdtrit(freedom, 1 - SIGNIFICANT / 2)) + float(stdtrit(freedom, _POWER))
    if contrast.paired:
        scale *= _OF_PAIRS.get(contrast.of_a, 1.0)
    else:
        scale *= _OF_RUNS.get(contrast.of_a + contrast.of_b, 1.0)
    return math.expm1(scale * error * unsure(known_by))


def detectable_by(
    pairs: int, sigma: float, *, restarting: bool = False, known_by: float = math.inf
) -> float | None:
    """The smallest gain, as a fraction, that so many pairs show with 80 % power, where `sigma` is
    the standard deviation of a run's logarithm, `known_by` so many degrees of freedom; None where
    they can show nothing.

    Where the engine restarts in each pair, half of the runs count.
    """
    a, b = ((pairs + 1) // 2, pairs // 2) if restarting else (pairs, pairs)
    contrast = Contrast(a, b, paired=not restarting)
    error = sigma / math.sqrt(contrast.runs_behind)
    return detectable(contrast, error, contrast.freedom, known_by)


def pairs_to_detect(
    gain: float,
    sigma: float,
    fewest: int,
    *,
    restarting: bool = False,
    known_by: float = math.inf,
) -> int | None:
    """How many pairs, `fewest` at least, show such a gain with 80 % power where `sigma` is the
    standard deviation of a run's logarithm, `known_by` so many degrees of freedom; None for more
    than 1000."""
    for pairs in range(fewest, MOST_PAIRS + 1):
        least = detectable_by(pairs, sigma, restarting=restarting, known_by=known_by)
        if least is not None and least <= gain:
            return pairs
    return None

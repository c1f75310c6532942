"""What gains a number of pairs shows: the power of the rule by which they are claimed; pure."""

from __future__ import annotations

import math
from collections.abc import Mapping

from scipy.special import stdtrit

from tuner.measure.contrast import Contrast

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


def detectable(contrast: Contrast, error: float, freedom: float) -> float | None:
    """The smallest gain, as a fraction, that runs like these show with 80 % power, where the
    logarithm of their ratio has this standard error; None where they can show nothing."""
    if contrast.least_p >= SIGNIFICANT:
        return None
    scale = float(stdtrit(freedom, 1 - SIGNIFICANT / 2)) + float(stdtrit(freedom, _POWER))
    if contrast.paired:
        scale *= _OF_PAIRS.get(contrast.of_a, 1.0)
    else:
        scale *= _OF_RUNS.get(contrast.of_a + contrast.of_b, 1.0)
    return math.expm1(scale * error)


def detectable_by(pairs: int, sigma: float, *, restarting: bool = False) -> float | None:
    """The smallest gain, as a fraction, that so many pairs show with 80 % power, where `sigma` is
    the standard deviation of a run's logarithm; None where they can show nothing.

    Where the engine restarts in each pair, half of the runs count.
    """
    a, b = ((pairs + 1) // 2, pairs // 2) if restarting else (pairs, pairs)
    contrast = Contrast(a, b, paired=not restarting)
    return detectable(contrast, sigma / math.sqrt(contrast.runs_behind), contrast.freedom)


def pairs_to_detect(
    gain: float, sigma: float, fewest: int, *, restarting: bool = False
) -> int | None:
    """How many pairs, `fewest` at least, show such a gain with 80 % power where `sigma` is the
    standard deviation of a run's logarithm; None for more than 1000."""
    for pairs in range(fewest, MOST_PAIRS + 1):
        least = detectable_by(pairs, sigma, restarting=restarting)
        if least is not None and least <= gain:
            return pairs
    return None

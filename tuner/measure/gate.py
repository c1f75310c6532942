"""Whether a ratio keeps a bar, is below it, or cannot be told from it; pure.

A gate that fails on every estimate below the bar fails on noise, and one that fails only where a
loss is shown passes whenever too little was measured.  So there are three answers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from tuner.measure.contrast import pairs_to_detect
from tuner.measure.machines import compare_across
from tuner.measure.paired import Comparison, Pairs


class Decision(Enum):
    """What pairs show of a bar."""

    KEPT = "kept"
    BELOW = "below"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Gate:
    """The bar, the decision, and where there is none the pairs that would bring one with 80 %
    power if the ratio is what it seems to be (None: more than are sensible)."""

    bar: float
    decision: Decision
    pairs_wanted: int | None = None


def gate(rates: Sequence[Pairs], bar: float) -> Gate:
    """Compare B with `bar` times A by every rate given, each as the values of A and of B.

    Below: by some rate B is shown to be under the bar.  Kept: by every rate it is shown to be above
    it.  Shown means that the whole 95 % interval lies on that side and the exact sign-flip test
    agrees.
    """
    against = [compare_across(*one._replace(a=[bar * each for each in one.a])) for one in rates]
    decisions = [_decision(one) for one in against]
    if Decision.BELOW in decisions:
        return Gate(bar, Decision.BELOW)
    open_ones = [
        one
        for one, decision in zip(against, decisions, strict=True)
        if decision is Decision.INCONCLUSIVE
    ]
    if not open_ones:
        return Gate(bar, Decision.KEPT)
    pairs_needed = [_pairs_wanted(one) for one in open_ones]
    known = [one for one in pairs_needed if one is not None]
    return Gate(bar, Decision.INCONCLUSIVE, max(known) if len(known) == len(pairs_needed) else None)


def _decision(against: Comparison) -> Decision:
    if not against.enough:
        return Decision.INCONCLUSIVE
    if against.shows_more:
        return Decision.KEPT
    return Decision.BELOW if against.shows_less else Decision.INCONCLUSIVE


def _pairs_wanted(against: Comparison) -> int | None:
    """The fewest that are more than these and can detect a gain as far from the bar."""
    gain = math.expm1(abs(math.log(against.ratio)))
    return pairs_to_detect(
        gain,
        against.sigma,
        against.fewest,
        restarting=against.restarting,
        known_by=against.pairs - 1,
    )

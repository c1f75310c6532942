"""Pairs that several machines measured, each pair on one of them: what they show together, and
whether a ratio keeps a bar; pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from tuner.measure.contrast import SIGNIFICANT, Estimate, Numbers, largest, pairs_to_detect
from tuner.measure.paired import Comparison, Pairs, Speeds, compare

# Equal machines are believed to gain the same: that is worth one degree of freedom.
_BELIEVED = 1.0
# A machine stands out beyond so many standard deviations of the others, which are 5 % at least.
_REACH, _LEAST_SPREAD = 3.0, 0.05
_FEWEST_OTHERS = 2
# One run tells too little of a machine.
_FEWEST_RUNS = 3


Names = NDArray[np.str_]


@dataclass(frozen=True)
class Outlier:
    """A machine that differs from the mean of the others, by a factor."""

    machine: str
    ratio: float


def compare_across(
    a: Sequence[float],
    b: Sequence[float],
    machines: Sequence[str] = (),
    restarts: Sequence[tuple[bool, bool]] = (),
    speeds: Speeds | None = None,
) -> Comparison:
    """Compare B with A by pairs of which each was measured on one of the `machines`; on one alone
    as `compare` does.

    How fast each machine is, is taken out first.  The interval is as wide as random effects need
    where gains differ among machines by more than noise explains: that of Hartung and Knapp (2001,
    Stat Med 20:3875-3889), never narrower than without them (Roever, Knapp, Friede 2015, BMC Med
    Res Methodol 15:99).  For two machines that is 12.7 standard errors, so it leans on the belief
    that equal machines gain the same; tests/benchmarks/machine_claims.py shows how far that holds.
    """
    if len(set(machines)) < 2:
        return compare(a, b, restarts, speeds)
    names = np.array(machines)
    logs = np.log([a, b])
    level = _without_levels(logs, names) + logs.mean()
    if speeds is not None:
        of_runs = _without_levels(np.array(speeds, dtype=float), names)
        speeds = (of_runs[0].tolist(), of_runs[1].tolist())
    rates = np.exp(level)
    comparison = compare(rates[0].tolist(), rates[1].tolist(), restarts, speeds)
    width = _width(logs[1] - logs[0], names)
    both = comparison.by_speed
    if both is not None:
        raw, adjusted = _widened(both.raw, width), _widened(both.adjusted, width)
        comparison = replace(comparison, by_speed=replace(both, raw=raw, adjusted=adjusted))
    return _widened(comparison, width)


def outliers(logs: Mapping[str, Sequence[float]]) -> tuple[Outlier, ...]:
    """The machines whose mean logarithm lies far from those of all others; none of less than three
    machines with as many runs each."""
    means = {name: float(np.mean(runs)) for name, runs in logs.items() if len(runs) >= _FEWEST_RUNS}
    outside = []
    for machine, mean in means.items():
        means_of_others = [mean for name, mean in means.items() if name != machine]
        if len(means_of_others) < _FEWEST_OTHERS:
            continue
        spread = max(_LEAST_SPREAD, float(np.std(means_of_others, ddof=1)))
        apart = mean - float(np.mean(means_of_others))
        if abs(apart) > _REACH * spread * math.sqrt(1 + 1 / len(means_of_others)):
            outside.append(Outlier(machine, math.exp(apart)))
    return tuple(outside)


def _without_levels(values: Numbers, machines: Names) -> Numbers:
    """Both sides of each pair without the mean of their machine."""
    apart = values.copy()
    for machine in set(machines.tolist()):
        apart[:, machines == machine] -= values[:, machines == machine].mean()
    return apart


def _width(gains: Numbers, machines: Names) -> float:
    """How much wider the interval is than that of pairs on one machine.

    The mean square of machines over that within them is 1 where gains do not differ; it is weighed
    against the belief that they do not.
    """
    groups = [gains[machines == machine] for machine in sorted(set(machines.tolist()))]
    pairs, freedom = len(gains), len(groups) - 1
    total = float(((gains - gains.mean()) ** 2).sum())
    within = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    freedom_within = pairs - len(groups)
    if total == 0.0 or freedom_within == 0 or within == 0.0:
        return 1.0
    error, believed = within / freedom_within, _BELIEVED + freedom
    apart = max(0.0, total - within) / freedom / error
    variance = error * (freedom * apart + _BELIEVED) / believed
    reach = float(stdtrit(believed, 1 - SIGNIFICANT / 2))
    usual = float(stdtrit(pairs - 1, 1 - SIGNIFICANT / 2)) * math.sqrt(total / (pairs - 1))
    return max(1.0, reach * math.sqrt(variance) / usual)


_Found = TypeVar("_Found", bound=Estimate)


def _widened(estimate: _Found, width: float) -> _Found:
    low, high = (
        estimate.ratio * (end / estimate.ratio) ** width for end in (estimate.low, estimate.high)
    )
    gain = estimate.detectable
    return replace(
        estimate,
        low=low,
        high=high,
        detectable=None if gain is None else math.expm1(width * math.log1p(gain)),
    )


class Decision(Enum):
    """What pairs show of a bar."""

    KEPT = "kept"
    BELOW = "below"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Gate:
    """The bar and the decision.  `pairs_wanted`, where it is inconclusive, is how many pairs would
    decide with 80 % power if the true ratio is the one measured (None: more than are sensible)."""

    bar: float
    decision: Decision
    pairs_wanted: int | None = None


def gate(rates: Sequence[Pairs], bar: float) -> Gate:
    """Compare B with `bar` times A by every rate given, each as the values of A and of B.

    Below: by some rate B is shown to be under the bar.  Kept: by every rate it is shown to be above
    it.  Shown means that the whole 95 % interval lies on that side and the exact sign-flip test
    agrees.
    """
    raised = (pairs._replace(a=[bar * rate for rate in pairs.a]) for pairs in rates)
    against = [compare_across(*pairs) for pairs in raised]
    decisions = [_decision(comparison) for comparison in against]
    if Decision.BELOW in decisions:
        return Gate(bar, Decision.BELOW)
    outcomes = zip(against, decisions, strict=True)
    open_ones = [pairs for pairs, decision in outcomes if decision is Decision.INCONCLUSIVE]
    if not open_ones:
        return Gate(bar, Decision.KEPT)
    return Gate(bar, Decision.INCONCLUSIVE, largest([_pairs_wanted(pairs) for pairs in open_ones]))


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

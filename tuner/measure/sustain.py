"""The maximum sustainable rate: which load to try next, and what the trials so far show; and
what an overload did, which judges queue sizes and disk assistance.  Pure.

Loads and bounds are defined as in MLRsearch (RFC 9971), which refines the throughput search of
RFC 2544, section 26.1: a load is a lower bound when it was carried for long enough, an upper bound
when it failed for more than the tolerated share of that time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tuner.flood.pace import steps
from tuner.measure.measurement import Failure, PacedMeasurement, TracePoint
from tuner.measure.paced import Pacing
from tuner.profile.model import Profile

_CALM_SHARE, _OVER_SHARE = 0.5, 1.5
_CALM_S = 5.0
# Half a rate too much is worked off in the same time at half the rate; so much again is spare.
_RECOVERY = 2.0
# A pipeline is back when no more is under way than before; batches make that jump.
_BACK = 1.5
_JUMP_S = 0.2


@dataclass(frozen=True)
class OverloadPlan:
    """So much of a rate for so long, after a calm start and before a calm end at half that rate."""

    calm_per_second: float
    over_per_second: float
    over_s: float

    @property
    def pacing(self) -> Pacing:
        """The traffic; judged from the beginning of the overload to the end of all."""
        calm, over = self.calm_per_second, self.over_per_second
        schedule = steps([(calm, _CALM_S), (over, self.over_s), (calm, _RECOVERY * self.over_s)])
        whole_s = _CALM_S + (1 + _RECOVERY) * self.over_s
        return Pacing(schedule, whole_s, _CALM_S, whole_s)


@dataclass(frozen=True)
class Overload:
    """What became of it: the most events that were due and not indexed, how many of those the
    senders still held, and the seconds from the end of the overload until no more were under way
    than before it (None when that did not happen while it was watched)."""

    plan: OverloadPlan
    measurement: PacedMeasurement
    most_behind: int
    most_unsent: int
    recovered_s: float | None


def overload_plan(eps: float, over_s: float) -> OverloadPlan:
    """An overload of half as much again as the rate `eps`, for `over_s` seconds."""
    return OverloadPlan(_CALM_SHARE * eps, _OVER_SHARE * eps, over_s)


def overload_of(plan: OverloadPlan, measurement: PacedMeasurement) -> Overload:
    """What the trace of the trial shows."""
    trace = measurement.trace
    return Overload(
        plan=plan,
        measurement=measurement,
        most_behind=max(moment.behind for moment in trace),
        most_unsent=max(moment.due - moment.sent for moment in trace),
        recovered_s=_recovered_s(plan, trace),
    )


def _recovered_s(plan: OverloadPlan, trace: Sequence[TracePoint]) -> float | None:
    over_at_s = _CALM_S + plan.over_s
    calm = [moment.behind for moment in trace if 1.0 <= moment.at_s < _CALM_S]
    usual = _BACK * max(calm, default=0) + _JUMP_S * plan.calm_per_second
    back = [m.at_s for m in trace if m.at_s >= over_at_s and m.behind <= usual]
    return back[0] - over_at_s if back else None


_KEEPS_UP = 0.02
# From a load that was carried to the next higher one, and the share of the first load below which
# looking for one that is carried ends.
_UP = 1.25
_HOPELESS = 0.05
# Enough is known with failures in less than this share of the time at one load, and with bounds
# that differ by no more than this, a ratio.
_EXCEED_RATIO = 0.1
_WIDTH = 0.03


@dataclass(frozen=True)
class LoadTrial:
    """One trial at a load (messages per second); `why_not` says why it was not carried."""

    per_second: float
    lasted_s: float
    why_not: str | None
    outcome: PacedMeasurement | Failure | None = None


@dataclass(frozen=True)
class Bounds:
    """The highest load below every failing one that was carried, and the lowest that failed; None
    where there is none."""

    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class Sustained:
    """The search for the maximum sustainable rate."""

    bounds: Bounds
    trials: tuple[LoadTrial, ...]


def bounds(trials: Sequence[LoadTrial], enough_s: float) -> Bounds:
    """What the trials show, of which `enough_s` seconds at one load are enough."""
    loads = sorted({trial.per_second for trial in trials})
    failing = [load for load in loads if _fails(load, trials, enough_s)]
    upper = min(failing, default=None)
    below = [load for load in loads if upper is None or load < upper]
    carried = [load for load in below if _carries(load, trials, enough_s)]
    return Bounds(max(carried, default=None), upper)


def next_load(trials: Sequence[LoadTrial], enough_s: float, first: float) -> float | None:
    """The load to try next, `first` at the beginning; None when enough is known, or when a load far
    below the first one fails too."""
    if not trials:
        return first
    last = trials[-1].per_second
    if not _fails(last, trials, enough_s) and not _carries(last, trials, enough_s):
        return last
    limits = bounds(trials, enough_s)
    if limits.upper is None:
        return last * _UP
    if limits.lower is None:
        return limits.upper / 2 if limits.upper > first * _HOPELESS else None
    if limits.upper / limits.lower - 1 <= _WIDTH:
        return None
    return math.sqrt(limits.lower * limits.upper)


def why_not(outcome: PacedMeasurement | Failure, profile: Profile) -> str | None:
    """Why a load was not carried, None when it was: no event lost or doubled, the pace kept, no
    backlog that grows, no disk-assisted queue on its disk, freshness within the guardrail.

    These are the criteria of the ELMA tests of 2012, whose limit of freshness was 30 s.
    """
    if isinstance(outcome, Failure):
        return str(outcome)
    if not outcome.pace_kept:
        return f"messages went out up to {outcome.max_late_s:.1f} s late"
    if outcome.growth_per_second > _KEEPS_UP * outcome.offered_per_second:
        return f"fell behind by {outcome.growth_per_second:,.0f} events each second"
    if outcome.uses_disk:
        return "a disk-assisted queue wrote to its disk"
    limit_s = profile.guardrails.freshness_p99_s
    fresh = outcome.freshness_s
    if fresh is not None and fresh.p99 > limit_s:
        return f"freshness p99 {fresh.p99:.1f} s, freshness_p99_s allows {limit_s:g} s"
    return None


def _fails(load: float, trials: Sequence[LoadTrial], enough_s: float) -> bool:
    bad_s = sum(t.lasted_s for t in trials if t.per_second == load and t.why_not is not None)
    return bad_s > _EXCEED_RATIO * enough_s


def _carries(load: float, trials: Sequence[LoadTrial], enough_s: float) -> bool:
    good_s = sum(t.lasted_s for t in trials if t.per_second == load and t.why_not is None)
    return good_s >= (1 - _EXCEED_RATIO) * enough_s

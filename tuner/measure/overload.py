"""What an overload did: more than the pipeline can take, for a while, and how it recovers.  Pure.

It judges queue sizes and disk assistance, which saturation with a bounded backlog does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuner.flood.schedule import steps
from tuner.measure.paced import Pacing
from tuner.measure.paced_summary import PacedMeasurement, TracePoint

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

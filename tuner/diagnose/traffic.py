"""What came in, as a workload to measure with: rates, sizes and connections."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuner.diagnose.diagnosis import Diagnosed
from tuner.diagnose.inputs import open_sessions

# What a profile's workload takes.
_BYTES, _CONNECTIONS = (120, 8000), 512


@dataclass(frozen=True)
class ProductionTraffic:
    """Events per second: the median, what 95 % of the time stayed below, and the peak of a step of
    `step_s` seconds; the mean bytes of a message and the most sessions seen at a time, None where
    no input counts them."""

    p50: float
    p95: float
    peak: float
    step_s: float
    mean_bytes: int | None
    sessions: int | None


def traffic_of(host: Diagnosed) -> ProductionTraffic:
    """What came in during the course of one rsyslogd."""
    course = host.course
    rates = course.rates(host.came)
    timed = sorted(
        (rate, step.seconds) for rate, step in zip(rates, course.steps, strict=True) if step.seconds
    )
    sized = [
        one for one in course.objects.values()
        if {"bytes.received", "submitted"} <= one.growth.keys()
    ]  # fmt: skip
    events = sum(one.total("submitted") for one in sized)
    received = sum(one.total("bytes.received") for one in sized)
    sessions = [
        round(max(held)) for one in course.objects.values() if (held := open_sessions(course, one))
    ]
    return ProductionTraffic(
        p50=_below(timed, 0.5),
        p95=_below(timed, 0.95),
        peak=host.peak,
        step_s=course.gaps.interval_s,
        mean_bytes=round(received / events) if events else None,
        sessions=sum(sessions) if any(sessions) else None,
    )


def _below(timed: Sequence[tuple[float, float]], part: float) -> float:
    """The rate that was not exceeded for that part of the time."""
    left = part * sum(seconds for _, seconds in timed)
    for rate, seconds in timed:
        left -= seconds
        if left <= 0:
            return rate
    return timed[-1][0] if timed else 0.0


def workload_changes(traffic: ProductionTraffic) -> Mapping[str, object]:
    """The keys of a profile's workload that say the same; sizes that a workload does not take are
    left out."""
    changes: dict[str, object] = {"workload.rate": max(1, math.ceil(traffic.peak))}
    if traffic.mean_bytes is not None and _BYTES[0] <= traffic.mean_bytes <= _BYTES[1]:
        changes["workload.message_bytes.mean"] = traffic.mean_bytes
    if traffic.sessions is not None:
        changes["workload.connections"] = min(_CONNECTIONS, traffic.sessions)
    return changes

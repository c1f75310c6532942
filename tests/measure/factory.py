"""Measurements for tests that are about something else."""

from __future__ import annotations

from tests.measure.stages import CALM
from tuner.measure.bottleneck import Diagnosis
from tuner.measure.measurement import Delivery, Failure, FailureKind, Measurement, Spent, TrialPlan
from tuner.measure.speed import Speed
from tuner.space.knob import Bottleneck

SPEED = Speed(950.0, 180.0)


def measured(
    eps: float,
    durable: float | None = None,
    total_s: float = 13.0,
    rss_mib: float = 90.0,
    paid: float | None = None,
    speed: Speed | None = None,
) -> Measurement:
    return Measurement(
        eps=eps,
        eps_se=eps * 0.01,
        eps_paid=paid if paid is not None else eps,
        eps_durable=durable if durable is not None else eps * 0.9,
        eps_merged=None,
        delivery=Delivery(1000, 1000, 1000, 0, 0),
        window_s=10.0,
        drain_s=0.5,
        total_s=total_s,
        shipper_cpu_us=6.0,
        engine_cpu_us=20.0,
        deferred_cpu_us=0.0,
        flood_cpu_us=0.3,
        shipper_rss_bytes=int(rss_mib * 1024**2),
        rejected=0,
        segments=3,
        store_bytes=1024,
        doubts=(),
        speed=speed,
    )


def failed(reason: str = "it lost two events") -> Failure:
    return Failure(FailureKind.DELIVERY, reason, sent=1000, indexed=998, total_s=20.0)


def limited_by(bottleneck: Bottleneck, others_cpu: float = 0.0) -> Diagnosis:
    return Diagnosis(bottleneck, (), (), others_cpu, CALM)


def itemised(plan: TrialPlan, total_s: float, restart_s: float = 0.0) -> Spent:
    """How a trial of this plan may have spent its time: half of what is left on the drain."""
    rest_s = total_s - plan.warm_up_s - plan.window_s
    return Spent(
        restart_s=restart_s,
        start_s=0.3 * rest_s,
        warm_up_s=plan.warm_up_s,
        window_s=plan.window_s,
        drain_s=0.5 * rest_s,
        settle_s=0.15 * rest_s,
        stop_s=0.05 * rest_s,
    )

"""Open-loop trials for tests that are about something else."""

from __future__ import annotations

from dataclasses import replace

from tuner.measure.measurement import Delivery, PacedMeasurement, Percentiles, TracePoint
from tuner.measure.stages import Effective, QueueUse

NOTHING = Effective((), (), None, None, None, 0)
MAIN = QueueUse("main Q", 100_000, 847, 1024, 1, 1)
ACTION = QueueUse("logs queue", 50_000, 2_363, 2000, 2, 2)


def paced(
    trace: tuple[TracePoint, ...] = (),
    *,
    p99_s: float | None = 0.9,
    growth_per_second: float = 0.0,
    pace_kept: bool = True,
    on_disk: int = 0,
) -> PacedMeasurement:
    return PacedMeasurement(
        offered_per_second=10_000.0,
        eps=10_000.0,
        growth_per_second=growth_per_second,
        sent=100_000,
        late=0 if pace_kept else 20_000,
        max_late_s=0.0 if pace_kept else 3.2,
        pace_kept=pace_kept,
        blocked_s=0.0,
        freshness_s=None if p99_s is None else Percentiles(p99_s / 2, p99_s, p99_s, p99_s),
        spool_bytes=0,
        delivery=Delivery(100_000, 100_000, 100_000, 0, 0),
        shipper_cpu_us=6.0,
        engine_cpu_us=20.0,
        shipper_rss_bytes=90 * 1024**2,
        effective=replace(NOTHING, queues=(MAIN, replace(ACTION, most_on_disk=on_disk))),
        trace=trace,
        doubts=(),
        total_s=14.0,
    )

"""Stages as they were seen on two cores with Elasticsearch 8.19 and rsyslog 8.2302."""

from __future__ import annotations

from dataclasses import replace

from tuner.measure.stages import Pool, Stages

MAIN = Pool(
    path="main_queue",
    workers=1,
    configured=1,
    cpu=0.35,
    busiest=0.35,
    runnable=0.1,
    held=0.1,
    fill=0.05,
)
ACTION = Pool(
    path="outputs[logs].queue",
    workers=2,
    configured=2,
    cpu=0.2,
    busiest=0.25,
    runnable=0.1,
    held=0.85,
    fill=0.7,
)
CALM = Stages(
    window_s=10.0,
    cores=4,
    output="logs",
    rate_is_fixed=False,
    sender_cpu=0.05,
    sender_blocked=0.0,
    backlog_kept=0.98,
    input_cpu=0.3,
    main=MAIN,
    action=ACTION,
    bulk_ms=40.0,
    shipper_cpu=0.25,
    engine_cpu=0.4,
    engine_cores=4,
    engine_is_here=True,
    machine_cpu=0.7,
    io_wait=0.01,
    rejected=0,
    index_throttled_ms=0,
    merge_throttled_ms=0,
)
"""Four cores with time to spare, the backlog before the action workers, who wait."""

BUSY_MAIN = replace(MAIN, cpu=0.97, busiest=0.97, runnable=0.0, held=0.8)
IDLE_ACTION = replace(ACTION, held=0.1, cpu=0.1, fill=0.1)
EMPTY_MAIN = replace(MAIN, held=0.03)
EMPTY_ACTION = replace(ACTION, held=0.1, fill=0.1)

"""From a profile's workload to a flood."""

from __future__ import annotations

from tuner.flood.spec import FloodSpec
from tuner.profile.workload import Workload


def flood_spec(
    workload: Workload, host: str, port: int, run_id: str, count: int | None = None
) -> FloodSpec:
    """The flood that a workload describes; its rate is for the pace, not for the messages."""
    sizes = workload.message_bytes
    return FloodSpec(
        host=host,
        port=port,
        connections=workload.connections,
        message_bytes_mean=sizes.mean,
        seed=workload.seed,
        run_id=run_id,
        count=count,
        format=workload.format,
        framing=workload.framing,
        distribution=sizes.distribution,
        min_bytes=sizes.min,
        max_bytes=sizes.max,
        replay=workload.replay,
    )

"""`rsyslog-tune flood`: send syslog messages to a port of this machine."""

from __future__ import annotations

import secrets
from pathlib import Path

from tuner.cli import flood_options as option
from tuner.cli.console import working
from tuner.cli.flood_result import show
from tuner.cli.options import Output, OutputOption
from tuner.errors import BadUsage, JobFailed
from tuner.flood.flood import Flood, FloodSpec

_POLL_S = 0.1
_FINISH_S = 10.0


def flood(
    port: option.Port,
    count: option.Count = None,
    rate: option.Rate = "max",
    connections: option.Connections = 5,
    message_bytes: option.Mean = 244,
    distribution: option.Spread = option.DistributionChoice.UNIFORM,
    min_bytes: option.Least = None,
    max_bytes: option.Most = None,
    message_format: option.Format = option.FormatChoice.RFC3164,
    framing: option.Framing = option.FramingChoice.LF,
    replay: option.Replay = None,
    seed: option.Seed = 1,
    ramp: option.Ramp = None,
    burst: option.Burst = None,
    runs: option.Repeat = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Flood a syslog port on loopback with messages over TCP, and say what it cost."""
    plan = option.plan_pace(count, rate, ramp, burst, runs)
    spec = FloodSpec(
        host="127.0.0.1",
        port=port,
        connections=connections,
        message_bytes_mean=message_bytes,
        seed=seed,
        run_id=secrets.token_hex(4),
        count=plan.total,
        format=message_format.value,
        framing=framing.value,
        distribution=distribution.value,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        replay=_path(replay, min_bytes, max_bytes),
    )
    _run(spec, plan, output)


def _path(replay: Path | None, min_bytes: int | None, max_bytes: int | None) -> str | None:
    if replay is None:
        return None
    if min_bytes is not None or max_bytes is not None:
        raise BadUsage("--replay takes its sizes from the file: leave the bounds out")
    return str(replay)


def _run(spec: FloodSpec, plan: option.PacePlan, output: Output) -> None:
    said = f"sending {plan.total:,} messages to {spec.host}:{spec.port}"
    with working(said) as tell, Flood(spec) as sender:
        if plan.schedule is not None:
            sender.follow(plan.schedule, plan.total)
        elif plan.runs is not None:
            sender.run(plan.runs)
        else:
            sender.steer(plan.total, None)
        while (now := sender.wait_until_idle(_POLL_S)).sent < plan.total and now.error is None:
            tell(f"{now.sent:,} of {plan.total:,} sent")
        timeline = sender.timeline()
        final = sender.finish(_FINISH_S)
    if final.error is not None:
        raise JobFailed(f"{final.sent} of {plan.total} messages sent: {final.error}")
    show(final, timeline, spec.run_id, output)

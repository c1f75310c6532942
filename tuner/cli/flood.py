"""`rsyslog-tune flood`: send syslog messages to a port, a socket or a file."""

from __future__ import annotations

import secrets
from pathlib import Path

from tuner.cli import flood_options as option
from tuner.cli import flood_target as to
from tuner.cli.console import working
from tuner.cli.flood_result import show
from tuner.cli.options import Output, OutputOption
from tuner.errors import BadUsage, JobFailed
from tuner.flood.flood import Flood, FloodSpec
from tuner.flood.spec import Framing, framings
from tuner.flood.transport import Credentials, Transport
from tuner.modules.input import Format

_POLL_S = 0.1
_FINISH_S = 10.0


def flood(
    port: to.Port = None,
    target: to.Targets = None,
    transport: to.Kind = to.TransportChoice.TCP,
    ca: to.Authority = None,
    certificate: to.Certificate = None,
    key: to.Key = None,
    count: option.Count = None,
    rate: option.Rate = "max",
    connections: option.Connections = 5,
    message_bytes: option.Mean = 244,
    distribution: option.Spread = option.DistributionChoice.UNIFORM,
    min_bytes: option.Least = None,
    max_bytes: option.Most = None,
    message_format: option.Format = None,
    framing: option.Framing = None,
    replay: option.Replay = None,
    seed: option.Seed = 1,
    ramp: option.Ramp = None,
    burst: option.Burst = None,
    runs: option.Repeat = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Flood a syslog receiver with messages, and print the rate and the CPU time used.

    The receiver must be on this machine or in allow-targets; others are refused (exit code 5).
    """
    plan = option.plan_pace(count, rate, ramp, burst, runs)
    shown = Credentials(_path(ca), _path(certificate), _path(key))
    way = to.plan_transport(transport, port, target, shown)
    spec = FloodSpec(
        transport=way,
        connections=connections,
        message_bytes_mean=message_bytes,
        seed=seed,
        run_id=secrets.token_hex(4),
        count=plan.total,
        format=_format(message_format, way),
        framing=_framing(framing, way),
        distribution=distribution.value,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        replay=_replay(replay, min_bytes, max_bytes),
    )
    _run(spec, plan, output)


def _path(file: Path | None) -> str | None:
    return None if file is None else str(file)


def _format(written: option.FormatChoice | None, transport: Transport) -> Format:
    if written is not None:
        return written.value
    usual: dict[str, Format] = {"unix": "local", "file": "bare"}
    return usual.get(transport.kind, "rfc3164")


def _framing(written: option.FramingChoice | None, transport: Transport) -> Framing:
    return framings(transport)[0] if written is None else written.value


def _replay(replay: Path | None, min_bytes: int | None, max_bytes: int | None) -> str | None:
    if replay is None:
        return None
    if min_bytes is not None or max_bytes is not None:
        raise BadUsage("--replay takes its sizes from the file: remove --min-bytes and --max-bytes")
    return str(replay)


def _run(spec: FloodSpec, plan: option.PacePlan, output: Output) -> None:
    said = f"sending {plan.total:,} messages to {spec.transport}"
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

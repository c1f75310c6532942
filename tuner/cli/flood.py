"""`rsyslog-tune flood`: send syslog messages to a port of this machine."""

from __future__ import annotations

import secrets
import time
from typing import Annotated

import typer

from tuner.cli.console import result, result_json, working
from tuner.cli.options import Output, OutputOption
from tuner.errors import BadUsage, JobFailed
from tuner.flood.flood import Flood, FloodSpec, Progress

_POLL_S = 0.1
_FINISH_S = 10.0


def flood(
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port on 127.0.0.1.")],
    count: Annotated[int, typer.Option(min=1, help="How many messages.")],
    rate: Annotated[str, typer.Option(help="Messages per second, or max.")] = "max",
    connections: Annotated[int, typer.Option(min=1, max=512, help="TCP connections.")] = 5,
    message_bytes: Annotated[
        int, typer.Option(min=120, max=8000, help="Mean size of a message.")
    ] = 244,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")] = 1,
    output: OutputOption = Output.TEXT,
) -> None:
    """Flood a syslog port on loopback with RFC 3164 messages over TCP."""
    per_second = _per_second(rate)
    run_id = secrets.token_hex(4)
    spec = FloodSpec("127.0.0.1", port, connections, message_bytes, seed, run_id, count)
    with working(f"sending {count:,} messages to 127.0.0.1:{port}") as tell, Flood(spec) as sender:
        sender.steer(count, per_second)
        while (now := sender.progress()).sent < count and now.error is None:
            tell(f"{now.sent:,} of {count:,} sent")
            time.sleep(_POLL_S)
        final = sender.finish(_FINISH_S)
    if final.error is not None:
        raise JobFailed(f"{final.sent} of {count} messages sent: {final.error}")
    _show(final, run_id, output)


def _per_second(rate: str) -> float | None:
    if rate == "max":
        return None
    try:
        value = float(rate)
    except ValueError:
        value = 0.0
    if value <= 0:
        raise BadUsage(f"--rate {rate}: write a number of messages per second, or max")
    return value


def _show(final: Progress, run_id: str, output: Output) -> None:
    """`seconds` is from the first message to the last; `cpu_seconds` of all sending processes,
    rendering included."""
    first, last = final.first_send_s or 0.0, final.last_send_s or 0.0
    seconds = last - first
    if output is Output.JSON:
        result_json(
            {
                "schema": 1,
                "kind": "flood",
                "run_id": run_id,
                "sent": final.sent,
                "seconds": seconds,
                "cpu_seconds": final.cpu_seconds,
                "blocked_seconds": final.blocked_seconds,
            }
        )
        return
    rate = f"{final.sent / seconds:,.0f} per second" if seconds > 0 else "at once"
    cpu_us = final.cpu_seconds * 1e6 / max(1, final.sent)
    result(f"{final.sent:,} messages in {seconds:.2f} s ({rate}), {cpu_us:.2f} us CPU a message")

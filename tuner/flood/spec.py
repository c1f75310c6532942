"""What a flood is asked to send, and how far it has come."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tuner.errors import BadUsage

LEAST_MESSAGE_BYTES = 96


@dataclass(frozen=True)
class FloodSpec:
    """One flood of RFC 3164 messages over TCP; `count` is a hard total, None means no end.

    `message_bytes_mean` is the mean length on the wire, header included, line feed not.
    """

    host: str
    port: int
    connections: int
    message_bytes_mean: int
    seed: int
    run_id: str
    count: int | None = None

    def __post_init__(self) -> None:
        if re.fullmatch(r"[0-9a-f]{8}", self.run_id) is None:
            raise BadUsage(f"the run id must be 8 lower-case hex digits, not {self.run_id!r}")
        if self.connections < 1:
            raise BadUsage(f"a flood needs at least 1 connection, not {self.connections}")
        if self.message_bytes_mean < LEAST_MESSAGE_BYTES:
            raise BadUsage(
                f"messages must have a mean of at least {LEAST_MESSAGE_BYTES} bytes, "
                f"not {self.message_bytes_mean}: the header and the identity need them"
            )
        if self.count is not None and self.count < 0:
            raise BadUsage(f"a flood cannot send {self.count} messages")


@dataclass(frozen=True)
class Progress:
    """How far a flood has come, as its process last reported it.

    `sent` counts whole messages handed to the kernel.  `cpu_seconds` is the process time spent
    since its connections were up; `blocked_seconds` the time in which every socket was full
    although more might be sent.  The other times are CLOCK_MONOTONIC, the same in all processes.
    """

    sent: int
    cpu_seconds: float
    blocked_seconds: float
    first_send_s: float | None
    last_send_s: float | None
    truncated: bool
    error: str | None
    at_s: float

"""What a flood is asked to send, and how far it has come."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tuner.engine.numbering import SentEvents
from tuner.errors import BadUsage
from tuner.flood.transport import Transport
from tuner.modules.input import Format, Framing
from tuner.profile.workload import LONGEST_MESSAGE_BYTES, Distribution, MessageSizes

LEAST_MESSAGE_BYTES: dict[Format, int] = {
    "rfc3164": 96, "rfc5424": 120, "local": 96, "bare": 96,
}  # fmt: skip
LATE_S = 0.050
RUN_S = 1000
"""Numbers that are times begin with a multiple of it."""
_TOLERATED_SHARE = 0.01


@dataclass(frozen=True)
class FloodSpec:
    """One flood of messages; `count` is a hard total, None means no end.

    `message_bytes_mean`, `min_bytes` and `max_bytes` are lengths on the wire, header included,
    framing not.  With `replay`, the path of a file, the bodies are its lines, and with `sample`,
    the JSON of a TrafficSample, messages are like those of it; the sizes follow from them.  `local`
    is RFC 3164 without a host, as syslog(3) writes it; a `bare` message has no header at all, like
    a line of an application's own log.  `sender` is the place, from 0, of this flood among
    `senders` that number their messages in turn.  With `begins_s`, a second since 1970, the time in
    the head of each message is its number, in microseconds from then on; a bare message has those
    before it.  What is replayed or like a sample is cut at `longest_bytes`.  Where there are
    transports `beside` the first, each message takes always the same one, equally many each.
    """

    transport: Transport
    connections: int
    message_bytes_mean: int
    seed: int
    run_id: str
    count: int | None = None
    format: Format = "rfc3164"
    framing: Framing = "lf"
    distribution: Distribution = "uniform"
    min_bytes: int | None = None
    max_bytes: int | None = None
    replay: str | None = None
    sample: str | None = None
    sender: int = 0
    senders: int = 1
    begins_s: int | None = None
    longest_bytes: int = LONGEST_MESSAGE_BYTES
    beside: tuple[Transport, ...] = ()

    def __post_init__(self) -> None:
        if re.fullmatch(r"[0-9a-f]{8}", self.run_id) is None:
            raise BadUsage(f"the run id must be 8 lower-case hex digits, not {self.run_id!r}")
        if self.connections < 1:
            raise BadUsage(f"a flood needs at least 1 connection, not {self.connections}")
        if self.count is not None and self.count < 0:
            raise BadUsage(f"a flood cannot send {self.count} messages")
        self._require_framing()
        if self.replay is None and self.sample is None:
            self._require_sizes()

    @property
    def transports(self) -> tuple[Transport, ...]:
        """All of them."""
        return (self.transport, *self.beside)

    def framing_of(self, transport: Transport) -> Framing:
        """How messages end there: as asked for, where it can be."""
        fitting = transport.facts.framings
        return self.framing if self.framing in fitting else fitting[0]

    @property
    def stamped_run(self) -> str:
        """What a flood is called whose numbers are times: the last three digits of the thousands of
        seconds since 1970 that they begin with."""
        return f"{(self.begins_s or 0) // RUN_S % RUN_S:03}"

    @property
    def sizes(self) -> MessageSizes:
        """The sizes of the messages, when nothing is replayed."""
        return MessageSizes(
            self.message_bytes_mean, self.min_bytes, self.max_bytes, self.distribution
        )

    def _require_framing(self) -> None:
        fitting = self.transport.facts.framings
        if all(self.framing_of(one) != self.framing for one in self.transports):
            instead = "none" if fitting == ("none",) else f"only {' or '.join(fitting)}"
            raise BadUsage(
                f"framing {self.framing} does not go with {self.transport.kind}, "
                f"which has {instead}"
            )

    def _require_sizes(self) -> None:
        least = LEAST_MESSAGE_BYTES[self.format]
        if self.message_bytes_mean < least or (self.min_bytes or least) < least:
            what = "a mean" if self.message_bytes_mean < least else "a minimum"
            size = self.message_bytes_mean if what == "a mean" else self.min_bytes
            raise BadUsage(
                f"{self.format} messages must have {what} of at least {least} bytes, "
                f"not {size}: the header and the identity need them"
            )
        if max(self.message_bytes_mean, self.max_bytes or 0) > LONGEST_MESSAGE_BYTES:
            raise BadUsage(
                f"messages may have at most {LONGEST_MESSAGE_BYTES} bytes: "
                "rsyslog cuts longer ones in two"
            )
        fault = self.sizes.fault()
        if fault is not None:
            raise BadUsage(f"message sizes: {fault}")


@dataclass(frozen=True)
class Punctuality:
    """How an open-loop flood kept its schedule.

    `offered` messages were due so far.  `late` of them went out, or still wait, more than 50 ms
    after their time; `max_late_s` is the largest lateness.  Message `first` of the flood was due
    at `start_s` (CLOCK_MONOTONIC).
    """

    offered: int
    late: int
    max_late_s: float
    first: int
    start_s: float

    @property
    def kept(self) -> bool:
        """Whether at most 1 % were late, so that percentiles up to the 99th can be trusted."""
        return self.late <= _TOLERATED_SHARE * self.offered


@dataclass(frozen=True)
class FloodProgress:
    """How far a flood has come, as its process last reported it.

    `sent` counts whole messages handed to the kernel, over RELP those that the receiver has
    acknowledged.  `cpu_seconds` is the process time spent since its connections were up;
    `blocked_seconds` the time in which no connection took anything although more might be sent.
    The other times are CLOCK_MONOTONIC, the same in all processes.
    `punctuality` is there once the flood follows a schedule.  `counts` is what each of several
    senders has sent, in the order in which they number.
    """

    sent: int
    cpu_seconds: float
    blocked_seconds: float
    first_send_s: float | None
    last_send_s: float | None
    truncated: bool
    error: str | None
    at_s: float
    punctuality: Punctuality | None = None
    counts: tuple[int, ...] = ()

    @property
    def events(self) -> SentEvents:
        """The events that were sent."""
        return SentEvents(self.counts or (self.sent,))

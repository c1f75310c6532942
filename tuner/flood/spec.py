"""What a flood is asked to send, and where to, and how far it has come: a specification, orders and
statuses, as its process gets and writes them, each a line of JSON."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter

from tuner.engine.numbering import SentEvents
from tuner.errors import BadUsage
from tuner.flood.pace import Runs, Schedule
from tuner.modules.input import TRANSPORTS, Format, Framing, TransportFacts, TransportKind
from tuner.profile.workload import LONGEST_MESSAGE_BYTES, MessageSizes

LEAST_MESSAGE_BYTES: dict[Format, int] = {
    "rfc3164": 96, "rfc5424": 120, "local": 96, "bare": 96,
}  # fmt: skip
LATE_S = 0.050
RUN_S = 1000
"""Numbers that are times begin with a multiple of it."""
_TOLERATED_SHARE = 0.01
# sun_path of unix(7), its closing zero left out.
_LONGEST_SOCKET_PATH = 107


@dataclass(frozen=True)
class Credentials:
    """What a sender trusts and shows, as paths of PEM files.

    Without `ca` the receiver's certificate is not checked; its name is compared in no case.
    """

    ca: str | None = None
    certificate: str | None = None
    key: str | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are given."""
        return tuple(path for path in (self.ca, self.certificate, self.key) if path is not None)


@dataclass(frozen=True)
class Transport:
    """How messages travel, and the places that take them: connections go to each in turn.

    A place is HOST:PORT; for `unix`, a datagram socket, and for `file` an absolute path.  `relp` is
    encrypted when it has credentials, `tls` always.  They come from the address `source`, where one
    is given.  Raises BadUsage for what does not fit.
    """

    targets: tuple[str, ...]
    kind: TransportKind = "tcp"
    credentials: Credentials | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        if not self.targets:
            raise BadUsage("a flood needs at least 1 target")
        for target in self.targets:
            _require_place(self.kind, target)
        given = self.credentials
        if given is not None and not self.facts.may_encrypt:
            raise BadUsage(f"{self.kind} is not encrypted: certificates are for tls and relp")
        if given is not None and (given.certificate is None) != (given.key is None):
            raise BadUsage("a certificate and its key go together: give both, or neither")

    @property
    def facts(self) -> TransportFacts:
        """What there is to know of its kind."""
        return TRANSPORTS[self.kind]

    def target_of(self, number: int) -> str:
        """The target of a connection; connections are numbered from 1."""
        return self.targets[(number - 1) % len(self.targets)]

    def __str__(self) -> str:
        return ", ".join(self.targets)


def loopback(port: int) -> str:
    """The target for a port of this machine."""
    return f"127.0.0.1:{port}"


def address_of(target: str) -> tuple[str, int]:
    """The host and port of a target such as 127.0.0.1:514 or [::1]:514; raises BadUsage."""
    host, _, port = target.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if bracketed:
        host = host[1:-1]
    right = port.isascii() and port.isdigit() and 1 <= int(port) <= 65535
    if not host or not right or "/" in host or (":" in host and not bracketed):
        raise BadUsage(f"{target} is not HOST:PORT such as 127.0.0.1:514")
    return host, int(port)


def _require_place(kind: TransportKind, target: str) -> None:
    if not TRANSPORTS[kind].has_path:
        address_of(target)
    elif not target.startswith("/"):
        raise BadUsage(f"{target} is not an absolute path: {kind} needs one")
    elif kind == "unix" and len(target.encode()) > _LONGEST_SOCKET_PATH:
        raise BadUsage(f"{target} is too long for a socket: at most {_LONGEST_SOCKET_PATH} bytes")


@dataclass(frozen=True)
class FloodSpec:
    """One flood of messages; `count` is a hard total, None means no end.

    With `replay`, the path of a file, the bodies are its lines, and with `sample`, the JSON of a
    TrafficSample, messages are like those of it; the sizes follow from them.  `local`
    is RFC 3164 without a host, as syslog(3) writes it; a `bare` message has no header at all, like
    a line of an application's own log.  `sender` is the place, from 0, of this flood among
    `senders` that number their messages in turn.  With `begins_s`, a second since 1970, the time in
    the head of each message is its number, in microseconds from then on; a bare message has those
    before it.  What is replayed or like a sample is cut at `longest_bytes`.  Where there are
    transports `beside` the first, each message takes always the same one, equally many each.  With
    an `order` of places of the pool, messages are sent in that, and equally many no longer.
    """

    transport: Transport
    connections: int
    sizes: MessageSizes
    seed: int
    run_id: str
    count: int | None = None
    format: Format = "rfc3164"
    framing: Framing = "lf"
    replay: str | None = None
    sample: str | None = None
    sender: int = 0
    senders: int = 1
    begins_s: int | None = None
    longest_bytes: int = LONGEST_MESSAGE_BYTES
    beside: tuple[Transport, ...] = ()
    order: tuple[int, ...] = ()

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
        """All transports."""
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

    def _require_framing(self) -> None:
        fitting = self.transport.facts.framings
        if all(self.framing_of(transport) != self.framing for transport in self.transports):
            instead = "none" if fitting == ("none",) else f"only {' or '.join(fitting)}"
            raise BadUsage(
                f"framing {self.framing} does not go with {self.transport.kind}, "
                f"which has {instead}"
            )

    def _require_sizes(self) -> None:
        least, sizes = LEAST_MESSAGE_BYTES[self.format], self.sizes
        for figure, size in (("a mean", sizes.mean), ("a minimum", sizes.least)):
            if size is not None and size < least:
                raise BadUsage(
                    f"{self.format} messages must have {figure} of at least {least} bytes, "
                    f"not {size}: the header and the identity need them"
                )
        if max(sizes.mean, sizes.most or 0) > LONGEST_MESSAGE_BYTES:
            raise BadUsage(
                f"messages may have at most {LONGEST_MESSAGE_BYTES} bytes: "
                "rsyslog cuts longer ones in two"
            )
        fault = sizes.fault()
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
    senders has sent, in the order in which they number.  `is_refused` says of an error that nothing
    took a connection.
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
    is_refused: bool = False

    @property
    def events(self) -> SentEvents:
        """The events that were sent."""
        return SentEvents(self.counts or (self.sent,))


class Orphaned(Exception):
    """The other end of the line has closed it."""


@dataclass(frozen=True)
class Order:
    """May send up to `limit` messages in total: at most `per_second`, or by a schedule, or in
    runs.  Or stop."""

    limit: int = 0
    per_second: float | None = None
    stop: bool = False
    schedule: Schedule | None = None
    runs: Runs | None = None


@dataclass(frozen=True)
class SenderStatus:
    """A progress, how many orders were obeyed by then, and whether all that may go has gone."""

    progress: FloodProgress
    obeyed: int
    idle: bool
    done: bool


def line_of(item: FloodSpec | Order | SenderStatus) -> bytes:
    """Write an item as one line of JSON."""
    return json.dumps(asdict(item)).encode() + b"\n"


spec_of = TypeAdapter(FloodSpec).validate_json
order_of = TypeAdapter(Order).validate_json
status_of = TypeAdapter(SenderStatus).validate_json


class Orders:
    """The lines that come in on a descriptor."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._begun_line = b""

    def spec(self) -> FloodSpec:
        """Wait for the first line, the specification."""
        while not (lines := self._lines()):
            pass
        return spec_of(lines[0])

    def come(self) -> list[Order]:
        """Read the orders that are there, waiting for input; raises Orphaned at its end."""
        return [order_of(line) for line in self._lines()]

    def _lines(self) -> list[bytes]:
        chunk = os.read(self.descriptor, 65536)
        if not chunk:
            raise Orphaned
        *lines, self._begun_line = (self._begun_line + chunk).split(b"\n")
        return lines


def write_all(descriptor: int, line: bytes) -> None:
    """Write a whole line; raises Orphaned when nobody reads any more."""
    try:
        while line:
            line = line[os.write(descriptor, line) :]
    except BrokenPipeError as error:
        raise Orphaned from error

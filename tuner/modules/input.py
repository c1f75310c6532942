"""What every input has in common, whatever module it is of."""

from collections.abc import Mapping, Sequence
from posixpath import dirname
from typing import Annotated, ClassVar, Literal, NamedTuple, Self

from pydantic import Field

from tuner.modules.secrets import SENDER_NAME, Certificates, certificates_in
from tuner.schema.scalars import Name, NonNegative, Peer, Port, Switch, TimeZone
from tuner.schema.section import Doc, OfProfile, RsyslogSection, Since, parameter

Parsers = Annotated[
    tuple[Literal["rsyslog.rfc5424", "rsyslog.rfc3164"], ...], Field(min_length=1, max_length=2)
]
Peers = Annotated[tuple[Peer, ...], Field(min_length=1)]
ListenAddress = Annotated[str, Field(pattern=r"^([A-Za-z0-9.:_-]{1,253}|[*])$")]
RateInterval = Annotated[
    NonNegative | None,
    Doc(
        "Seconds over which rateLimit.burst events are let through; 0 means no limit.",
        traps=("What exceeds the limit is dropped: a flood would not be delivered.",),
    ),
]
RateBurst = Annotated[
    NonNegative | None,
    Doc("How many events each rateLimit.interval lets through; the others are dropped."),
]
DefaultZone = Annotated[
    TimeZone | None, Doc("The time zone, as +01:00, of timestamps that name none.")
]
AllowedSenders = Annotated[
    Peers | None,
    Since(2608),
    Doc("The networks whose events are accepted; all when it is not set."),
]

FlowControl = Annotated[
    Switch | None,
    Doc(
        "Whether senders are slowed down when the queue passes its lightDelayMark.",
        traps=("If off, a full queue drops events instead.",),
    ),
]
DiscardTruncated = Annotated[
    Switch | None,
    Doc(
        "Whether the rest of a message that is too long is discarded instead of becoming an event "
        "of its own."
    ),
]

TransportKind = Literal["tcp", "tls", "udp", "unix", "file", "relp"]
"""How messages can be sent; `unix` is a datagram socket, for `file` lines are appended to one."""

Framing = Literal["lf", "octet-counted", "none"]
"""What marks the end of a message; `none` where the transport itself does."""

Format = Literal["rfc3164", "rfc5424", "local", "bare"]
"""How a message is written: `local` is RFC 3164 without a host, as syslog(3) writes it; a `bare`
message has no header at all, like a line of an application's own log."""


class TransportFacts(NamedTuple):
    """What there is to know of a transport: the kind of place where rsyslogd takes messages, the
    framings that it can have, the usual one first, whether it may be encrypted, and the format that
    its receivers expect."""

    place: Literal["tcp port", "udp port", "socket", "file"]
    framings: tuple[Framing, ...] = ("none",)
    may_encrypt: bool = False
    format: Format = "rfc3164"

    @property
    def has_path(self) -> bool:
        """Whether its place is an absolute path; else it is HOST:PORT."""
        return self.place in {"socket", "file"}


_STREAM: tuple[Framing, ...] = ("lf", "octet-counted")
TRANSPORTS: Mapping[TransportKind, TransportFacts] = {
    "tcp": TransportFacts("tcp port", _STREAM),
    "tls": TransportFacts("tcp port", _STREAM, may_encrypt=True),
    "relp": TransportFacts("tcp port", may_encrypt=True),
    "udp": TransportFacts("udp port"),
    "unix": TransportFacts("socket", format="local"),
    "file": TransportFacts("file", ("lf",), format="bare"),
}

LOCAL_SOURCES = frozenset({"imuxsock", "imklog", "imkmsg"})
LOSSY_INPUTS = LOCAL_SOURCES | {"imudp", "imdtls"}
"""Inputs that lose events rather than make their senders wait: datagrams and the kernel's buffer
are overwritten, and the local programs behind imuxsock may stop the whole machine."""

LOOPBACK = "127.0.0.1"
EVERY_ADDRESS = "*"
"""Listens wherever the machine has an address, of IPv4 and of IPv6."""
BURST = 10_000
"""rsyslog's burst for a rate limit without one (imtcp.c, and most others alike)."""


class RateLimit(NamedTuple):
    """What exceeds the burst within the interval is dropped; `key` is the parameter that says so.
    The burst is of bytes, or of messages."""

    interval_s: int
    burst: int
    key: str = "rateLimit.interval"
    is_of_bytes: bool = False


def rate_limit(
    interval_s: int | None, burst: int | None, own_burst: int, key: str = "rateLimit.interval"
) -> RateLimit | None:
    """The limit that an input's parameters set; without a burst the module takes its own."""
    return RateLimit(interval_s, own_burst if burst is None else burst, key) if interval_s else None


class Input(RsyslogSection):
    """A place where events come from.

    A module overrides here what differs for it; the rest holds for every input.
    """

    package: ClassVar[str] = "rsyslog"
    """Debian's package that ships the module."""
    thread_names: ClassVar[tuple[str, ...]]
    """How the names of its threads begin, as expressions."""
    own_burst: ClassVar[int] = BURST
    """The burst of a rate limit that has none."""

    parser: Annotated[Parsers | None, OfProfile()] = parameter(
        "The parser of this input's events; without it rsyslog tries RFC 5424, then RFC 3164, "
        "on every event."
    )
    stream: Annotated[Name | None, OfProfile()] = parameter(
        "The stream that its events go to; without one the profile's own outputs."
    )
    type: str

    @classmethod
    def threads_of(cls, _sources: Sequence[Self], _release: int, /) -> int:
        """How many threads of the module may hand over messages at once, for all its inputs."""
        return 1

    @property
    def fixed(self) -> Mapping[str, bool]:
        """Switches of the module that follow from the input, whatever the profile says."""
        return {}

    @property
    def has_statement(self) -> bool:
        """Whether it has an input() of its own; without one its events come to rsyslog's default
        ruleset, with those of all such inputs and rsyslogd's own messages."""
        return True

    @property
    def transport(self) -> TransportKind | None:
        """How a flood reaches it; None if no flood can."""
        return None

    @property
    def unmeasured(self) -> str | None:
        """Why measurements cannot flood it, beginning with the key at fault."""
        if self.transport is None:
            return f"type {self.type}: measurements cannot send to it"
        return None

    @property
    def flood_rank(self) -> int:
        """How well a flood can enter by it: 0 not at all, 2 where the sender can wait and messages
        have heads."""
        if self.unmeasured is not None:
            return 0
        return 2 if self.transport in {"tcp", "tls", "relp"} else 1

    @property
    def is_encrypted(self) -> bool:
        """Whether senders must speak TLS."""
        return False

    @property
    def certificates(self) -> Certificates | None:
        """The certificates of a bound input; None if it accepts unencrypted traffic."""
        return None

    @property
    def rate_limit(self) -> RateLimit | None:
        """The limit that rateLimit.interval and rateLimit.burst set, of a module that has them."""
        interval, burst = (
            getattr(self, f"rate_limit_{name}", None) for name in ("interval", "burst")
        )
        return rate_limit(interval, burst, self.own_burst)

    @property
    def rate_limits(self) -> tuple[RateLimit, ...]:
        """Every limit that events must pass."""
        return () if self.rate_limit is None else (self.rate_limit,)

    @property
    def missing_flow_control(self) -> bool | str | None:
        """The `flowControl` with which senders would wait for a full queue; None where they do, or
        cannot."""
        return None

    def in_lab(self, _port: int, _spool: str, /) -> Self:
        """The input on loopback or in the folder `spool`, where only our flood reaches it and is
        accepted."""
        return self

    def paths(self, _connections: int, /) -> tuple[str, ...]:
        """The socket or the files of a bound input that as many connections write to; none for
        what has ports."""
        return ()

    def format_for(self, written: Literal["rfc3164", "rfc5424"]) -> Format:
        """How messages of that format are written so that the input finds the text of each where
        it looks."""
        return written


class Listener(Input):
    """An input with a port."""

    address: ListenAddress = parameter(
        "The address to listen on, * for all; loopback by default, so that it is opened on "
        "purpose.",
        "0.0.0.0 stands for those of IPv4 alone.",
        value=LOOPBACK,
    )
    port: Port = parameter(
        "The port to listen on.",
        "Ports below 1024 need root or CAP_NET_BIND_SERVICE.",
        "Under SELinux rsyslogd may use few others than 514 and 6514: semanage port -a -t "
        "syslogd_port_t -p tcp PORT allows one, to listen on and to connect to.",
        value=...,
    )

    tls_attributes: ClassVar[tuple[str, ...]] = ()
    """Of one that may speak TLS: what names the authority's certificate, its own, its key, how
    senders prove who they are, and which of them are accepted."""

    @property
    def certificates(self) -> Certificates | None:
        """The certificates beside the authority's."""
        authority = getattr(self, self.tls_attributes[0]) if self.is_encrypted else None
        return None if authority is None else certificates_in(dirname(authority))

    def in_lab(self, port: int, spool: str, /) -> Self:
        """On loopback, on that port and with the lab's certificates; no fingerprint is that of the
        flood's."""
        changes: dict[str, object] = {"address": LOOPBACK, "port": port}
        if self.is_encrypted:
            authority, certificate, key, mode, peers = self.tls_attributes
            ours, written = certificates_in(f"{spool}/tls"), getattr(self, mode)
            changes |= {
                authority: ours.authority,
                certificate: ours.collector,
                key: ours.collector_key,
                mode: written and written.replace("fingerprint", "name"),
                peers: getattr(self, peers) and (SENDER_NAME,),
            }
        return self.model_copy(update=changes)

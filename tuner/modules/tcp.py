"""TCP: the keep-alive probes of modules that speak it, and what imptcp and imtcp have in common."""

from typing import Annotated, Literal

from pydantic import Field

from tuner.modules.input import (
    DefaultZone,
    DiscardTruncated,
    FlowControl,
    Listener,
    RateBurst,
    RateInterval,
)
from tuner.modules.ratelimit import NamedLimit
from tuner.schema.scalars import NonNegative, RegexLine, Switch
from tuner.schema.section import Doc, RsyslogSection, parameter

KeepAlive = Annotated[
    Switch | None,
    Doc("Whether TCP keep-alives find connections whose other end is gone.", default="off"),
]
KeepAliveTime = Annotated[
    NonNegative | None,
    Doc("Seconds of silence before the first keep-alive; 0 means the system's default."),
]
KeepAliveInterval = Annotated[
    NonNegative | None, Doc("Seconds between keep-alives; 0 means the system's default.")
]
KeepAliveProbes = Annotated[
    NonNegative | None, Doc("How many keep-alives may go unanswered; 0 means the system's default.")
]

Delimiter = Annotated[int, Field(ge=-1, le=255, strict=True)]
# The manual of imtcp and imptcp: at most 200,000,000 bytes.
FrameSize = Annotated[int, Field(ge=1, le=200_000_000, strict=True)]
OctetCounted = Annotated[
    Switch,
    Doc(
        "Whether messages may begin with their length (RFC 6587); such frames are copied as a "
        "whole, which is faster than looking for line ends."
    ),
]
MultiLine = Annotated[
    Switch | None,
    Doc(
        "Whether a line end belongs to the message unless a new message follows, which begins with "
        "a priority such as <13>.",
        default="off",
    ),
]
FramingRegex = Annotated[
    RegexLine | None,
    Doc(
        "The POSIX expression of a line that begins a message; what comes before it belongs to the "
        "message before.",
        traps=("The last message of a connection waits for the next one.",),
    ),
]
NotifyOnOpen = Annotated[Switch | None, Doc("Whether rsyslog logs each connection that opens.")]


class KeepsAlive(RsyslogSection):
    """Keep-alive probes, which find senders that are gone; times in seconds."""

    keep_alive: KeepAlive = None
    keep_alive_time: KeepAliveTime = None
    keep_alive_interval: KeepAliveInterval = None
    keep_alive_probes: KeepAliveProbes = None


class Tcp(Listener, KeepsAlive):
    """What imptcp and imtcp have in common."""

    flow_control: FlowControl = None
    max_frame_size: FrameSize | None = parameter("The longest octet-counted message, in bytes.")
    discard_truncated_msg: DiscardTruncated = None
    addtl_frame_delimiter: Delimiter | None = parameter(
        "One more character, by its number, that ends a message; -1 means none."
    )
    framing_fix_cisco_asa: Switch | None = parameter(
        "Whether a blank that Cisco ASA devices send after each line end is left out."
    )
    notify_on_connection_close: Switch | None = parameter(
        "Whether rsyslog logs each connection that closes."
    )
    rate_limit_interval: RateInterval = None
    rate_limit_burst: RateBurst = None
    rate_limit_name: NamedLimit = parameter(since=2602)
    multi_line: MultiLine = None
    framing_delimiter_regex: FramingRegex = None
    compression_mode: Literal["none", "single", "stream:always"] | None = parameter(
        "Whether and how incoming messages are compressed.",
        "It must match senders that compress their stream, or their events arrive as garbage.",
    )
    default_tz: DefaultZone = None

    @property
    def unmeasured(self) -> str | None:
        """Floods are not compressed, and know nothing of an expression that ends messages."""
        if self.compression_mode not in {None, "none"}:
            return "compression.mode: measurements do not compress what they send"
        if self.framing_delimiter_regex is not None:
            return "framing.delimiter.regex: messages of measurements may not match it"
        return super().unmeasured

    @property
    def missing_flow_control(self) -> bool | str | None:
        """Senders wait unless flowControl is off."""
        return True if self.flow_control is False else None

"""What imptcp and imtcp have in common."""

from typing import Annotated

from pydantic import Field

from tuner.modules.input import (
    BURST,
    DefaultZone,
    DiscardTruncated,
    FlowControl,
    Listener,
    RateBurst,
    RateInterval,
    RateLimit,
    rate_limit,
)
from tuner.modules.keep_alive import KeepsAlive
from tuner.schema.parameter import Doc
from tuner.schema.scalars import Switch

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
NotifyOnOpen = Annotated[Switch | None, Doc("Whether rsyslog logs each connection that opens.")]


class Tcp(Listener, KeepsAlive):
    """What imptcp and imtcp have in common."""

    flow_control: FlowControl = None
    max_frame_size: Annotated[
        FrameSize | None, Doc("The longest octet-counted message, in bytes.")
    ] = None
    discard_truncated_msg: DiscardTruncated = None
    addtl_frame_delimiter: Annotated[
        Delimiter | None,
        Doc("One more character, by its number, that ends a message; -1 means none."),
    ] = None
    framing_fix_cisco_asa: Annotated[
        Switch | None,
        Doc("Whether a blank that Cisco ASA devices send after each line end is left out."),
    ] = Field(None, alias="framingFix.cisco.asa")
    notify_on_connection_close: Annotated[
        Switch | None, Doc("Whether rsyslog logs each connection that closes.")
    ] = None
    rate_limit_interval: RateInterval = None
    rate_limit_burst: RateBurst = None
    default_tz: DefaultZone = None

    @property
    def rate_limit(self) -> RateLimit | None:
        """Where both parameters say so."""
        return rate_limit(self.rate_limit_interval, self.rate_limit_burst, BURST)

    @property
    def missing_flow_control(self) -> bool | str | None:
        """Senders wait unless flowControl is off."""
        return True if self.flow_control is False else None

"""imuxsock: datagrams through a Unix socket.

None means not set in the profile: rsyslog's default applies.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from tuner.modules.in_profile import InProfile
from tuner.modules.input import (
    FlowControl,
    Format,
    Input,
    RateBurst,
    RateInterval,
    RateLimit,
    TransportKind,
    rate_limit,
)
from tuner.modules.ratelimit import NamedLimit
from tuner.rule import Complaint, warning
from tuner.schema.parameter import Doc, OfModule, Since
from tuner.schema.scalars import AbsolutePath, NonNegative, Switch, WordPath

# Its default burst for a rate limit without one (imuxsock.c).
_BURST = 200


class ImuxsockInput(Input):
    """imuxsock: datagrams through a Unix socket of its own; without `socket` the system's log
    socket, whose events come to rsyslog's default ruleset, with those of other local sources."""

    type: Annotated[Literal["imuxsock"], Doc("Datagrams through a Unix socket.")]
    socket: Annotated[
        AbsolutePath | None,
        Doc("The path of the Unix socket; without it the system's log socket is taken."),
    ] = None
    sys_sock_name: Annotated[
        WordPath | None,
        OfModule(),
        Doc(
            "The path of the system's log socket.",
            default="/dev/log, or what systemd hands over",
        ),
    ] = Field(None, alias="sysSock.name")
    sys_sock_ignore_timestamp: Annotated[
        Switch | None,
        OfModule(),
        Doc("The same as ignoreTimestamp, for the system's socket.", default="on"),
    ] = Field(None, alias="sysSock.ignoreTimestamp")
    sys_sock_ignore_own_messages: Annotated[
        Switch | None,
        OfModule(),
        Doc("Whether rsyslogd's own messages on the system's socket are dropped.", default="on"),
    ] = Field(None, alias="sysSock.ignoreOwnMessages")
    sys_sock_flow_control: Annotated[
        Switch | None,
        OfModule(),
        Doc(
            "The same as flowControl, for the system's socket.",
            default="off",
            traps=("If on, a full queue makes the programs of this host wait.",),
        ),
    ] = Field(None, alias="sysSock.flowControl")
    sys_sock_use_pid_from_system: Annotated[
        Switch | None,
        OfModule(),
        Doc("The same as usePIDFromSystem, for the system's socket.", default="off"),
    ] = Field(None, alias="sysSock.usePIDFromSystem")
    sys_sock_rate_limit_interval: Annotated[
        NonNegative | None,
        OfModule(),
        Doc("The same as rateLimit.interval, for the system's socket.", default="0, no limit"),
    ] = Field(None, alias="sysSock.rateLimit.interval")
    sys_sock_rate_limit_burst: Annotated[
        NonNegative | None,
        OfModule(),
        Doc("The same as rateLimit.burst, for the system's socket.", default="200"),
    ] = Field(None, alias="sysSock.rateLimit.burst")
    sys_sock_rate_limit_name: Annotated[NamedLimit, OfModule(), Since(2604)] = Field(
        None, alias="sysSock.rateLimit.name"
    )
    sys_sock_rate_limit_severity: Annotated[
        Annotated[int, Field(ge=0, le=7, strict=True)] | None,
        OfModule(),
        Doc("The same as rateLimit.severity, for the system's socket.", default="1"),
    ] = Field(None, alias="sysSock.rateLimit.severity")
    sys_sock_use_sys_time_stamp: Annotated[
        Switch | None,
        OfModule(),
        Doc("The same as useSysTimeStamp, for the system's socket.", default="on"),
    ] = Field(None, alias="sysSock.useSysTimeStamp")
    sys_sock_annotate: Annotated[
        Switch | None,
        OfModule(),
        Doc("The same as annotate, for the system's socket.", default="off"),
    ] = Field(None, alias="sysSock.annotate")
    sys_sock_parse_trusted: Annotated[
        Switch | None,
        OfModule(),
        Doc("Whether what the kernel knows becomes JSON, where annotate is on.", default="off"),
    ] = Field(None, alias="sysSock.parseTrusted")
    sys_sock_use_special_parser: Annotated[
        Switch | None,
        OfModule(),
        Doc("The same as useSpecialParser, for the system's socket.", default="on"),
    ] = Field(None, alias="sysSock.useSpecialParser")
    sys_sock_parse_hostname: Annotated[
        Switch | None,
        OfModule(),
        Doc("The same as parseHostname, for the system's socket.", default="off"),
    ] = Field(None, alias="sysSock.parseHostname")
    sys_sock_unlink: Annotated[
        Switch | None,
        OfModule(),
        Doc("The same as unlink, for the system's socket.", default="on"),
    ] = Field(None, alias="sysSock.unlink")
    create_path: Annotated[
        Switch | None, Doc("Whether missing folders of the socket's path are created.")
    ] = None
    unlink: Annotated[Switch | None, Doc("Whether the socket is removed when rsyslog stops.")] = (
        None
    )
    flow_control: FlowControl = None
    rate_limit_interval: RateInterval = None
    rate_limit_burst: RateBurst = None
    rate_limit_name: Annotated[NamedLimit, Since(2604)] = Field(None, alias="rateLimit.name")
    rate_limit_severity: Annotated[
        Annotated[int, Field(ge=0, le=7, strict=True)] | None,
        Doc("Only events of this severity and less important ones are limited."),
    ] = Field(None, alias="rateLimit.severity")
    parse_hostname: Annotated[
        Switch | None, Doc("Whether messages on the socket carry a host name.")
    ] = None
    ignore_timestamp: Annotated[
        Switch | None, Doc("Whether the receive time replaces the time in the message.")
    ] = None
    use_sys_time_stamp: Annotated[
        Switch | None, Doc("Whether the kernel's receive time is used.")
    ] = None
    use_pid_from_system: Annotated[
        Switch | None,
        Doc("Whether the process ID comes from the kernel instead of the message."),
    ] = Field(None, alias="usePIDFromSystem")
    use_special_parser: Annotated[
        Switch | None, Doc("Whether the short parser for local messages is used.")
    ] = None
    annotate: Annotated[
        Switch | None, Doc("Whether what the kernel knows about the sender is added to the event.")
    ] = None

    thread_names: ClassVar[tuple[str, ...]] = ("in:imuxsock",)

    @model_validator(mode="after")
    def _system_or_own(self) -> Self:
        system = {name for name in self.model_fields_set if name.startswith("sys_sock_")}
        own = self.model_fields_set - system - {"type", "stream"}
        if self.socket is None and own:
            raise ValueError("without socket it is the system's: its keys begin with sysSock.")
        if self.socket is not None and system:
            raise ValueError("name socket or sysSock. keys, each in an input of its own")
        return self

    @property
    def fixed(self) -> Mapping[str, bool]:
        """The system's log socket is opened only where the profile has an input for it."""
        return {"sysSock.use": self.socket is None}

    @property
    def has_statement(self) -> bool:
        """The system's log socket belongs to the module."""
        return self.socket is not None

    @property
    def place(self) -> str:
        """Where senders find it."""
        return self.socket or self.sys_sock_name or "the system's log socket"

    @property
    def transport(self) -> TransportKind:
        """A datagram socket."""
        return "unix"

    @property
    def rate_limit(self) -> RateLimit | None:
        """Where both parameters say so."""
        if self.socket is None:
            return rate_limit(
                self.sys_sock_rate_limit_interval, self.sys_sock_rate_limit_burst, _BURST
            )
        return rate_limit(self.rate_limit_interval, self.rate_limit_burst, _BURST)

    @property
    def missing_flow_control(self) -> bool | str | None:
        """Senders do not wait unless flowControl is on."""
        return None if self.flow_control or self.socket is None else True

    def in_lab(self, _port: int, spool: str, /) -> Self:
        """A socket in the lab."""
        system = [name for name in type(self).model_fields if name.startswith("sys_sock_")]
        socket = {"socket": f"{spool}/input.sock"}
        return self.model_copy(update=dict.fromkeys(system) | socket)

    def paths(self, _connections: int, /) -> tuple[str, ...]:
        """One socket for all."""
        return () if self.socket is None else (self.socket,)

    def format_for(self, written: Literal["rfc3164", "rfc5424"]) -> Format:
        """Its own parser knows what syslog(3) writes, RFC 3164 without a host, and the others look
        for a host there only when told to."""
        own = self.use_special_parser is not False
        return "local" if own or (written == "rfc3164" and not self.parse_hostname) else written


@warning(
    "RT234",
    why="rsyslogd removes whatever is at the path before it opens its socket. Where systemd runs, "
    "/dev/log is a link to journald's socket: what local programs log no longer reaches the "
    "journal.",
    source="rsyslog plugins/imuxsock, openLogSocket; seen on 8.2302",
    bad={"inputs": [{"type": "imuxsock", "socket": "/dev/log", "flowControl": True}]},
    good={"inputs[0].socket": "/run/systemd/journal/syslog"},
)
def _takes_the_log_socket(asked: InProfile[ImuxsockInput]) -> Iterator[Complaint]:
    if asked.section.socket == "/dev/log":
        yield Complaint(
            ("socket",),
            "rsyslogd replaces /dev/log, and with systemd journald then gets no logs of this "
            "host: use /run/systemd/journal/syslog, to which journald forwards "
            "(ForwardToSyslog=yes in journald.conf)",
        )

"""imuxsock: datagrams through a Unix socket.

None means not set in the profile: rsyslog's default applies.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from tuner.modules.in_profile import InProfile
from tuner.modules.input import (
    Format,
    Input,
    RateBurst,
    RateInterval,
    RateLimit,
    TransportKind,
    rate_limit,
)
from tuner.rule import Complaint, warning
from tuner.schema.parameter import Doc, OfModule
from tuner.schema.scalars import AbsolutePath, NonNegative, Switch

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
        AbsolutePath | None,
        OfModule(),
        Doc(
            "The path of the system's log socket.",
            default="/dev/log, or what systemd hands over",
        ),
    ] = Field(None, alias="sysSock.name")
    sys_sock_annotate: Annotated[
        Switch | None,
        OfModule(),
        Doc("Whether what the kernel knows about senders on the system's socket is added."),
    ] = Field(None, alias="sysSock.annotate")
    sys_sock_parse_trusted: Annotated[
        Switch | None,
        OfModule(),
        Doc("Whether what is added becomes JSON, such as $!uid, instead of text."),
    ] = Field(None, alias="sysSock.parseTrusted")
    sys_sock_use_pid: Annotated[
        Switch | None,
        OfModule(),
        Doc("Whether the process ID comes from the kernel on the system's socket."),
    ] = Field(None, alias="sysSock.usePIDFromSystem")
    sys_sock_rate_limit_interval: Annotated[
        NonNegative | None,
        OfModule(),
        Doc("Seconds over which the system's socket lets sysSock.rateLimit.burst events through."),
    ] = Field(None, alias="sysSock.rateLimit.interval")
    sys_sock_rate_limit_burst: Annotated[
        NonNegative | None,
        OfModule(),
        Doc("How many events of one process each interval lets through; others are dropped."),
    ] = Field(None, alias="sysSock.rateLimit.burst")
    create_path: Annotated[
        Switch | None, Doc("Whether missing folders of the socket's path are created.")
    ] = None
    unlink: Annotated[Switch | None, Doc("Whether the socket is removed when rsyslog stops.")] = (
        None
    )
    flow_control: Annotated[
        Switch | None,
        Doc(
            "Whether senders are slowed down when the queue passes its lightDelayMark.",
            traps=("If off, a full queue drops events instead.",),
        ),
    ] = None
    rate_limit_interval: RateInterval = None
    rate_limit_burst: RateBurst = None
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
        of_system = {name for name in type(self).model_fields if name.startswith("sys_sock_")}
        own = self.model_fields_set - {"type", "stream", *of_system}
        if self.socket is None and own:
            raise ValueError("without socket it is the system's, which has sysSock keys alone")
        if self.socket is not None and self.model_fields_set & of_system:
            raise ValueError("name socket or sysSock keys, each in an input of its own")
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
        return rate_limit(self.rate_limit_interval, self.rate_limit_burst, _BURST)

    @property
    def missing_flow_control(self) -> bool | str | None:
        """Senders do not wait unless flowControl is on."""
        return None if self.flow_control or self.socket is None else True

    def in_lab(self, _port: int, spool: str, /) -> Self:
        """A socket in the lab."""
        of_system = (name for name in type(self).model_fields if name.startswith("sys_sock_"))
        own = dict.fromkeys(of_system)
        return self.model_copy(update={**own, "socket": f"{spool}/input.sock"})

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

"""imuxsock: datagrams through a Unix socket.

None means not set in the profile: rsyslog's default applies.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

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
from tuner.schema.scalars import AbsolutePath, NonNegative, Switch, WordPath
from tuner.schema.section import parameter

# Its default burst for a rate limit without one (imuxsock.c).
_BURST = 200
_Severity = Annotated[int, Field(ge=0, le=7, strict=True)]


def _of_system(key: str, default: str, *traps: str) -> Any:
    """The parameter of the system's log socket that means the same as `key` of another."""
    does = f"The same as {key}, for the system's socket."
    return parameter(does, *traps, default=default, of_module=True)


class ImuxsockInput(Input):
    """imuxsock: datagrams through a Unix socket of its own; without `socket` the system's log
    socket, whose events come to rsyslog's default ruleset, with those of other local sources."""

    type: Literal["imuxsock"] = parameter("Datagrams through a Unix socket.", value=...)
    socket: AbsolutePath | None = parameter(
        "The path of the Unix socket; without it the system's log socket is taken."
    )
    sys_sock_name: WordPath | None = parameter(
        "The path of the system's log socket.",
        default="/dev/log, or what systemd hands over",
        of_module=True,
    )
    sys_sock_ignore_timestamp: Switch | None = _of_system("ignoreTimestamp", "on")
    sys_sock_ignore_own_messages: Switch | None = parameter(
        "Whether rsyslogd's own messages on the system's socket are dropped.",
        default="on",
        of_module=True,
    )
    sys_sock_flow_control: Switch | None = _of_system(
        "flowControl", "off", "If on, a full queue makes the programs of this host wait."
    )
    sys_sock_use_pid_from_system: Switch | None = _of_system("usePIDFromSystem", "off")
    sys_sock_rate_limit_interval: NonNegative | None = _of_system(
        "rateLimit.interval", "0, no limit"
    )
    sys_sock_rate_limit_burst: NonNegative | None = _of_system("rateLimit.burst", str(_BURST))
    sys_sock_rate_limit_name: NamedLimit = parameter(since=2604, of_module=True)
    sys_sock_rate_limit_severity: _Severity | None = _of_system("rateLimit.severity", "1")
    sys_sock_use_sys_time_stamp: Switch | None = _of_system("useSysTimeStamp", "on")
    sys_sock_annotate: Switch | None = _of_system("annotate", "off")
    sys_sock_parse_trusted: Switch | None = parameter(
        "Whether what the kernel knows becomes JSON, where annotate is on.",
        default="off",
        of_module=True,
    )
    sys_sock_use_special_parser: Switch | None = _of_system("useSpecialParser", "on")
    sys_sock_parse_hostname: Switch | None = _of_system("parseHostname", "off")
    sys_sock_unlink: Switch | None = _of_system("unlink", "on")
    create_path: Switch | None = parameter(
        "Whether missing folders of the socket's path are created."
    )
    unlink: Switch | None = parameter("Whether the socket is removed when rsyslog stops.")
    flow_control: FlowControl = None
    rate_limit_interval: RateInterval = None
    rate_limit_burst: RateBurst = None
    rate_limit_name: NamedLimit = parameter(since=2604)
    rate_limit_severity: _Severity | None = parameter(
        "Only events of this severity and less important ones are limited."
    )
    parse_hostname: Switch | None = parameter("Whether messages on the socket carry a host name.")
    ignore_timestamp: Switch | None = parameter(
        "Whether the receive time replaces the time in the message."
    )
    use_sys_time_stamp: Switch | None = parameter("Whether the kernel's receive time is used.")
    use_pid_from_system: Switch | None = parameter(
        "Whether the process ID comes from the kernel instead of the message."
    )
    use_special_parser: Switch | None = parameter(
        "Whether the short parser for local messages is used."
    )
    annotate: Switch | None = parameter(
        "Whether what the kernel knows about the sender is added to the event."
    )

    thread_names: ClassVar[tuple[str, ...]] = ("in:imuxsock",)
    transport: ClassVar[TransportKind] = "unix"
    own_burst: ClassVar[int] = _BURST

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
    def rate_limit(self) -> RateLimit | None:
        """That of the system's socket has parameters of its own."""
        if self.socket is not None:
            return super().rate_limit
        interval, burst = self.sys_sock_rate_limit_interval, self.sys_sock_rate_limit_burst
        return rate_limit(interval, burst, _BURST, "sysSock.rateLimit.interval")

    @property
    def missing_flow_control(self) -> bool | str | None:
        """Senders do not wait unless flowControl is on."""
        return None if self.flow_control or self.socket is None else True

    def in_lab(self, port: int, spool: str, /) -> Self:
        """A socket in the lab, called by that number."""
        system = [name for name in type(self).model_fields if name.startswith("sys_sock_")]
        socket = {"socket": f"{spool}/{port}.sock"}
        return self.model_copy(update=dict.fromkeys(system) | socket)

    def paths(self, _connections: int, /) -> tuple[str, ...]:
        """One socket for all."""
        return () if self.socket is None else (self.socket,)

    def format_for(self, written: Literal["rfc3164", "rfc5424"]) -> Format:
        """Its own parser knows what syslog(3) writes, RFC 3164 without a host, and the others look
        for a host there only when told to."""
        own = self.use_special_parser is not False
        return "local" if own or (written == "rfc3164" and not self.parse_hostname) else written

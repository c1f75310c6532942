"""omfwd: another syslog server.

None means not set in the profile: rsyslog's default applies.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from tuner.modules.input import Peers
from tuner.modules.output import COMES_BACK, BuiltinTemplate, Level, Lines
from tuner.modules.ratelimit import NamedLimit
from tuner.modules.secrets import (
    ExpiredCerts,
    Priorities,
    StreamDriverCaFile,
    StreamDriverCrlFile,
    VerifyDepth,
)
from tuner.modules.tcp import KeepAlive, KeepAliveInterval, KeepAliveProbes, KeepAliveTime
from tuner.schema.scalars import (
    AbsolutePath,
    Address,
    Device,
    MemorySize,
    NonNegative,
    Port,
    Positive,
    Switch,
)
from tuner.schema.section import parameter

Character = Annotated[int, Field(ge=0, le=255, strict=True)]


class _Tls(Lines):
    """TLS; certificates and keys are paths on the host that runs rsyslog."""

    stream_driver: Literal["ptcp", "gtls", "ossl"] | None = parameter(
        "The TLS library: gtls or ossl; ptcp is plain TCP.",
        "Needs the package rsyslog-gnutls or rsyslog-openssl.",
        default="ptcp",
    )
    stream_driver_mode: Literal[0, 1] | None = parameter(
        "0 is plain TCP, 1 is TLS.", default="0", alias="streamDriverMode"
    )
    stream_driver_auth_mode: (
        Literal["anon", "x509/name", "x509/certvalid", "x509/fingerprint"] | None
    ) = parameter(
        "How the receiver proves who it is: anon, x509/certvalid, x509/name or x509/fingerprint.",
        "anon sends to whoever answers.",
        default="anon",
        alias="streamDriverAuthMode",
    )
    stream_driver_permitted_peers: Peers | None = parameter(
        "The names or fingerprints of the receivers that are accepted.",
        alias="streamDriverPermittedPeers",
    )
    stream_driver_ca_file: StreamDriverCaFile = None
    stream_driver_cert_file: AbsolutePath | None = parameter(
        "This sender's certificate, a path on rsyslog's host.", since=2108
    )
    stream_driver_key_file: AbsolutePath | None = parameter(
        "The path of this sender's private key; the key itself never enters a profile.", since=2108
    )
    stream_driver_crl_file: StreamDriverCrlFile = None
    stream_driver_remote_sni: Address | None = parameter(
        "The name that is asked for when TLS begins, for receivers with several certificates.",
        since=2602,
        default="none",
    )
    stream_driver_permit_expired_certs: ExpiredCerts = None
    stream_driver_tls_verify_depth: VerifyDepth = None
    gnutls_priority_string: Priorities = None

    @property
    def is_encrypted(self) -> bool:
        """Whether receivers must speak TLS."""
        return self.stream_driver_mode == 1


class OmfwdOutput(_Tls):
    """omfwd: another syslog server, over TCP or UDP; several targets take turns.  Of several
    addresses of a name, UDP takes the first unless `udp.sendToAll` says otherwise."""

    type: Literal["omfwd"] = parameter("Another syslog server, over TCP or UDP.", value=...)
    target: Address | Annotated[tuple[Address, ...], Field(min_length=1)] | None = parameter(
        "The receiver, a name or an address; since 8.2408 a list, whose receivers take turns.",
        COMES_BACK,
    )
    port: Port | None = parameter("The receiver's port.")
    target_srv: Address | None = parameter(
        "The domain whose SRV records in DNS name the receivers and their ports, in place of "
        "target and port.",
        "rsyslogd looks them up only when it starts, and refuses the configuration if "
        "there are none; a change in DNS needs a restart.",
        since=2602,
    )
    protocol: Literal["tcp", "udp"] = parameter(
        "tcp or udp.",
        "UDP loses what the network or the receiver drops, and TCP what is in flight "
        "when the connection breaks: only omrelp is acknowledged.",
        value="tcp",
    )
    address: Address | None = parameter("The address of this host that datagrams are sent from.")
    device: Device | None = parameter("The network device that events are sent through.")
    tcp_framing: Literal["traditional", "octet-counted"] | None = parameter(
        "traditional ends each event with TCP_FrameDelimiter; octet-counted writes "
        "its length first (RFC 6587).",
        "traditional makes several events of one with line ends in it.",
        default="traditional",
        alias="TCP_Framing",
    )
    tcp_frame_delimiter: Character | None = parameter(
        "The character, by its number, that ends an event.",
        default="10, a line feed",
        alias="TCP_FrameDelimiter",
    )
    keep_alive: KeepAlive = None
    keep_alive_time: KeepAliveTime = None
    keep_alive_interval: KeepAliveInterval = None
    keep_alive_probes: KeepAliveProbes = None
    tcp_user_timeout: NonNegative | None = parameter(
        "Milliseconds that sent data may stay unacknowledged before the connection counts as "
        "broken.",
        since=2608,
        alias="TCP_User_Timeout",
    )
    rebind_interval: NonNegative | None = parameter(
        "After this many transmissions the connection is opened again, for load "
        "balancers; 0 means never.",
        "Small values leave many closed connections behind.",
        default="0",
    )
    resend_last_msg_on_reconnect: Switch | None = parameter(
        "Whether the last event before a broken connection is sent once more.",
        "It may arrive twice, and all others in flight are still lost.",
        default="off",
        alias="resendLastMSGOnReconnect",
    )
    extended_connection_check: Switch | None = parameter(
        "Whether the connection is checked before each batch.", since=2408, default="on"
    )
    pool_resume_interval: Positive | None = parameter(
        "Seconds after which a target that was down is tried again.", since=2408, default="30"
    )
    con_err_skip: NonNegative | None = parameter(
        "Only every n-th failed connection is logged; 0 logs each.", default="0"
    )
    compression_mode: Literal["none", "single", "stream:always"] | None = parameter(
        "none; single compresses each event; stream:always compresses the connection.",
        "The receiver must be rsyslog, with compression.mode stream:always on its input.",
        default="none",
    )
    compression_stream_flush_on_tx_end: Switch | None = parameter(
        "Whether the stream is flushed at the end of each batch.",
        "Off compresses better, but events wait until a buffer is full.",
        default="on",
    )
    compression_driver: Literal["zlib", "zstd"] | None = parameter(
        "What compresses the stream.",
        "zstd needs rsyslog's module lmzstdw, which not every distribution has.",
        since=2606,
        default="zlib",
    )
    zip_level: Level | None = parameter("The level of compression.mode.", default="9")
    rate_limit_interval: NonNegative | None = parameter(
        "Seconds over which rateLimit.burst events are let through; 0 means no limit.",
        "What exceeds the limit is dropped.",
        default="0",
    )
    rate_limit_burst: NonNegative | None = parameter(
        "How many events each rateLimit.interval lets through; the others are dropped.",
        default="200",
    )
    rate_limit_name: NamedLimit = parameter(since=2604)
    udp_send_to_all: Switch | None = parameter(
        "Whether events go to every address of the target's name.", default="off"
    )
    udp_send_delay: NonNegative | None = parameter(
        "Microseconds to wait after each datagram.", default="0"
    )
    udp_send_buf: MemorySize | None = parameter(
        "The socket's send buffer; 0 keeps the system's default.", default="0"
    )

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        named = self.target is not None and self.port is not None
        if named if self.target_srv is not None else not named:
            raise ValueError("name target and port, or targetSrv")
        return self

    @property
    def targets(self) -> tuple[str, ...]:
        """Where events go, whether one target is written or several; none where DNS says it."""
        return (self.target,) if isinstance(self.target, str) else self.target or ()

    built_in: ClassVar[bool] = True
    rsyslogs_format: ClassVar[BuiltinTemplate | None] = "RSYSLOG_TraditionalForwardFormat"

    def spelled(self) -> Mapping[str, str | int | tuple[str, ...]]:
        """omfwd.c, newActInst, splits the peers, which are one string, at commas."""
        several = {} if isinstance(self.target, str | None) else {"target": self.target}
        peers = self.stream_driver_permitted_peers
        return several | ({} if peers is None else {"streamDriverPermittedPeers": ",".join(peers)})

"""omfwd: another syslog server.

None means not set in the profile: rsyslog's default applies.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from tuner.modules.in_profile import InProfile
from tuner.modules.keep_alive import KeepAlive, KeepAliveInterval, KeepAliveProbes, KeepAliveTime
from tuner.modules.output import COMES_BACK, EXAMPLE_QUEUE, Level, Lines, Peers
from tuner.modules.ratelimit import NamedLimit
from tuner.modules.tls import (
    ExpiredCerts,
    Priorities,
    StreamDriverCaFile,
    StreamDriverCrlFile,
    VerifyDepth,
)
from tuner.rule import Changes, Complaint, loss
from tuner.schema.parameter import Doc, Since
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

Character = Annotated[int, Field(ge=0, le=255, strict=True)]


class _Tls(Lines):
    """TLS; certificates and keys are paths on the host that runs rsyslog."""

    stream_driver: Annotated[
        Literal["ptcp", "gtls", "ossl"] | None,
        Doc(
            "The TLS library: gtls or ossl; ptcp is plain TCP.",
            default="ptcp",
            traps=("Needs the package rsyslog-gnutls or rsyslog-openssl.",),
        ),
    ] = None
    stream_driver_mode: Annotated[
        Literal[0, 1] | None, Doc("0 is plain TCP, 1 is TLS.", default="0")
    ] = None
    stream_driver_auth_mode: Annotated[
        Literal["anon", "x509/name", "x509/certvalid", "x509/fingerprint"] | None,
        Doc(
            "How the receiver proves who it is: anon, x509/certvalid, x509/name or "
            "x509/fingerprint.",
            default="anon",
            traps=("anon sends to whoever answers.",),
        ),
    ] = None
    stream_driver_permitted_peers: Annotated[
        Peers | None, Doc("The names or fingerprints of the receivers that are accepted.")
    ] = None
    stream_driver_ca_file: StreamDriverCaFile = None
    stream_driver_cert_file: Annotated[
        AbsolutePath | None,
        Since(2108),
        Doc("This sender's certificate, a path on rsyslog's host."),
    ] = Field(None, alias="streamDriver.certFile")
    stream_driver_key_file: Annotated[
        AbsolutePath | None,
        Since(2108),
        Doc("The path of this sender's private key; the key itself never enters a profile."),
    ] = Field(None, alias="streamDriver.keyFile")
    stream_driver_crl_file: StreamDriverCrlFile = None
    stream_driver_remote_sni: Annotated[
        Address | None,
        Since(2602),
        Doc(
            "The name that is asked for when TLS begins, for receivers with several certificates.",
            default="none",
        ),
    ] = Field(None, alias="streamDriver.remoteSNI")
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

    type: Annotated[Literal["omfwd"], Doc("Another syslog server, over TCP or UDP.")]
    target: Annotated[
        Address | Annotated[tuple[Address, ...], Field(min_length=1)] | None,
        Doc(
            "The receiver, a name or an address; since 8.2408 a list, whose receivers take turns.",
            traps=(COMES_BACK,),
        ),
    ] = None
    port: Annotated[Port | None, Doc("The receiver's port.")] = None
    target_srv: Annotated[
        Address | None,
        Since(2602),
        Doc(
            "The domain whose SRV records in DNS name the receivers and their ports, in place of "
            "target and port.",
            traps=(
                "rsyslogd looks them up only when it starts, and refuses the configuration if "
                "there are none; a change in DNS needs a restart.",
            ),
        ),
    ] = None
    protocol: Annotated[
        Literal["tcp", "udp"],
        Doc(
            "tcp or udp.",
            traps=(
                (
                    "UDP loses what the network or the receiver drops, and TCP what is in flight "
                    "when the connection breaks: only omrelp is acknowledged."
                ),
            ),
        ),
    ] = "tcp"
    address: Annotated[
        Address | None, Doc("The address of this host that datagrams are sent from.")
    ] = None
    device: Annotated[Device | None, Doc("The network device that events are sent through.")] = None
    tcp_framing: Annotated[
        Literal["traditional", "octet-counted"] | None,
        Doc(
            "traditional ends each event with TCP_FrameDelimiter; octet-counted writes "
            "its length first (RFC 6587).",
            default="traditional",
            traps=("traditional makes several events of one with line ends in it.",),
        ),
    ] = Field(None, alias="TCP_Framing")
    tcp_frame_delimiter: Annotated[
        Character | None,
        Doc("The character, by its number, that ends an event.", default="10, a line feed"),
    ] = Field(None, alias="TCP_FrameDelimiter")
    keep_alive: KeepAlive = None
    keep_alive_time: KeepAliveTime = None
    keep_alive_interval: KeepAliveInterval = None
    keep_alive_probes: KeepAliveProbes = None
    tcp_user_timeout: Annotated[
        NonNegative | None,
        Since(2608),
        Doc(
            "Milliseconds that sent data may stay unacknowledged before the connection counts as "
            "broken."
        ),
    ] = Field(None, alias="TCP_User_Timeout")
    rebind_interval: Annotated[
        NonNegative | None,
        Doc(
            "After this many transmissions the connection is opened again, for load "
            "balancers; 0 means never.",
            default="0",
            traps=("Small values leave many closed connections behind.",),
        ),
    ] = None
    resend_last_msg_on_reconnect: Annotated[
        Switch | None,
        Doc(
            "Whether the last event before a broken connection is sent once more.",
            default="off",
            traps=("It may arrive twice, and all others in flight are still lost.",),
        ),
    ] = Field(None, alias="resendLastMSGOnReconnect")
    extended_connection_check: Annotated[
        Switch | None,
        Since(2408),
        Doc("Whether the connection is checked before each batch.", default="on"),
    ] = None
    pool_resume_interval: Annotated[
        Positive | None,
        Since(2408),
        Doc("Seconds after which a target that was down is tried again.", default="30"),
    ] = Field(None, alias="pool.resumeInterval")
    con_err_skip: Annotated[
        NonNegative | None,
        Doc("Only every n-th failed connection is logged; 0 logs each.", default="0"),
    ] = None
    compression_mode: Annotated[
        Literal["none", "single", "stream:always"] | None,
        Doc(
            "none; single compresses each event; stream:always compresses the connection.",
            default="none",
            traps=(
                ("The receiver must be rsyslog, with compression.mode stream:always on its input."),
            ),
        ),
    ] = Field(None, alias="compression.mode")
    compression_stream_flush_on_tx_end: Annotated[
        Switch | None,
        Doc(
            "Whether the stream is flushed at the end of each batch.",
            default="on",
            traps=("Off compresses better, but events wait until a buffer is full.",),
        ),
    ] = Field(None, alias="compression.stream.flushOnTXEnd")
    compression_driver: Annotated[
        Literal["zlib", "zstd"] | None,
        Since(2606),
        Doc(
            "What compresses the stream.",
            default="zlib",
            traps=("zstd needs rsyslog's module lmzstdw, which not every distribution has.",),
        ),
    ] = Field(None, alias="compression.driver")
    zip_level: Annotated[Level | None, Doc("The level of compression.mode.", default="9")] = None
    rate_limit_interval: Annotated[
        NonNegative | None,
        Doc(
            "Seconds over which rateLimit.burst events are let through; 0 means no limit.",
            default="0",
            traps=("What exceeds the limit is dropped.",),
        ),
    ] = Field(None, alias="rateLimit.interval")
    rate_limit_burst: Annotated[
        NonNegative | None,
        Doc(
            "How many events each rateLimit.interval lets through; the others are dropped.",
            default="200",
        ),
    ] = Field(None, alias="rateLimit.burst")
    rate_limit_name: Annotated[NamedLimit, Since(2604)] = Field(None, alias="rateLimit.name")
    udp_send_to_all: Annotated[
        Switch | None,
        Doc("Whether events go to every address of the target's name.", default="off"),
    ] = Field(None, alias="udp.sendToAll")
    udp_send_delay: Annotated[
        NonNegative | None, Doc("Microseconds to wait after each datagram.", default="0")
    ] = Field(None, alias="udp.sendDelay")
    udp_send_buf: Annotated[
        MemorySize | None,
        Doc("The socket's send buffer; 0 keeps the system's default.", default="0"),
    ] = Field(None, alias="udp.sendBuf")

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

    def spelled(self) -> Mapping[str, str | int | tuple[str, ...]]:
        """omfwd.c, newActInst, splits the peers, which are one string, at commas."""
        several = {} if isinstance(self.target, str | None) else {"target": self.target}
        peers = self.stream_driver_permitted_peers
        return several | ({} if peers is None else {"streamDriverPermittedPeers": ",".join(peers)})


# For examples: TCP to somewhere else.
FWD: Changes = {
    "name": "up",
    "type": "omfwd",
    "target": "up.example.org",
    "port": 514,
    "queue": EXAMPLE_QUEUE,
}


@loss(
    "RT270",
    why="A TCP sender learns that the connection broke, but not what arrived before; over UDP it "
    "learns nothing. RELP acknowledges every event.",
    source="rsyslog's manual, whitepapers/reliable_logging; RFC 5426",
    bad={"outputs": [FWD]},
    good={"guardrails.tier": "relaxed"},
    at="outputs[up].protocol",
)
def _unacknowledged(asked: InProfile[OmfwdOutput]) -> Iterator[Complaint]:
    """Seen on 8.2302: a receiver that hung for half a second and died took 5,000 events of TCP with
    it, with resendLastMSGOnReconnect too; over RELP, none."""
    output = asked.section
    if not asked.durable:
        return
    lost = "when the connection breaks, what is in flight is lost without a trace"
    if output.protocol == "udp":
        lost = "what the network or the receiver drops is lost without a trace"
    yield Complaint(
        ("protocol",),
        f"events over {output.protocol.upper()} are not acknowledged: {lost}, which the durable "
        "tier forbids; use omrelp where the receiver speaks it, or guardrails.tier relaxed",
    )


@loss(
    "RT271",
    why="A rate limit drops what exceeds it; rsyslog logs this only once.",
    source="rsyslog runtime/ratelimit.c",
    bad={"guardrails.tier": "relaxed", "outputs": [{**FWD, "rateLimit.interval": 5}]},
    good={"outputs[up].rateLimit.interval": 0},
)
def _limited(asked: InProfile[OmfwdOutput]) -> Iterator[Complaint]:
    output = asked.section
    if output.rate_limit_interval:
        yield Complaint(
            ("rateLimit.interval",),
            f"what exceeds {output.rate_limit_burst or 200} events in "
            f"{output.rate_limit_interval} s is dropped: remove it, or raise rateLimit.burst",
        )

"""Where events come from; each input is spelled as rsyslog's module spells it.

None means: not written in the profile, and left to rsyslog.
"""

from typing import Annotated, Literal

from pydantic import Field

from tuner.schema.kinds import OneOf
from tuner.schema.parameter import OfModule, Since
from tuner.schema.posix_regex import RegexLine
from tuner.schema.scalars import (
    AbsolutePath,
    Address,
    Device,
    Facility,
    Line,
    MemorySize,
    NonNegative,
    Peer,
    Port,
    Positive,
    SeverityName,
    Switch,
    Tag,
    TimeZone,
)
from tuner.schema.section import RsyslogSection

Parsers = Annotated[
    tuple[Literal["rsyslog.rfc5424", "rsyslog.rfc3164"], ...],
    Field(min_length=1, max_length=2),
]
Peers = Annotated[tuple[Peer, ...], Field(min_length=1)]
Delimiter = Annotated[int, Field(ge=-1, le=255, strict=True)]
# imudp takes no more than 32.
Threads = Annotated[int, Field(ge=1, le=32, strict=True)]
# The manual of imtcp and imptcp: at most 200,000,000 bytes.
FrameSize = Annotated[int, Field(ge=1, le=200_000_000, strict=True)]
VerifyDepth = Annotated[int, Field(ge=2, strict=True)]
_RATE_INTERVAL = Field(None, alias="rateLimit.interval")
_RATE_BURST = Field(None, alias="rateLimit.burst")


class _Source(RsyslogSection):
    """Every input: `parser` pins the parsers of its messages, tried in that order."""

    parser: Parsers | None = None


class _Connections(RsyslogSection):
    """Keep-alive probes, which find senders that are gone; times in seconds."""

    keep_alive: Switch | None = None
    keep_alive_time: NonNegative | None = Field(None, alias="keepAlive.time")
    keep_alive_interval: NonNegative | None = Field(None, alias="keepAlive.interval")
    keep_alive_probes: NonNegative | None = Field(None, alias="keepAlive.probes")


class _Tcp(_Connections):
    """What imptcp and imtcp have in common."""

    flow_control: Switch | None = None
    max_frame_size: FrameSize | None = None
    discard_truncated_msg: Switch | None = None
    addtl_frame_delimiter: Delimiter | None = None
    framing_fix_cisco_asa: Switch | None = Field(None, alias="framingFix.cisco.asa")
    notify_on_connection_close: Switch | None = None
    rate_limit_interval: NonNegative | None = _RATE_INTERVAL
    rate_limit_burst: NonNegative | None = _RATE_BURST
    default_tz: TimeZone | None = Field(None, alias="defaultTZ")


class ImptcpInput(_Source, _Tcp):
    """imptcp: plain TCP, a poller and helper threads."""

    type: Literal["imptcp"]
    address: Address = "127.0.0.1"
    port: Port
    threads: Annotated[Positive, OfModule()] = 2
    process_on_poller: Annotated[Switch, OfModule()] = True
    socket_backlog: Positive = 64
    support_octet_counted_framing: Switch = True
    max_sessions: Positive | None = None
    notify_on_connection_open: Switch | None = None
    compression_mode: Literal["none", "single", "stream:always"] | None = Field(
        None, alias="compression.mode"
    )


class ImtcpInput(_Source, _Tcp):
    """imtcp: TCP with a static pool of four workers before rsyslog 8.2504; TLS when
    `streamDriver.mode` is 1.  Certificates and keys are paths on the host that runs rsyslog.

    Before 8.2106 most parameters were the module's, not the input's.
    """

    type: Literal["imtcp"]
    address: Address = "127.0.0.1"
    port: Port
    keep_alive: Annotated[Switch | None, Since(2106)] = None
    keep_alive_time: Annotated[NonNegative | None, Since(2106)] = Field(
        None, alias="keepAlive.time"
    )
    keep_alive_interval: Annotated[NonNegative | None, Since(2106)] = Field(
        None, alias="keepAlive.interval"
    )
    keep_alive_probes: Annotated[NonNegative | None, Since(2106)] = Field(
        None, alias="keepAlive.probes"
    )
    flow_control: Annotated[Switch | None, Since(2106)] = None
    max_frame_size: Annotated[FrameSize | None, Since(2106)] = None
    discard_truncated_msg: Annotated[Switch | None, Since(2106)] = None
    addtl_frame_delimiter: Annotated[Delimiter | None, Since(2106)] = None
    notify_on_connection_close: Annotated[Switch | None, Since(2106)] = None
    max_sessions: Annotated[Positive | None, Since(2106)] = None
    support_octet_counted_framing: Switch = True
    disable_lf_delimiter: Annotated[Switch | None, Since(2106)] = Field(
        None, alias="disableLFDelimiter"
    )
    notify_on_connection_open: Annotated[Switch | None, Since(2210)] = None
    socket_backlog: Annotated[Positive | None, Since(2502)] = None
    worker_threads: Annotated[Positive | None, Since(2504)] = None
    starvation_protection_max_reads: Annotated[NonNegative | None, Since(2504)] = Field(
        None, alias="starvationProtection.maxReads"
    )
    allowed_sender: Annotated[Peers | None, Since(2608)] = None
    stream_driver_name: Annotated[Literal["ptcp", "gtls", "ossl"] | None, Since(2106)] = Field(
        None, alias="streamDriver.name"
    )
    stream_driver_mode: Annotated[Literal[0, 1] | None, Since(2106)] = Field(
        None, alias="streamDriver.mode"
    )
    stream_driver_auth_mode: Annotated[
        Literal["anon", "x509/name", "x509/certvalid", "x509/fingerprint"] | None, Since(2106)
    ] = Field(None, alias="streamDriver.authMode")
    permitted_peer: Annotated[Peers | None, Since(2112)] = None
    stream_driver_ca_file: Annotated[AbsolutePath | None, Since(2108)] = Field(
        None, alias="streamDriver.caFile"
    )
    stream_driver_cert_file: Annotated[AbsolutePath | None, Since(2108)] = Field(
        None, alias="streamDriver.certFile"
    )
    stream_driver_key_file: Annotated[AbsolutePath | None, Since(2108)] = Field(
        None, alias="streamDriver.keyFile"
    )
    stream_driver_crl_file: Annotated[AbsolutePath | None, Since(2408)] = Field(
        None, alias="streamDriver.crlFile"
    )
    stream_driver_permit_expired_certs: Annotated[
        Literal["on", "off", "warn"] | None, Since(2106)
    ] = Field(None, alias="streamDriver.permitExpiredCerts")
    stream_driver_tls_verify_depth: Annotated[VerifyDepth | None, Since(2106)] = Field(
        None, alias="streamDriver.tlsVerifyDepth"
    )
    stream_driver_check_extended_key_purpose: Annotated[Switch | None, Since(2106)] = Field(
        None, alias="streamDriver.checkExtendedKeyPurpose"
    )
    stream_driver_prioritize_san: Annotated[Switch | None, Since(2106)] = Field(
        None, alias="streamDriver.prioritizeSAN"
    )
    stream_driver_tls_revocation_check: Annotated[Switch | None, Since(2602)] = Field(
        None, alias="streamDriver.tlsRevocationCheck"
    )
    gnutls_priority_string: Annotated[Line | None, Since(2106)] = None

    @property
    def is_encrypted(self) -> bool:
        """Whether senders must speak TLS."""
        return self.stream_driver_mode == 1


class ImudpInput(_Source):
    """imudp: datagrams, which nothing can slow down; threads read the same sockets."""

    type: Literal["imudp"]
    address: Address = "127.0.0.1"
    port: Port
    threads: Annotated[Threads | None, OfModule()] = None
    batch_size: Annotated[Positive | None, OfModule()] = None
    time_requery: Annotated[NonNegative | None, OfModule()] = None
    rcvbuf_size: MemorySize | None = None
    device: Device | None = None
    rate_limit_interval: NonNegative | None = _RATE_INTERVAL
    rate_limit_burst: NonNegative | None = _RATE_BURST
    allowed_sender: Annotated[Peers | None, Since(2608)] = None
    default_tz: TimeZone | None = Field(None, alias="defaultTZ")


class ImfileInput(_Source):
    """imfile: the lines of files; `file` may hold wildcards.  Only `needParse` has them parsed.

    rsyslog keeps its place in a file only when it stops (`persistStateInterval` 0): after a crash
    it would read everything again, so here it is kept every 1000 lines.
    """

    type: Literal["imfile"]
    file: AbsolutePath
    tag: Tag
    facility: Facility | None = None
    severity: SeverityName | None = None
    mode: Annotated[Literal["inotify", "polling"] | None, OfModule()] = None
    polling_interval: Annotated[Positive | None, OfModule()] = None
    sort_files: Annotated[Switch | None, OfModule()] = None
    inotify_fallback_interval: Annotated[NonNegative | None, OfModule(), Since(2602)] = None
    max_inotify_watches: Annotated[NonNegative | None, OfModule(), Since(2602)] = None
    persist_state_interval: NonNegative = 1000
    persist_state_after_submission: Switch | None = None
    max_lines_at_once: NonNegative | None = None
    max_submit_at_once: Positive | None = None
    max_bytes_per_minute: NonNegative | None = None
    max_lines_per_minute: NonNegative | None = None
    read_mode: Literal[0, 1, 2] | None = None
    startmsg_regex: RegexLine | None = Field(None, alias="startmsg.regex")
    endmsg_regex: RegexLine | None = Field(None, alias="endmsg.regex")
    read_timeout: NonNegative | None = None
    escape_lf: Switch | None = Field(None, alias="escapeLF")
    trim_line_over_bytes: NonNegative | None = None
    discard_truncated_msg: Switch | None = None
    reopen_on_truncate: Switch | None = None
    fresh_start_tail: Switch | None = None
    file_not_found_error: Switch | None = None
    ignore_older_than: Annotated[NonNegative | None, Since(2108)] = None
    add_metadata: Switch | None = None
    need_parse: Switch | None = None
    delete_state_on_file_delete: Switch | None = None
    delete_state_on_file_move: Annotated[Switch | None, Since(2508)] = None


class ImrelpInput(_Source, _Connections):
    """imrelp: acknowledged transfer, one thread for all; from the package rsyslog-relp."""

    type: Literal["imrelp"]
    address: Address = "127.0.0.1"
    port: Port
    max_data_size: MemorySize | None = None
    oversize_mode: Literal["truncate", "abort", "accept"] | None = None
    flow_control: Literal["light", "full", "none"] | None = None
    rate_limit_interval: Annotated[NonNegative | None, Since(2604)] = _RATE_INTERVAL
    rate_limit_burst: Annotated[NonNegative | None, Since(2604)] = _RATE_BURST
    tls_lib: Annotated[Literal["gnutls", "openssl"] | None, OfModule()] = Field(
        None, alias="tls.tlsLib"
    )
    tls: Switch | None = None
    tls_auth_mode: Literal["name", "certvalid", "fingerprint"] | None = Field(
        None, alias="tls.authMode"
    )
    tls_permitted_peer: Peers | None = Field(None, alias="tls.permittedPeer")
    tls_ca_cert: AbsolutePath | None = Field(None, alias="tls.caCert")
    tls_my_cert: AbsolutePath | None = Field(None, alias="tls.myCert")
    tls_my_priv_key: AbsolutePath | None = Field(None, alias="tls.myPrivKey")
    tls_priority_string: Line | None = Field(None, alias="tls.priorityString")


class ImuxsockInput(_Source):
    """imuxsock: datagrams through a Unix socket of its own; the system's log socket is not taken,
    because what comes from there reaches rsyslog's default ruleset only."""

    type: Literal["imuxsock"]
    socket: AbsolutePath
    create_path: Switch | None = None
    unlink: Switch | None = None
    flow_control: Switch | None = None
    rate_limit_interval: NonNegative | None = _RATE_INTERVAL
    rate_limit_burst: NonNegative | None = _RATE_BURST
    rate_limit_severity: Annotated[int, Field(ge=0, le=7, strict=True)] | None = Field(
        None, alias="rateLimit.severity"
    )
    parse_hostname: Switch | None = None
    ignore_timestamp: Switch | None = None
    use_sys_time_stamp: Switch | None = None
    use_pid_from_system: Switch | None = Field(None, alias="usePIDFromSystem")
    use_special_parser: Switch | None = None
    annotate: Switch | None = None


TcpInput = ImptcpInput | ImtcpInput
PortInput = TcpInput | ImudpInput | ImrelpInput
Input = Annotated[
    ImptcpInput | ImtcpInput | ImudpInput | ImfileInput | ImrelpInput | ImuxsockInput,
    OneOf("type"),
]

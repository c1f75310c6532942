"""Outputs that go to no engine: files, and other syslog servers.

None means: not written in the profile, and left to rsyslog.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tuner.modules.action import ActionOutput
from tuner.modules.field import DocumentField, Preset
from tuner.schema.parameter import OfModule, Since
from tuner.schema.scalars import (
    AbsolutePath,
    Account,
    Address,
    Device,
    FileMode,
    Line,
    MemorySize,
    NonNegative,
    PathPart,
    Peer,
    Port,
    Positive,
    Switch,
)
from tuner.schema.section import Section

BuiltinTemplate = Literal[
    "RSYSLOG_FileFormat",
    "RSYSLOG_TraditionalFileFormat",
    "RSYSLOG_ForwardFormat",
    "RSYSLOG_TraditionalForwardFormat",
    "RSYSLOG_SyslogProtocol23Format",
]
Peers = Annotated[tuple[Peer, ...], Field(min_length=1)]
Level = Annotated[int, Field(ge=0, le=9, strict=True)]
Character = Annotated[int, Field(ge=0, le=255, strict=True)]
DYNA_FILES = 500
"""How many files of an output with `dynaFile` are open at once when the profile does not say:
rsyslog's own 10 cost 4.1 us of processor time an event with 100 hosts, enough 2.0 (8.2302)."""


class _Lines(ActionOutput):
    """What writes one line for each event: in one of rsyslog's own formats, or as JSON."""

    template: BuiltinTemplate | None = None
    document: Preset | Annotated[tuple[DocumentField, ...], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _one_format(self) -> Self:
        if self.template is not None and self.document is not None:
            raise ValueError("name template or document, not both: each says how an event looks")
        return self


class DynaFile(Section):
    """A file for each value of a property: `before`, the value, `after`.

    The value comes from the network: slashes in it, and `.` and `..`, become underscores, and
    what is longer than a file name may be is cut.
    """

    before: AbsolutePath
    property: Literal[
        "hostname", "fromhost-ip", "programname", "app-name", "syslogfacility-text",
        "syslogseverity-text",
    ]  # fmt: skip
    after: PathPart | None = None


class OmfileOutput(_Lines):
    """omfile: a file on the host that runs rsyslog, or with `dynaFile` one for each value of a
    property.  `flushInterval` is in seconds, `closeTimeout` in minutes."""

    type: Literal["omfile"]
    file: AbsolutePath | None = None
    dyna_file: DynaFile | None = None
    dyna_file_cache_size: Positive | None = None
    close_timeout: NonNegative | None = None
    async_writing: Switch | None = None
    flush_on_tx_end: Switch | None = Field(None, alias="flushOnTXEnd")
    flush_interval: Positive | None = None
    io_buffer_size: MemorySize = "64k"
    sync: Switch | None = None
    zip_level: Level | None = None
    very_robust_zip: Switch | None = None
    compression_driver: Annotated[Literal["zlib", "zstd"] | None, OfModule(), Since(2208)] = Field(
        None, alias="compression.driver"
    )
    compression_zstd_workers: Annotated[Positive | None, OfModule(), Since(2208)] = Field(
        None, alias="compression.zstd.workers"
    )
    rotation_size_limit: Annotated[MemorySize | None, Since(2302)] = Field(
        None, alias="rotation.sizeLimit"
    )
    rotation_size_limit_command: Annotated[AbsolutePath | None, Since(2302)] = Field(
        None, alias="rotation.sizeLimitCommand"
    )
    add_lf: Annotated[Switch | None, Since(2510)] = Field(None, alias="addLF")
    create_dirs: Switch | None = None
    file_create_mode: FileMode | None = None
    dir_create_mode: FileMode | None = None
    file_owner: Account | None = None
    file_group: Account | None = None
    dir_owner: Account | None = None
    dir_group: Account | None = None
    fail_on_chown_failure: Switch | None = Field(None, alias="failOnChOwnFailure")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.file is None) == (self.dyna_file is None):
            raise ValueError("name file, or dynaFile for a file for each value of a property")
        return self


class _OmfwdTls(_Lines):
    """TLS of omfwd; certificates and keys are paths on the host that runs rsyslog."""

    stream_driver: Literal["ptcp", "gtls", "ossl"] | None = None
    stream_driver_mode: Literal[0, 1] | None = None
    stream_driver_auth_mode: (
        Literal["anon", "x509/name", "x509/certvalid", "x509/fingerprint"] | None
    ) = None
    stream_driver_permitted_peers: Peers | None = None
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
    stream_driver_permit_expired_certs: Literal["on", "off", "warn"] | None = Field(
        None, alias="streamDriver.permitExpiredCerts"
    )
    stream_driver_tls_verify_depth: Annotated[int, Field(ge=2, strict=True)] | None = Field(
        None, alias="streamDriver.tlsVerifyDepth"
    )
    gnutls_priority_string: Line | None = None

    @property
    def is_encrypted(self) -> bool:
        """Whether receivers must speak TLS."""
        return self.stream_driver_mode == 1


class OmfwdOutput(_OmfwdTls):
    """omfwd: another syslog server, over TCP or UDP; several targets take turns.  Of several
    addresses of a name, UDP takes the first unless `udp.sendToAll` says otherwise."""

    type: Literal["omfwd"]
    target: Address | Annotated[tuple[Address, ...], Field(min_length=1)]
    port: Port
    protocol: Literal["tcp", "udp"] = "tcp"
    address: Address | None = None
    device: Device | None = None
    tcp_framing: Literal["traditional", "octet-counted"] | None = Field(None, alias="TCP_Framing")
    tcp_frame_delimiter: Character | None = Field(None, alias="TCP_FrameDelimiter")
    keep_alive: Switch | None = None
    keep_alive_time: NonNegative | None = Field(None, alias="keepAlive.time")
    keep_alive_interval: NonNegative | None = Field(None, alias="keepAlive.interval")
    keep_alive_probes: NonNegative | None = Field(None, alias="keepAlive.probes")
    tcp_user_timeout: Annotated[NonNegative | None, Since(2608)] = Field(
        None, alias="TCP_User_Timeout"
    )
    rebind_interval: NonNegative | None = None
    resend_last_msg_on_reconnect: Switch | None = Field(None, alias="resendLastMSGOnReconnect")
    extended_connection_check: Annotated[Switch | None, Since(2408)] = None
    pool_resume_interval: Annotated[Positive | None, Since(2408)] = Field(
        None, alias="pool.resumeInterval"
    )
    con_err_skip: NonNegative | None = None
    compression_mode: Literal["none", "single", "stream:always"] | None = Field(
        None, alias="compression.mode"
    )
    compression_stream_flush_on_tx_end: Switch | None = Field(
        None, alias="compression.stream.flushOnTXEnd"
    )
    compression_driver: Annotated[Literal["zlib", "zstd"] | None, Since(2606)] = Field(
        None, alias="compression.driver"
    )
    zip_level: Level | None = None
    rate_limit_interval: NonNegative | None = Field(None, alias="rateLimit.interval")
    rate_limit_burst: NonNegative | None = Field(None, alias="rateLimit.burst")
    udp_send_to_all: Switch | None = Field(None, alias="udp.sendToAll")
    udp_send_delay: NonNegative | None = Field(None, alias="udp.sendDelay")
    udp_send_buf: MemorySize | None = Field(None, alias="udp.sendBuf")

    @property
    def targets(self) -> tuple[str, ...]:
        """Where events go, whether one target is written or several."""
        return (self.target,) if isinstance(self.target, str) else self.target


class OmrelpOutput(_Lines):
    """omrelp: another rsyslog, which acknowledges every event; from the package rsyslog-relp.
    Times in seconds."""

    type: Literal["omrelp"]
    target: Address
    port: Port
    timeout: Positive | None = None
    conn_timeout: Positive | None = Field(None, alias="conn.timeout")
    rebind_interval: NonNegative | None = None
    window_size: NonNegative | None = None
    local_client_ip: Address | None = Field(None, alias="localClientIP")
    keep_alive: Annotated[Switch | None, Since(2510)] = None
    keep_alive_time: Annotated[NonNegative | None, Since(2510)] = Field(
        None, alias="keepAlive.time"
    )
    keep_alive_interval: Annotated[NonNegative | None, Since(2510)] = Field(
        None, alias="keepAlive.interval"
    )
    keep_alive_probes: Annotated[NonNegative | None, Since(2510)] = Field(
        None, alias="keepAlive.probes"
    )
    tls_lib: Annotated[Literal["gnutls", "openssl"] | None, OfModule()] = Field(
        None, alias="tls.tlsLib"
    )
    tls: Switch | None = None
    tls_compression: Switch | None = Field(None, alias="tls.compression")
    tls_auth_mode: Literal["name", "certvalid", "fingerprint"] | None = Field(
        None, alias="tls.authMode"
    )
    tls_permitted_peer: Peers | None = Field(None, alias="tls.permittedPeer")
    tls_ca_cert: AbsolutePath | None = Field(None, alias="tls.caCert")
    tls_my_cert: AbsolutePath | None = Field(None, alias="tls.myCert")
    tls_my_priv_key: AbsolutePath | None = Field(None, alias="tls.myPrivKey")
    tls_priority_string: Line | None = Field(None, alias="tls.priorityString")


OtherOutput = OmfileOutput | OmfwdOutput | OmrelpOutput

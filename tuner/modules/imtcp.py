"""imtcp: TCP and TLS.

None means not set in the profile: rsyslog's default applies.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from tuner.modules.input import AllowedSenders, Peers, TransportKind
from tuner.modules.secrets import (
    ExpiredCerts,
    Priorities,
    StreamDriverCaFile,
    StreamDriverCrlFile,
    VerifyDepth,
)
from tuner.modules.tcp import (
    Delimiter,
    FrameSize,
    FramingRegex,
    KeepAlive,
    KeepAliveInterval,
    KeepAliveProbes,
    KeepAliveTime,
    MultiLine,
    NotifyOnOpen,
    OctetCounted,
    Tcp,
)
from tuner.schema.scalars import AbsolutePath, NetworkNamespace, NonNegative, Positive, Switch
from tuner.schema.section import parameter

# Since this release each input has its own pool; before, all shared one (tcpsrv.c).
_POOL_OF_ALL = 4
POOL_OF_EACH_SINCE = 2504
_POOL_OF_EACH = 2


class ImtcpInput(Tcp):
    """imtcp: TCP with a static pool of four workers before rsyslog 8.2504; TLS when
    `streamDriver.mode` is 1.  Certificates and keys are paths on the host that runs rsyslog.

    Before 8.2106 most parameters were the module's, not the input's.
    """

    type: Literal["imtcp"] = parameter("TCP, with TLS where streamDriver.mode is 1.", value=...)
    keep_alive: KeepAlive = parameter(since=2106)
    keep_alive_time: KeepAliveTime = parameter(since=2106)
    keep_alive_interval: KeepAliveInterval = parameter(since=2106)
    keep_alive_probes: KeepAliveProbes = parameter(since=2106)
    flow_control: Switch | None = parameter(since=2106)
    max_frame_size: FrameSize | None = parameter(since=2106)
    discard_truncated_msg: Switch | None = parameter(since=2106)
    addtl_frame_delimiter: Delimiter | None = parameter(since=2106)
    notify_on_connection_close: Switch | None = parameter(since=2106)
    max_sessions: Positive | None = parameter(
        "How many connections may be open at once.",
        "imtcp refuses the 201st connection by default.",
        since=2106,
        default="200",
    )
    support_octet_counted_framing: OctetCounted = True
    disable_lf_delimiter: Switch | None = parameter(
        "Whether a line end does not end a message.", since=2106
    )
    notify_on_connection_open: NotifyOnOpen = parameter(since=2210)
    socket_backlog: Positive | None = parameter(
        "How many connections may wait to be accepted.", since=2502
    )
    worker_threads: Positive | None = parameter(
        "The size of imtcp's pool of workers; 1 means no pool.",
        "8.2504 and 8.2506 have races here, fixed in 8.2508.",
        since=2504,
        default="2 since 8.2504; a fixed pool of 4 before",
    )
    starvation_protection_max_reads: NonNegative | None = parameter(
        "How often a worker reads one connection before the others get their turn; 0 means "
        "no limit.",
        since=2504,
    )
    allowed_sender: AllowedSenders = None
    multi_line: MultiLine = parameter(since=2602)
    framing_delimiter_regex: FramingRegex = parameter(since=2602)
    network_namespace: NetworkNamespace | None = parameter(
        "The network namespace to listen in.",
        "It must be there before rsyslogd starts, and rsyslogd needs CAP_SYS_ADMIN.",
        since=2512,
        default="that of rsyslogd",
    )
    compression_mode: Literal["none", "stream:always"] | None = parameter(
        "Whether connections are compressed, as omfwd does with the same compression.mode.",
        "It must match senders that compress their stream, or their events arrive as garbage.",
        since=2606,
        default="none",
    )
    compression_driver: Literal["zlib", "zstd"] | None = parameter(
        "What connections are compressed with; senders must use the same.",
        "zstd needs rsyslog's module lmzstdw, which not every distribution has.",
        since=2606,
        default="zlib",
    )
    compression_max_expansion_ratio: NonNegative | None = parameter(
        "How many bytes one compressed byte may become before the connection is closed; 0 "
        "means any number.",
        since=2606,
        default="1024",
    )
    compression_max_decompressed_bytes_per_receive: NonNegative | None = parameter(
        "How many bytes one read of a connection may become before it is closed; 0 means any "
        "number.",
        since=2606,
        default="67108864",
    )
    compression_max_total_zstd_window_bytes: NonNegative | None = parameter(
        "How much memory the windows of all zstd connections of the input may take together; "
        "0 means no limit.",
        "A connection above that is closed.",
        since=2608,
        default="67108864",
    )
    stream_driver_name: Literal["ptcp", "gtls", "ossl"] | None = parameter(
        "The TLS library: gtls or ossl.",
        "Needs the package rsyslog-gnutls or rsyslog-openssl.",
        since=2106,
    )
    stream_driver_mode: Literal[0, 1] | None = parameter("0 is plain TCP, 1 is TLS.", since=2106)
    stream_driver_auth_mode: (
        Literal["anon", "x509/name", "x509/certvalid", "x509/fingerprint"] | None
    ) = parameter(
        "How senders prove who they are: anon, x509/certvalid, x509/name or x509/fingerprint.",
        "anon accepts everyone.",
        since=2106,
    )
    permitted_peer: Peers | None = parameter(
        "The names or fingerprints of the senders that are accepted.", since=2112
    )
    stream_driver_ca_file: StreamDriverCaFile = None
    stream_driver_cert_file: AbsolutePath | None = parameter(
        "This receiver's certificate, a path on rsyslog's host.", since=2108
    )
    stream_driver_key_file: AbsolutePath | None = parameter(
        "The path of this receiver's private key; the key itself never enters a profile.",
        since=2108,
    )
    stream_driver_crl_file: StreamDriverCrlFile = None
    stream_driver_permit_expired_certs: ExpiredCerts = parameter(since=2106)
    stream_driver_tls_verify_depth: VerifyDepth = parameter(since=2106)
    stream_driver_check_extended_key_purpose: Switch | None = parameter(
        "Whether a sender's certificate must be issued for clients.", since=2106
    )
    stream_driver_prioritize_san: Switch | None = parameter(
        "Whether the common name of a certificate counts only where it has no alternative names.",
        since=2106,
    )
    stream_driver_tls_revocation_check: Switch | None = parameter(
        "Whether rsyslog asks the CA if a certificate was revoked.",
        since=2602,
        alias="streamDriver.tlsRevocationCheck",
    )
    gnutls_priority_string: Priorities = parameter(since=2106)

    @property
    def is_encrypted(self) -> bool:
        """Whether senders must speak TLS."""
        return self.stream_driver_mode == 1

    # Since 8.2504 a worker has its number and the name of its input.
    thread_names: ClassVar[tuple[str, ...]] = ("in:imtcp", "tcpsrv/w", r"w\d+/")
    tls_attributes: ClassVar[tuple[str, ...]] = (
        "stream_driver_ca_file",
        "stream_driver_cert_file",
        "stream_driver_key_file",
        "stream_driver_auth_mode",
        "permitted_peer",
    )

    @classmethod
    def threads_of(cls, sources: Sequence[Self], release: int, /) -> int:
        """The workers of its pool or pools."""
        if release < POOL_OF_EACH_SINCE:
            return _POOL_OF_ALL
        return sum(source.worker_threads or _POOL_OF_EACH for source in sources)

    @property
    def transport(self) -> TransportKind:
        """Encrypted or plain."""
        return "tls" if self.is_encrypted else "tcp"

    def in_lab(self, port: int, spool: str, /) -> Self:
        """Open to the flood, whose certificate nobody revoked."""
        open_to_all = {"allowed_sender": None, "network_namespace": None}
        crl = {"stream_driver_crl_file": None} if self.is_encrypted else {}
        return super().in_lab(port, spool).model_copy(update=open_to_all | crl)

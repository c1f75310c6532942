"""imtcp: TCP and TLS.

None means not set in the profile: rsyslog's default applies.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from tuner.modules.certificates import SENDER_NAME, Certificates, certificates_at
from tuner.modules.in_profile import InProfile
from tuner.modules.input import AllowedSenders, Peers, TransportKind
from tuner.modules.keep_alive import KeepAlive, KeepAliveInterval, KeepAliveProbes, KeepAliveTime
from tuner.modules.tcp import (
    Delimiter,
    FrameSize,
    FramingRegex,
    MultiLine,
    NotifyOnOpen,
    OctetCounted,
    Tcp,
)
from tuner.modules.tls import (
    ExpiredCerts,
    Priorities,
    StreamDriverCaFile,
    StreamDriverCrlFile,
    VerifyDepth,
)
from tuner.rule import Complaint, warning
from tuner.schema.parameter import Doc, Since
from tuner.schema.scalars import AbsolutePath, NetworkNamespace, NonNegative, Positive, Switch

# Since this release each input has its own pool; before, all shared one (tcpsrv.c).
_POOL_OF_ALL = 4
_POOL_OF_EACH_SINCE = 2504
_POOL_OF_EACH = 2


class ImtcpInput(Tcp):
    """imtcp: TCP with a static pool of four workers before rsyslog 8.2504; TLS when
    `streamDriver.mode` is 1.  Certificates and keys are paths on the host that runs rsyslog.

    Before 8.2106 most parameters were the module's, not the input's.
    """

    type: Annotated[Literal["imtcp"], Doc("TCP, with TLS where streamDriver.mode is 1.")]
    keep_alive: Annotated[KeepAlive, Since(2106)] = None
    keep_alive_time: Annotated[KeepAliveTime, Since(2106)] = None
    keep_alive_interval: Annotated[KeepAliveInterval, Since(2106)] = None
    keep_alive_probes: Annotated[KeepAliveProbes, Since(2106)] = None
    flow_control: Annotated[Switch | None, Since(2106)] = None
    max_frame_size: Annotated[FrameSize | None, Since(2106)] = None
    discard_truncated_msg: Annotated[Switch | None, Since(2106)] = None
    addtl_frame_delimiter: Annotated[Delimiter | None, Since(2106)] = None
    notify_on_connection_close: Annotated[Switch | None, Since(2106)] = None
    max_sessions: Annotated[
        Positive | None,
        Since(2106),
        Doc(
            "How many connections may be open at once.",
            default="200",
            traps=("imtcp refuses the 201st connection by default.",),
        ),
    ] = None
    support_octet_counted_framing: OctetCounted = True
    disable_lf_delimiter: Annotated[
        Switch | None, Since(2106), Doc("Whether a line end does not end a message.")
    ] = Field(None, alias="disableLFDelimiter")
    notify_on_connection_open: Annotated[NotifyOnOpen, Since(2210)] = None
    socket_backlog: Annotated[
        Positive | None, Since(2502), Doc("How many connections may wait to be accepted.")
    ] = None
    worker_threads: Annotated[
        Positive | None,
        Since(2504),
        Doc(
            "The size of imtcp's pool of workers; 1 means no pool.",
            default="2 since 8.2504; a fixed pool of 4 before",
            traps=("8.2504 and 8.2506 have races here, fixed in 8.2508.",),
        ),
    ] = None
    starvation_protection_max_reads: Annotated[
        NonNegative | None,
        Since(2504),
        Doc(
            "How often a worker reads one connection before the others get their turn; 0 means "
            "no limit."
        ),
    ] = Field(None, alias="starvationProtection.maxReads")
    allowed_sender: AllowedSenders = None
    multi_line: Annotated[MultiLine, Since(2602)] = None
    framing_delimiter_regex: Annotated[FramingRegex, Since(2602)] = None
    network_namespace: Annotated[
        NetworkNamespace | None,
        Since(2512),
        Doc(
            "The network namespace to listen in.",
            default="that of rsyslogd",
            traps=("It must be there before rsyslogd starts, and rsyslogd needs CAP_SYS_ADMIN.",),
        ),
    ] = None
    compression_mode: Annotated[
        Literal["none", "stream:always"] | None,
        Since(2606),
        Doc(
            "Whether connections are compressed, as omfwd does with the same compression.mode.",
            default="none",
            traps=(
                (
                    "It must match senders that compress their stream, or their events arrive as "
                    "garbage."
                ),
            ),
        ),
    ] = Field(None, alias="compression.mode")
    compression_driver: Annotated[
        Literal["zlib", "zstd"] | None,
        Since(2606),
        Doc(
            "What connections are compressed with; senders must use the same.",
            default="zlib",
            traps=("zstd needs rsyslog's module lmzstdw, which not every distribution has.",),
        ),
    ] = Field(None, alias="compression.driver")
    compression_max_expansion_ratio: Annotated[
        NonNegative | None,
        Since(2606),
        Doc(
            "How many bytes one compressed byte may become before the connection is closed; 0 "
            "means any number.",
            default="1024",
        ),
    ] = Field(None, alias="compression.maxExpansionRatio")
    compression_max_decompressed_bytes_per_receive: Annotated[
        NonNegative | None,
        Since(2606),
        Doc(
            "How many bytes one read of a connection may become before it is closed; 0 means any "
            "number.",
            default="67108864",
        ),
    ] = Field(None, alias="compression.maxDecompressedBytesPerReceive")
    compression_max_total_zstd_window_bytes: Annotated[
        NonNegative | None,
        Since(2608),
        Doc(
            "How much memory the windows of all zstd connections of the input may take together; "
            "0 means no limit.",
            default="67108864",
            traps=("A connection above that is closed.",),
        ),
    ] = Field(None, alias="compression.maxTotalZstdWindowBytes")
    stream_driver_name: Annotated[
        Literal["ptcp", "gtls", "ossl"] | None,
        Since(2106),
        Doc(
            "The TLS library: gtls or ossl.",
            traps=("Needs the package rsyslog-gnutls or rsyslog-openssl.",),
        ),
    ] = Field(None, alias="streamDriver.name")
    stream_driver_mode: Annotated[
        Literal[0, 1] | None, Since(2106), Doc("0 is plain TCP, 1 is TLS.")
    ] = Field(None, alias="streamDriver.mode")
    stream_driver_auth_mode: Annotated[
        Literal["anon", "x509/name", "x509/certvalid", "x509/fingerprint"] | None,
        Since(2106),
        Doc(
            "How senders prove who they are: anon, x509/certvalid, x509/name or x509/fingerprint.",
            traps=("anon accepts everyone.",),
        ),
    ] = Field(None, alias="streamDriver.authMode")
    permitted_peer: Annotated[
        Peers | None,
        Since(2112),
        Doc("The names or fingerprints of the senders that are accepted."),
    ] = None
    stream_driver_ca_file: StreamDriverCaFile = None
    stream_driver_cert_file: Annotated[
        AbsolutePath | None,
        Since(2108),
        Doc("This receiver's certificate, a path on rsyslog's host."),
    ] = Field(None, alias="streamDriver.certFile")
    stream_driver_key_file: Annotated[
        AbsolutePath | None,
        Since(2108),
        Doc("The path of this receiver's private key; the key itself never enters a profile."),
    ] = Field(None, alias="streamDriver.keyFile")
    stream_driver_crl_file: StreamDriverCrlFile = None
    stream_driver_permit_expired_certs: Annotated[ExpiredCerts, Since(2106)] = None
    stream_driver_tls_verify_depth: Annotated[VerifyDepth, Since(2106)] = None
    stream_driver_check_extended_key_purpose: Annotated[
        Switch | None,
        Since(2106),
        Doc("Whether a sender's certificate must be issued for clients."),
    ] = Field(None, alias="streamDriver.checkExtendedKeyPurpose")
    stream_driver_prioritize_san: Annotated[
        Switch | None,
        Since(2106),
        Doc(
            "Whether the common name of a certificate counts only where it has no "
            "alternative names."
        ),
    ] = Field(None, alias="streamDriver.prioritizeSAN")
    stream_driver_tls_revocation_check: Annotated[
        Switch | None,
        Since(2602),
        Doc("Whether rsyslog asks the CA if a certificate was revoked."),
    ] = Field(None, alias="streamDriver.tlsRevocationCheck")
    gnutls_priority_string: Annotated[Priorities, Since(2106)] = None

    @property
    def is_encrypted(self) -> bool:
        """Whether senders must speak TLS."""
        return self.stream_driver_mode == 1

    thread_names: ClassVar[tuple[str, ...]] = ("in:imtcp", "tcpsrv/w")

    @classmethod
    def threads_of(cls, sources: Sequence[Self], release: int, /) -> int:
        """The workers of its pool or pools."""
        if release < _POOL_OF_EACH_SINCE:
            return _POOL_OF_ALL
        return sum(source.worker_threads or _POOL_OF_EACH for source in sources)

    @property
    def transport(self) -> TransportKind:
        """Encrypted or plain."""
        return "tls" if self.is_encrypted else "tcp"

    @property
    def certificates(self) -> Certificates | None:
        """The certificates beside the CA's."""
        return certificates_at(self.stream_driver_ca_file if self.is_encrypted else None)

    def in_lab(self, port: int, spool: str, /) -> Self:
        """With the lab's certificates, and open to the flood."""
        changes: dict[str, object] = {"allowed_sender": None, "network_namespace": None}
        if self.is_encrypted:
            ours, mode = Certificates(f"{spool}/tls"), self.stream_driver_auth_mode
            changes |= {
                "stream_driver_ca_file": ours.authority,
                "stream_driver_cert_file": ours.collector,
                "stream_driver_key_file": ours.collector_key,
                "stream_driver_crl_file": None,
                "stream_driver_auth_mode": "x509/name" if mode == "x509/fingerprint" else mode,
                "permitted_peer": self.permitted_peer and (SENDER_NAME,),
            }
        return super().in_lab(port, spool).model_copy(update=changes)


_POOL_IS_SOUND = 2508


@warning(
    "RT406",
    why="The pool of workers that came with 8.2504 can handle a session twice or close it too "
    "early.",
    source="rsyslog 8.2508 ChangeLog; issues 5621 and 5623",
    bad={
        "release.rsyslog": f"8.{_POOL_IS_SOUND - 2}",
        "inputs": [{"type": "imtcp", "port": 10514}],
    },
    good={"inputs[0].workerThreads": 1},
)
def _racing_pool(asked: InProfile[ImtcpInput]) -> Iterator[Complaint]:
    """rsyslog 8.2508's ChangeLog: the pool queued sessions twice and closed them too early."""
    races = _POOL_OF_EACH_SINCE <= asked.release.rsyslog_number < _POOL_IS_SOUND
    if races and asked.section.worker_threads != 1:
        yield Complaint(
            ("workerThreads",),
            f"the workers of imtcp in rsyslog {asked.release.rsyslog} have races when connections "
            f"close, fixed in 8.{_POOL_IS_SOUND}: set workerThreads to 1, or use imptcp where TLS "
            "is not needed",
        )

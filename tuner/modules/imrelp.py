"""imrelp: acknowledged transfer.

None means not set in the profile: rsyslog's default applies.
"""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from tuner.modules.input import (
    BURST,
    Listener,
    Peers,
    RateBurst,
    RateInterval,
    RateLimit,
    TransportKind,
    rate_limit,
)
from tuner.modules.ratelimit import NamedLimit
from tuner.modules.tcp import KeepsAlive
from tuner.modules.tls import SENDER_NAME, Certificates, Priorities, RelpLibrary, certificates_at
from tuner.schema.parameter import Doc, parameter
from tuner.schema.scalars import AbsolutePath, MemorySize, Switch


class ImrelpInput(Listener, KeepsAlive):
    """imrelp: acknowledged transfer, one thread for all; from the package rsyslog-relp."""

    type: Annotated[Literal["imrelp"], Doc("Acknowledged transfer from another rsyslog (RELP).")]
    max_data_size: MemorySize | None = parameter("The longest RELP message, in bytes.")
    oversize_mode: Literal["truncate", "abort", "accept"] | None = parameter(
        "What happens to longer RELP messages: truncate, abort the connection, or accept."
    )
    flow_control: Literal["light", "full", "none"] | None = parameter(
        "Whether senders are slowed down when the queue passes its lightDelayMark.",
        "If off, a full queue drops events instead.",
    )
    rate_limit_interval: RateInterval = parameter(since=2604)
    rate_limit_burst: RateBurst = parameter(since=2604)
    rate_limit_name: NamedLimit = parameter(since=2604, alias="rateLimit.name")
    tls_lib: RelpLibrary = None
    tls: Switch | None = parameter("Whether RELP is encrypted.")
    tls_auth_mode: Literal["name", "certvalid", "fingerprint"] | None = parameter(
        "How RELP senders prove who they are: anon, name, fingerprint or certvalid.",
        "anon accepts everyone.",
        alias="tls.authMode",
    )
    tls_permitted_peer: Peers | None = parameter(
        "The names or fingerprints of the RELP senders that are accepted.",
        alias="tls.permittedPeer",
    )
    tls_ca_cert: AbsolutePath | None = parameter(
        "The CA certificates, a path on rsyslog's host.", alias="tls.caCert"
    )
    tls_my_cert: AbsolutePath | None = parameter(
        "This receiver's certificate, a path on rsyslog's host.", alias="tls.myCert"
    )
    tls_my_priv_key: AbsolutePath | None = parameter(
        "The path of this receiver's private key; the key itself never enters a profile.",
        alias="tls.myPrivKey",
    )
    tls_priority_string: Annotated[Priorities, Field(alias="tls.priorityString")] = None

    package: ClassVar[str] = "rsyslog-relp"
    thread_names: ClassVar[tuple[str, ...]] = ("in:imrelp",)

    @property
    def transport(self) -> TransportKind:
        """RELP, encrypted or not."""
        return "relp"

    @property
    def is_encrypted(self) -> bool:
        """Whether senders must speak TLS."""
        return self.tls is True

    @property
    def certificates(self) -> Certificates | None:
        """The certificates beside the CA's."""
        return certificates_at(self.tls_ca_cert if self.is_encrypted else None)

    @property
    def rate_limit(self) -> RateLimit | None:
        """Where both parameters say so."""
        return rate_limit(self.rate_limit_interval, self.rate_limit_burst, BURST)

    @property
    def missing_flow_control(self) -> bool | str | None:
        """Senders wait unless flowControl is off."""
        return "light" if self.flow_control == "none" else None

    def in_lab(self, port: int, spool: str, /) -> Self:
        """With the lab's certificates."""
        bound = super().in_lab(port, spool)
        if not self.is_encrypted:
            return bound
        ours, mode = Certificates(f"{spool}/tls"), self.tls_auth_mode
        return bound.model_copy(
            update={
                "tls_ca_cert": ours.authority,
                "tls_my_cert": ours.collector,
                "tls_my_priv_key": ours.collector_key,
                "tls_auth_mode": "name" if mode == "fingerprint" else mode,
                "tls_permitted_peer": self.tls_permitted_peer and (SENDER_NAME,),
            }
        )

"""imrelp: acknowledged transfer.

None means not set in the profile: rsyslog's default applies.
"""

from typing import ClassVar, Literal

from tuner.modules.input import Listener, Peers, RateBurst, RateInterval, TransportKind
from tuner.modules.ratelimit import NamedLimit
from tuner.modules.secrets import Priorities, RelpLibrary
from tuner.modules.tcp import KeepsAlive
from tuner.schema.scalars import AbsolutePath, MemorySize, Switch
from tuner.schema.section import parameter


class ImrelpInput(Listener, KeepsAlive):
    """imrelp: acknowledged transfer, one thread for all; from the package rsyslog-relp."""

    type: Literal["imrelp"] = parameter(
        "Acknowledged transfer from another rsyslog (RELP).", value=...
    )
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
    rate_limit_name: NamedLimit = parameter(since=2604)
    tls_lib: RelpLibrary = None
    tls: Switch | None = parameter("Whether RELP is encrypted.")
    tls_auth_mode: Literal["name", "certvalid", "fingerprint"] | None = parameter(
        "How RELP senders prove who they are: anon, name, fingerprint or certvalid.",
        "anon accepts everyone.",
    )
    tls_permitted_peer: Peers | None = parameter(
        "The names or fingerprints of the RELP senders that are accepted."
    )
    tls_ca_cert: AbsolutePath | None = parameter("The CA certificates, a path on rsyslog's host.")
    tls_my_cert: AbsolutePath | None = parameter(
        "This receiver's certificate, a path on rsyslog's host."
    )
    tls_my_priv_key: AbsolutePath | None = parameter(
        "The path of this receiver's private key; the key itself never enters a profile."
    )
    tls_priority_string: Priorities = None

    package: ClassVar[str] = "rsyslog-relp"
    thread_names: ClassVar[tuple[str, ...]] = ("in:imrelp",)
    transport: ClassVar[TransportKind] = "relp"
    tls_attributes: ClassVar[tuple[str, ...]] = (
        "tls_ca_cert",
        "tls_my_cert",
        "tls_my_priv_key",
        "tls_auth_mode",
        "tls_permitted_peer",
    )

    @property
    def is_encrypted(self) -> bool:
        """Whether senders must speak TLS."""
        return self.tls is True

    @property
    def missing_flow_control(self) -> bool | str | None:
        """Senders wait unless flowControl is off."""
        return "light" if self.flow_control == "none" else None

"""omrelp: another rsyslog, which acknowledges every event.

None means not set in the profile: rsyslog's default applies.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal

from tuner.modules.input import Peers
from tuner.modules.output import COMES_BACK, BuiltinTemplate, Lines
from tuner.modules.secrets import Priorities, RelpLibrary
from tuner.modules.tcp import KeepAlive, KeepAliveInterval, KeepAliveProbes, KeepAliveTime
from tuner.schema.scalars import AbsolutePath, Address, NonNegative, Port, Positive, Switch
from tuner.schema.section import parameter


class OmrelpOutput(Lines):
    """omrelp: another rsyslog, which acknowledges every event; from the package rsyslog-relp.
    Times in seconds."""

    type: Literal["omrelp"] = parameter(
        "Another rsyslog, which acknowledges every event (RELP).", value=...
    )
    target: Address = parameter("The receiver, a name or an address.", COMES_BACK, value=...)
    port: Port = parameter("The receiver's port.", value=...)
    timeout: Positive | None = parameter("Seconds that the receiver may take to answer.")
    conn_timeout: Positive | None = parameter(
        "Seconds that opening the connection may take.", default="10"
    )
    rebind_interval: NonNegative | None = parameter(
        "After this many transmissions the connection is opened again, for load "
        "balancers; 0 means never.",
        "Small values leave many closed connections behind.",
        default="0",
    )
    window_size: NonNegative | None = parameter(
        "How many events may be in flight unacknowledged; 0 means RELP's default.",
        "Each full window waits for the network: 128 carried 660 events a second "
        "over loopback, 1000 21,600 and 5000 135,000 (8.2302).",
        "As many events may arrive twice when the connection breaks, and are lost "
        "when the sending host crashes.",
        default="128",
    )
    local_client_ip: Address | None = parameter(
        "The address of this host that RELP connects from.", alias="localClientIP"
    )
    keep_alive: KeepAlive = parameter(since=2510)
    keep_alive_time: KeepAliveTime = parameter(since=2510)
    keep_alive_interval: KeepAliveInterval = parameter(since=2510)
    keep_alive_probes: KeepAliveProbes = parameter(since=2510)
    tls_lib: RelpLibrary = None
    tls: Switch | None = parameter("Whether RELP is encrypted.")
    tls_compression: Switch | None = parameter(
        "Whether the TLS connection is compressed.", default="off"
    )
    tls_auth_mode: Literal["name", "certvalid", "fingerprint"] | None = parameter(
        "How the RELP receiver proves who it is: name, fingerprint or certvalid.",
        "Without it, whoever answers gets the events.",
        default="no authentication",
    )
    tls_permitted_peer: Peers | None = parameter(
        "The names or fingerprints of the RELP receivers that are accepted."
    )
    tls_ca_cert: AbsolutePath | None = parameter(
        "The CA certificates for RELP receivers, a path on rsyslog's host."
    )
    tls_my_cert: AbsolutePath | None = parameter(
        "This RELP sender's certificate, a path on rsyslog's host."
    )
    tls_my_priv_key: AbsolutePath | None = parameter(
        "The path of this RELP sender's private key; the key itself never enters a profile."
    )
    tls_priority_string: Priorities = None

    package: ClassVar[str] = "rsyslog-relp"
    rsyslogs_format: ClassVar[BuiltinTemplate | None] = "RSYSLOG_ForwardFormat"

    @property
    def is_encrypted(self) -> bool:
        """Whether the receiver must speak TLS."""
        return self.tls is True

    @property
    def targets(self) -> tuple[str, ...]:
        """The one receiver."""
        return (self.target,)

    def spelled(self) -> Mapping[str, str | int | tuple[str, ...]]:
        """A list of peers stays one."""
        return {} if (peers := self.tls_permitted_peer) is None else {"tls.permittedPeer": peers}

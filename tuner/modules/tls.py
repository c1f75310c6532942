"""Parameters of TLS that several modules have, and the certificates of a lab."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tuner.schema.parameter import Doc, OfModule, Since
from tuner.schema.scalars import AbsolutePath, Line

SENDER_NAME = "sender.rsyslog-tune.test"
"""The name in the certificate of a flood."""

COLLECTOR_NAME = "collector.rsyslog-tune.test"
"""The name in the certificate of the lab's rsyslogd."""


@dataclass(frozen=True)
class Certificates:
    """An authority and the two that it signed for, as PEM files below `folder`."""

    folder: str

    @property
    def authority(self) -> str:
        """The certificate of the authority."""
        return f"{self.folder}/ca.pem"

    @property
    def authority_key(self) -> str:
        """The key of the authority."""
        return f"{self.folder}/ca-key.pem"

    @property
    def collector(self) -> str:
        """The certificate of rsyslogd."""
        return f"{self.folder}/collector.pem"

    @property
    def collector_key(self) -> str:
        """The key of rsyslogd."""
        return f"{self.folder}/collector-key.pem"

    @property
    def sender(self) -> str:
        """The certificate of the flood."""
        return f"{self.folder}/sender.pem"

    @property
    def sender_key(self) -> str:
        """The key of the flood."""
        return f"{self.folder}/sender-key.pem"


StreamDriverCaFile = Annotated[
    AbsolutePath | None,
    Field(alias="streamDriver.caFile"),
    Since(2108),
    Doc("The CA certificates, a path on rsyslog's host."),
]
StreamDriverCrlFile = Annotated[
    AbsolutePath | None,
    Field(alias="streamDriver.crlFile"),
    Since(2408),
    Doc("The list of revoked certificates, a path on rsyslog's host."),
]
ExpiredCerts = Annotated[
    Literal["on", "off", "warn"] | None,
    Field(alias="streamDriver.permitExpiredCerts"),
    Doc("Whether expired certificates are accepted."),
]
VerifyDepth = Annotated[
    Annotated[int, Field(ge=2, strict=True)] | None,
    Field(alias="streamDriver.tlsVerifyDepth"),
    Doc("How many certificates a chain may have."),
]
Priorities = Annotated[
    Line | None,
    Doc("Which ciphers and versions of TLS are allowed, in the TLS library's notation."),
]
RelpLibrary = Annotated[
    Literal["gnutls", "openssl"] | None,
    Field(alias="tls.tlsLib"),
    OfModule(),
    Doc("The TLS library of librelp: gnutls or openssl; a parameter of the module."),
]

"""Parameters of TLS that several modules have."""

from typing import Annotated, Literal

from pydantic import Field

from tuner.schema.parameter import Doc, OfModule, Since
from tuner.schema.scalars import AbsolutePath, Line

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

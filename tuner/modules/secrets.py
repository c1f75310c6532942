"""Secrets by reference; the parameters of TLS that several modules have, and the certificates of a
lab."""

import re
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator

from tuner.schema.scalars import AbsolutePath, CipherNames, Line, Switch
from tuner.schema.section import Doc, OfModule, RsyslogSection, Section, Since, parameter


class SecretRef(Section):
    """Where a secret is kept; the secret itself never enters a profile or a rendered file."""

    file: AbsolutePath | None = parameter(
        "The file that holds the secret, on the host that uses it.",
        "rsyslogd refuses a password with white space, so the file must not end in a newline.",
    )
    env: Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]*$")] | None = parameter(
        "The environment variable that holds the secret."
    )

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.file is None) == (self.env is None):
            raise ValueError("name exactly one place: {file: /path} or {env: NAME}")
        return self


def without_secret(separator: str, secret: str) -> AfterValidator:
    """Refuses a text of a name, a separator and a value whose name is that of a `secret`."""

    def checked(text: str) -> str:
        name = text.partition(separator.strip())[0]
        if re.search(secret, name.lower()):
            raise ValueError(
                f"{name} holds a secret: write {{file: /path}} or {{env: NAME}}, which holds "
                f"{name}{separator}..."
            )
        return text

    return AfterValidator(checked)


class Auth(Section):
    """Basic authentication towards the engine."""

    uid: Annotated[str, Field(pattern=r"^[^\x00-\x20:`]+$", max_length=200)] = parameter(
        "The user's name.", value=...
    )
    pwd: SecretRef = parameter(
        "Where the password is kept; the password itself never enters a profile.", value=...
    )


class HttpTls(RsyslogSection):
    """TLS towards a server; the paths are on the host that runs rsyslog.

    `allowunsignedcerts` trusts any certificate, `skipverifyhost` one for any other host.
    """

    cacert: AbsolutePath | None = parameter("The CA certificates, a path on rsyslog's host.")
    mycert: AbsolutePath | None = parameter("rsyslog's own certificate for mutual TLS.")
    myprivkey: AbsolutePath | None = parameter(
        "The path of rsyslog's own private key for mutual TLS."
    )
    allowunsignedcerts: Switch | None = parameter(
        "Whether certificates are accepted that no known authority signed.",
        "Anyone on the network path can then read and change events.",
    )
    skipverifyhost: Switch | None = parameter(
        "Whether a certificate for another host is accepted.",
        "Anyone with a valid certificate can then stand in for the server.",
    )


class Tls(HttpTls):
    """TLS towards the engine, by omelasticsearch."""

    tlsversion: Literal["TLSv1.2", "TLSv1.3"] | None = parameter(
        "The oldest version of TLS that is accepted from the engine.", since=2608
    )
    ciphersuites: CipherNames | None = parameter(
        "The cipher suites of TLS 1.3, best first, in OpenSSL's notation.", since=2608
    )
    keyexchangegroups: CipherNames | None = parameter(
        "The groups for the exchange of keys, best first, in OpenSSL's notation.", since=2608
    )


SENDER_NAME = "sender.rsyslog-tune.test"
"""The name in the certificate of a flood."""

COLLECTOR_NAME = "collector.rsyslog-tune.test"
"""The name in the certificate of the lab's rsyslogd."""


class Certificates(NamedTuple):
    """An authority and the two that it signed for, rsyslogd's and the flood's, as PEM files."""

    folder: str
    authority: str
    authority_key: str
    collector: str
    collector_key: str
    sender: str
    sender_key: str


def certificates_in(folder: str) -> Certificates:
    """Those of a lab, which stand in a folder."""
    names = ("ca", "ca-key", "collector", "collector-key", "sender", "sender-key")
    return Certificates(folder, *(f"{folder}/{name}.pem" for name in names))


StreamDriverCaFile = Annotated[
    AbsolutePath | None, Since(2108), Doc("The CA certificates, a path on rsyslog's host.")
]
StreamDriverCrlFile = Annotated[
    AbsolutePath | None,
    Since(2408),
    Doc("The list of revoked certificates, a path on rsyslog's host."),
]
ExpiredCerts = Annotated[
    Literal["on", "off", "warn"] | None, Doc("Whether expired certificates are accepted.")
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

"""Credentials by reference, and TLS towards the engine."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tuner.schema.parameter import Doc, parameter
from tuner.schema.scalars import AbsolutePath, CipherNames, Switch
from tuner.schema.section import RsyslogSection, Section


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


class Auth(Section):
    """Basic authentication towards the engine."""

    uid: Annotated[
        str, Field(pattern=r"^[^\x00-\x20:`]+$", max_length=200), Doc("The user's name.")
    ]
    pwd: Annotated[
        SecretRef, Doc("Where the password is kept; the password itself never enters a profile.")
    ]


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

"""Credentials by reference, and TLS towards the engine."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tuner.schema.parameter import Doc, Since
from tuner.schema.scalars import AbsolutePath, CipherNames, Switch
from tuner.schema.section import RsyslogSection, Section


class SecretRef(Section):
    """Where a secret is kept; the secret itself never enters a profile or a rendered file."""

    file: Annotated[
        AbsolutePath | None,
        Doc(
            "The file that holds the secret, on the host that uses it.",
            traps=(
                (
                    "rsyslogd refuses a password with white space, so the file must not end "
                    "in a newline."
                ),
            ),
        ),
    ] = None
    env: Annotated[
        Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]*$")] | None,
        Doc("The environment variable that holds the secret."),
    ] = None

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

    cacert: Annotated[
        AbsolutePath | None, Doc("The CA certificates, a path on rsyslog's host.")
    ] = None
    mycert: Annotated[AbsolutePath | None, Doc("rsyslog's own certificate for mutual TLS.")] = None
    myprivkey: Annotated[
        AbsolutePath | None, Doc("The path of rsyslog's own private key for mutual TLS.")
    ] = None
    allowunsignedcerts: Annotated[
        Switch | None,
        Doc(
            "Whether certificates are accepted that no known authority signed.",
            traps=("Anyone on the network path can then read and change events.",),
        ),
    ] = None
    skipverifyhost: Annotated[
        Switch | None,
        Doc(
            "Whether a certificate for another host is accepted.",
            traps=("Anyone with a valid certificate can then stand in for the server.",),
        ),
    ] = None


class Tls(HttpTls):
    """TLS towards the engine, by omelasticsearch."""

    tlsversion: Annotated[
        Literal["TLSv1.2", "TLSv1.3"] | None,
        Since(2608),
        Doc("The oldest version of TLS that is accepted from the engine."),
    ] = None
    ciphersuites: Annotated[
        CipherNames | None,
        Since(2608),
        Doc("The cipher suites of TLS 1.3, best first, in OpenSSL's notation."),
    ] = None
    keyexchangegroups: Annotated[
        CipherNames | None,
        Since(2608),
        Doc("The groups for the exchange of keys, best first, in OpenSSL's notation."),
    ] = None

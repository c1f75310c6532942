"""Credentials by reference: the secret itself never enters a profile or a rendered file."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tuner.schema.parameter import Since
from tuner.schema.scalars import AbsolutePath, CipherNames, Switch
from tuner.schema.section import RsyslogSection, Section


class SecretRef(Section):
    """Where a secret is kept; the secret itself never enters a profile or a rendered file."""

    file: AbsolutePath | None = None
    env: Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]*$")] | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.file is None) == (self.env is None):
            raise ValueError("name exactly one place: {file: /path} or {env: NAME}")
        return self


class Auth(Section):
    """Basic authentication towards the engine."""

    uid: Annotated[str, Field(pattern=r"^[^\x00-\x20:`]+$", max_length=200)]
    pwd: SecretRef


class Tls(RsyslogSection):
    """TLS towards the engine; the paths are on the host that runs rsyslog.

    `allowunsignedcerts` trusts any certificate, `skipverifyhost` one for any other host.
    """

    cacert: AbsolutePath | None = None
    mycert: AbsolutePath | None = None
    myprivkey: AbsolutePath | None = None
    allowunsignedcerts: Switch | None = None
    skipverifyhost: Switch | None = None
    tlsversion: Annotated[Literal["TLSv1.2", "TLSv1.3"] | None, Since(2608)] = None
    ciphersuites: Annotated[CipherNames | None, Since(2608)] = None
    keyexchangegroups: Annotated[CipherNames | None, Since(2608)] = None

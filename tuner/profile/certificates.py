"""The certificates of a lab, which stand in for those of the profile: names and paths."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from tuner.modules.inputs import ImrelpInput, ImtcpInput, Input

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


def is_encrypted(source: Input) -> bool:
    """Whether senders to an input must speak TLS."""
    if isinstance(source, ImtcpInput):
        return source.is_encrypted
    return isinstance(source, ImrelpInput) and source.tls is True


def certificates_of(source: Input) -> Certificates | None:
    """The certificates of a bound input; None when it takes what is not encrypted."""
    if not is_encrypted(source):
        return None
    authority = None
    if isinstance(source, ImtcpInput):
        authority = source.stream_driver_ca_file
    elif isinstance(source, ImrelpInput):
        authority = source.tls_ca_cert
    return None if authority is None else Certificates(str(PurePath(authority).parent))

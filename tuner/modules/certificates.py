"""The certificates of a lab, which stand in for those of the profile: names and paths."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

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


def certificates_at(authority: str | None) -> Certificates | None:
    """The certificates beside the authority's; None without one."""
    return None if authority is None else Certificates(str(PurePath(authority).parent))

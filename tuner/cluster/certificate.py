"""The certificate of a cluster, which both ends of every connection show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Security

_ROLES = ("client", "scheduler", "worker")


@dataclass(frozen=True)
class ClusterCertificate:
    """The certificates of those who are trusted, ours, and its key, as text in PEM."""

    ca: str
    certificate: str
    key: str

    @property
    def security(self) -> Security:
        """As Dask takes them; nothing goes without them."""
        # The process on a load host, which knows this too, does without Dask.
        from distributed import Security

        parts = {"cert": self.certificate, "key": self.key}
        texts = {f"tls_{role}_{part}": text for role in _ROLES for part, text in parts.items()}
        return Security(tls_ca_file=self.ca, require_encryption=True, **texts)

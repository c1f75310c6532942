"""Who may join a cluster: whoever has its certificate, made for it alone, or that of one that
exists.  Every connection is TLS, and both ends show theirs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import dask
from distributed import Security

from tuner.errors import JobFailed, Refused, of_the_system
from tuner.schema.scalars import is_loopback

_ROLES = ("client", "scheduler", "worker")
CERTIFICATE, KEY = "certificate.pem", "key.pem"


@dataclass(frozen=True)
class ClusterCertificate:
    """The certificates of those who are trusted, ours, and its key, as text in PEM."""

    ca: str
    certificate: str
    key: str

    @property
    def security(self) -> Security:
        """As Dask takes them; nothing goes without them."""
        parts = {"cert": self.certificate, "key": self.key}
        each = {f"tls_{role}_{part}": text for role in _ROLES for part, text in parts.items()}
        return Security(tls_ca_file=self.ca, require_encryption=True, **each)


def made() -> ClusterCertificate:
    """A new certificate, trusted by whoever has it."""
    security = Security.temporary()
    return ClusterCertificate(
        security.tls_ca_file, security.tls_client_cert, security.tls_client_key
    )


def taken_from(folder: Path) -> ClusterCertificate:
    """Those that lie in the folder of a member, which takes them away: they stay in its memory."""
    texts = [(folder / name).read_text(encoding="ascii") for name in (CERTIFICATE, KEY)]
    for name in (CERTIFICATE, KEY):
        (folder / name).unlink()
    certificate, key = texts
    return ClusterCertificate(certificate, certificate, key)


def pem_text(path: Path) -> str:
    """The text of a PEM file; raises JobFailed if it cannot be read or is not PEM."""
    try:
        return path.read_text(encoding="ascii")
    except OSError as error:
        raise of_the_system(error) from error
    except UnicodeError:
        raise JobFailed(f"{path} is not a PEM file") from None


def require_safe(address: str, certificate: ClusterCertificate | None) -> None:
    """Raise Refused for a scheduler that would be reached without TLS, unless on loopback."""
    try:
        parts = urlsplit(address)
        is_one = parts.scheme in {"tls", "tcp"} and parts.port is not None
    except ValueError:
        is_one = False
    if not is_one:
        raise Refused(f"{address} is not the URL of a scheduler, such as tls://HOST:8786")
    if parts.scheme == "tls" and certificate is None:
        raise Refused(f"{address} needs --tls-ca, --tls-cert and --tls-key")
    if parts.scheme == "tcp" and not is_loopback(parts.hostname or ""):
        raise Refused(
            f"{address} is not encrypted, and whoever reaches it may run what they like on every "
            "machine of the cluster: use tls://"
        )


def configure() -> None:
    """How this process works in a cluster: without web pages, nothing moves from one machine to
    another by itself, and a machine that does not answer is given up within half a minute.

    TCP gives a connection up 40 s after the last word on it, which may have been 10 s before it
    first asks (`distributed.comm.tcp.set_tcp_timeout`): a network that is back within half a minute
    breaks none.
    """
    dask.config.set(
        {
            "distributed.scheduler.http.routes": [],
            "distributed.worker.http.routes": [],
            "distributed.scheduler.worker-ttl": "30s",
            "distributed.scheduler.allowed-failures": 0,
            "distributed.scheduler.work-stealing": False,
            "distributed.scheduler.active-memory-manager.start": False,
            "distributed.comm.timeouts.connect": "10s",
            "distributed.comm.timeouts.tcp": "40s",
            "distributed.admin.log-length": 100,
        }
    )

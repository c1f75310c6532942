"""Access to a cluster: the certificate that both ends of each connection present, a client of its
scheduler, and the check that its machines have the versions of this one."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from urllib.parse import urlsplit

import dask
from distributed import Client, Security

import tuner
from tuner import __version__
from tuner.cluster.messages import ClusterCertificate
from tuner.errors import JobFailed, Refused, Unreachable, of_the_system
from tuner.host.process import wait_until
from tuner.host.programs import rsyslog_version
from tuner.reading import asset_folder
from tuner.schema.scalars import is_loopback

_PATIENCE_S = 20.0
_LOSS_S = 2.0
_PACKAGE = Path(tuner.__file__).parent
CERTIFICATE, KEY = "certificate.pem", "key.pem"


def new_certificate() -> ClusterCertificate:
    """A new certificate, trusted by whoever has it."""
    security = Security.temporary()
    return ClusterCertificate(
        security.tls_ca_file, security.tls_client_cert, security.tls_client_key
    )


def take_certificate(folder: Path) -> ClusterCertificate:
    """Read the certificate and key in a member's folder, and delete both files."""
    texts = [(folder / name).read_text(encoding="ascii") for name in (CERTIFICATE, KEY)]
    for name in (CERTIFICATE, KEY):
        (folder / name).unlink()
    certificate, key = texts
    return ClusterCertificate(certificate, certificate, key)


def pem_text(path: Path) -> str:
    """The text of a PEM file; raises JobFailed if it cannot be read or is not ASCII."""
    try:
        return path.read_text(encoding="ascii")
    except OSError as error:
        raise of_the_system(error) from error
    except UnicodeError:
        raise JobFailed(f"{path} is not a PEM file") from None


def require_safe(address: str, certificate: ClusterCertificate | None) -> None:
    """Raise Refused unless `address` is a scheduler's URL, and either on loopback or with TLS and a
    certificate."""
    try:
        parts = urlsplit(address)
        is_url = parts.scheme in {"tls", "tcp"} and parts.port is not None
    except ValueError:
        is_url = False
    if not is_url:
        raise Refused(f"{address} is not the URL of a scheduler, such as tls://HOST:8786")
    if parts.scheme == "tls" and certificate is None:
        raise Refused(f"{address} needs --tls-ca, --tls-cert and --tls-key")
    if parts.scheme == "tcp" and not is_loopback(parts.hostname or ""):
        raise Refused(
            f"{address} is not encrypted, and whoever reaches it may run what they like on every "
            "machine of the cluster: use tls://"
        )


def configure() -> None:
    """Configure Dask in this process: it serves no web pages, moves no work from one machine to
    another, and gives up a worker that has been silent for 30 s.

    The first keepalive probe of a connection follows after 10 s of silence, and TCP gives up after
    40 s (`distributed.comm.tcp.set_tcp_timeout`): an outage of up to 30 s breaks no connection.
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


@dataclass(frozen=True)
class Versions:
    """The versions that must be the same on all machines: else measurements do not compare, and
    messages may not be understood."""

    rsyslog_tune: str
    python: str
    distributed: str
    rsyslog: str
    sources: str

    def differences(self, other: Versions) -> tuple[str, ...]:
        """A phrase for each version of `other` that differs."""
        ours, theirs = asdict(self), vars(other)
        names = [name for name in ours if name != "sources" and ours[name] != theirs.get(name)]
        phrases = [
            f"{name.replace('_', '-')} {theirs.get(name)} and not {ours[name]}" for name in names
        ]
        if "rsyslog_tune" not in names and self.sources != theirs.get("sources"):
            phrases.append(f"other code of rsyslog-tune {self.rsyslog_tune}")
        return tuple(phrases)


def versions_here() -> Versions:
    """The versions of this machine; raises ProgramMissing without rsyslogd."""
    return Versions(
        __version__, python_version(), version("distributed"), rsyslog_version(), sources_digest()
    )


def sources_digest(package: Path = _PACKAGE) -> str:
    """A digest of the code below `package` and of the shipped templates: other code measures
    differently, even if it has the same version."""
    digest = sha256()
    for folder in (package, asset_folder("templates")):
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            if path.is_file() and not {"__pycache__", "_assets"} & {*name.parts}:
                digest.update(f"{name}\0".encode() + path.read_bytes())
    return digest.hexdigest()


@contextmanager
def connected(address: str, certificate: ClusterCertificate | None) -> Iterator[Client]:
    """A client of the scheduler at `address`; raises Refused if `require_safe` does, Unreachable if
    no scheduler with the same certificate answers."""
    require_safe(address, certificate)
    with joined(address, certificate) as client:
        yield client


@contextmanager
def joined(address: str, certificate: ClusterCertificate | None) -> Iterator[Client]:
    """A client of the scheduler at `address`, which a machine of the cluster need not check with
    `require_safe`; raises Unreachable."""
    configure()
    # Only we report errors, once.
    for name in logging.root.manager.loggerDict:
        if name.startswith(("distributed", "tornado", "asyncio")):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    security = None if certificate is None else certificate.security
    try:
        with warnings.catch_warnings():
            # Dask warns of other versions; `require_comparable` refuses them.
            warnings.simplefilter("ignore")
            client = Client(
                address, security=security, timeout=_PATIENCE_S,
                direct_to_workers=False, name="rsyslog-tune",
            )  # fmt: skip
    except (OSError, TimeoutError, ValueError) as error:
        raise Unreachable(
            f"cannot join a cluster at {address}: none runs there, or it has another certificate "
            f"({_last_line(error)})"
        ) from None
    try:
        yield client
    finally:
        client.close(_PATIENCE_S)


def is_alive(client: Client) -> bool:
    """Whether the scheduler still answers: a client notices within two seconds if it does not."""
    return not wait_until(lambda: client.status != "running", _LOSS_S)


def roles(client: Client) -> dict[str, str]:
    """The role of each machine in the cluster, by name."""
    return {name: role for name, (_, role) in sorted(_workers(client).items())}


def workers_of(client: Client, role: str) -> dict[str, str]:
    """The addresses of the workers with `role`, by name; raises JobFailed if there are none."""
    workers = sorted(_workers(client).items())
    addresses = {name: address for name, (address, its_role) in workers if its_role == role}
    if not addresses:
        raise JobFailed(
            f"the cluster has no living machine of the role {role}: see rsyslog-tune cluster status"
        )
    return addresses


def require_comparable(client: Client) -> None:
    """Raise Refused if a worker has other versions than this machine or cannot run rsyslog-tune,
    Unreachable if one does not answer."""
    names = {address: name for name, (address, _) in _workers(client).items()}
    answers = client.run(versions_here, workers=list(names), on_error="return")
    silent = [names[address] for address, answer in answers.items() if isinstance(answer, OSError)]
    if silent:
        raise Unreachable(f"no answer from {', '.join(silent)}")
    require_same_versions({names[address]: versions for address, versions in answers.items()})


def require_same_versions(machines: Mapping[str, object]) -> None:
    """Raise Refused if a machine has other versions than this one; `machines` has, by name, those
    of each, or the error that it gave."""
    ours, wrong = versions_here(), []
    for name, versions in machines.items():
        if not isinstance(versions, Versions):
            wrong.append(f"{name} cannot run rsyslog-tune: {_last_line(versions)}")
        elif differences := ours.differences(versions):
            wrong.append(f"{name} has {', '.join(differences)}")
    if wrong:
        raise Refused(f"versions differ: {'; '.join(wrong)}: install the same")


def _workers(client: Client) -> dict[str, tuple[str, str]]:
    """The address and role of each worker, by name; the role is the name of its only resource."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return {
        str(worker["name"]): (address, next(iter(worker["resources"]), ""))
        for address, worker in workers.items()
    }


def _last_line(error: object) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__

"""The way into a cluster: its certificate, made for it alone or that of one that exists, which both
ends of every connection show; connected as a client, its machines compared with this one."""

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


@dataclass(frozen=True)
class Versions:
    """What must be the same on every machine, or what is measured there does not compare and what
    is sent there is not understood."""

    rsyslog_tune: str
    python: str
    distributed: str
    rsyslog: str
    sources: str

    def differences(self, other: Versions) -> tuple[str, ...]:
        """What `other` has that differs, a phrase for each."""
        ours, theirs = asdict(self), vars(other)
        apart = [name for name in ours if name != "sources" and ours[name] != theirs.get(name)]
        phrases = [
            f"{name.replace('_', '-')} {theirs.get(name)} and not {ours[name]}" for name in apart
        ]
        if "rsyslog_tune" not in apart and self.sources != theirs.get("sources"):
            phrases.append(f"other code of rsyslog-tune {self.rsyslog_tune}")
        return tuple(phrases)


def versions_here() -> Versions:
    """Those of this machine; raises ProgramMissing without rsyslogd."""
    return Versions(
        __version__, python_version(), version("distributed"), rsyslog_version(), sources_digest()
    )


def sources_digest(package: Path = _PACKAGE) -> str:
    """A digest of the code below `package` and of the templates that it renders with: other code
    measures differently, whatever version it calls itself."""
    digest = sha256()
    for folder in (package, asset_folder("templates")):
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            if path.is_file() and not {"__pycache__", "_assets"} & {*name.parts}:
                digest.update(f"{name}\0".encode() + path.read_bytes())
    return digest.hexdigest()


@contextmanager
def connected(address: str, certificate: ClusterCertificate | None) -> Iterator[Client]:
    """A client of the scheduler at `address`; raises Refused where the way is not safe, Unreachable
    where nobody answers who has the same certificate."""
    require_safe(address, certificate)
    with joined(address, certificate) as client:
        yield client


@contextmanager
def joined(address: str, certificate: ClusterCertificate | None) -> Iterator[Client]:
    """A client of the scheduler to which this machine belongs already, by whatever way."""
    configure()
    # What goes wrong on the way is said once, by us.
    for name in logging.root.manager.loggerDict:
        if name.startswith(("distributed", "tornado", "asyncio")):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    security = None if certificate is None else certificate.security
    try:
        with warnings.catch_warnings():
            # Versions are compared below, as errors.
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
    """Whether the scheduler still answers; a client that has lost it knows within a moment."""
    return not wait_until(lambda: client.status != "running", _LOSS_S)


def roles(client: Client) -> dict[str, str]:
    """The role of each machine that takes part, by its name."""
    return {name: role for name, (_, role) in sorted(_workers(client).items())}


def workers_of(client: Client, role: str) -> dict[str, str]:
    """The addresses of the workers of that role by their names; raises JobFailed without any."""
    workers = sorted(_workers(client).items())
    addresses = {name: address for name, (address, role_of) in workers if role_of == role}
    if not addresses:
        raise JobFailed(
            f"the cluster has no living machine of the role {role}: see rsyslog-tune cluster status"
        )
    return addresses


def require_comparable(client: Client) -> None:
    """Raise Refused where a worker cannot run rsyslog-tune, or has other versions than we have, and
    Unreachable where one does not answer."""
    names = {address: name for name, (address, _) in _workers(client).items()}
    answers = client.run(versions_here, workers=list(names), on_error="return")
    silent = [names[address] for address, answer in answers.items() if isinstance(answer, OSError)]
    if silent:
        raise Unreachable(f"no answer from {', '.join(silent)}")
    require_same({names[address]: versions for address, versions in answers.items()})


def require_same(machines: Mapping[str, object]) -> None:
    """Raise Refused where the versions of a machine, by its name, are not those of this one."""
    ours, wrong = versions_here(), []
    for name, versions in machines.items():
        if not isinstance(versions, Versions):
            wrong.append(f"{name} cannot run rsyslog-tune: {_last_line(versions)}")
        elif differences := ours.differences(versions):
            wrong.append(f"{name} has {', '.join(differences)}")
    if wrong:
        raise Refused(f"versions differ: {'; '.join(wrong)}: install the same")


def _workers(client: Client) -> dict[str, tuple[str, str]]:
    """Address and role of each worker by its name; the role is the name of its one resource."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return {
        str(worker["name"]): (address, next(iter(worker["resources"]), ""))
        for address, worker in workers.items()
    }


def _last_line(error: object) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__

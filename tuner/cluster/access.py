"""The way into a cluster: connected as a client, its machines compared with this one."""

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

from distributed import Client

import tuner
from tuner import __version__
from tuner.cluster.certificate import ClusterCertificate, configure, require_safe
from tuner.errors import JobFailed, Refused, Unreachable
from tuner.host.process import wait_until
from tuner.host.programs import rsyslog_version
from tuner.render.assets import asset_folder

_PATIENCE_S = 20.0
_LOSS_S = 2.0
_PACKAGE = Path(tuner.__file__).parent


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
    for folder in (package, Path(str(asset_folder("templates")))):
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
    every = sorted(_workers(client).items())
    found = {name: address for name, (address, one) in every if one == role}
    if not found:
        raise JobFailed(
            f"the cluster has no living machine of the role {role}: see rsyslog-tune cluster status"
        )
    return found


def require_comparable(client: Client) -> None:
    """Raise Refused where a worker cannot run rsyslog-tune, or has other versions than we have, and
    Unreachable where one does not answer."""
    names = {address: name for name, (address, _) in _workers(client).items()}
    found = client.run(versions_here, workers=list(names), on_error="return")
    silent = [names[one] for one, answer in found.items() if isinstance(answer, OSError)]
    if silent:
        raise Unreachable(f"no answer from {', '.join(silent)}")
    require_same({names[address]: versions for address, versions in found.items()})


def require_same(found: Mapping[str, object]) -> None:
    """Raise Refused where the versions of a machine, by its name, are not those of this one."""
    here, wrong = versions_here(), []
    for name, versions in found.items():
        if not isinstance(versions, Versions):
            wrong.append(f"{name} cannot run rsyslog-tune: {_last_line(versions)}")
        elif differences := here.differences(versions):
            wrong.append(f"{name} has {', '.join(differences)}")
    if wrong:
        raise Refused(f"versions differ: {'; '.join(wrong)}: install the same")


def _workers(client: Client) -> dict[str, tuple[str, str]]:
    """Address and role of each worker by its name; the role is the name of its one resource."""
    every = client.scheduler_info(n_workers=-1)["workers"]
    return {
        str(one["name"]): (address, next(iter(one["resources"]), ""))
        for address, one in every.items()
    }


def _last_line(error: object) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__

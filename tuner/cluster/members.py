"""The processes that make machines members of a cluster: started, looked at and ended through the
door to each host, the scheduler's on this machine like the workers' elsewhere."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from platform import python_version

import tuner
from tuner import __version__
from tuner.cluster.certificate import ClusterCertificate
from tuner.deploy.inventory import InventoryHost
from tuner.errors import JobFailed, ProgramMissing, Refused
from tuner.host.programs import rsyslog_version
from tuner.host.remote import Answer, Host, connect, script_of
from tuner.render.assets import asset_folder

_SCRIPT = files("tuner.cluster").joinpath("member.sh").read_text(encoding="utf-8")
_WAIT_S = 30
_LIMIT_S = 3.0 * _WAIT_S
_HERE = [sys.executable, "-P", "-c", "from tuner.cli.main import main; main()"]
_NOT_FOUND = (126, 127)
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


class ClusterMember:
    """What makes one machine a member of a cluster; `member` names its folder there."""

    def __init__(self, machine: InventoryHost, member: str) -> None:
        self.machine = machine
        self._folder = f"{machine.paths.state}/cluster/{member}"
        self._host: Host = connect(machine.name, machine.address)

    def versions(self) -> Versions:
        """Those of that machine; raises ProgramMissing without rsyslog-tune there."""
        answer = self._host.run([*self._tune, "cluster", "versions"])
        if answer.code in _NOT_FOUND:
            raise ProgramMissing(
                f"{self.machine.name}: {self._tune[0]} not found: install rsyslog-tune "
                f"{__version__} there with pip install '.[cluster]' in its checkout, or set "
                "rsyslog_tune in the inventory to the path of the command"
            )
        if answer.code != 0:
            raise JobFailed(f"{self.machine.name}: {answer.err.strip() or 'no reason given'}")
        try:
            return Versions(**json.loads(answer.out))
        except (ValueError, TypeError):
            raise Refused(
                f"{self.machine.name} has another version of rsyslog-tune: install the same"
            ) from None

    def our_address(self) -> str | None:
        """Our address as that machine sees it when we log in; None where it is this machine."""
        if self._host.is_here:
            return None
        seen = (
            self._host.run(["sh", "-c", "echo ${SSH_CONNECTION%% *}"])
            .out.decode(errors="replace")
            .strip()
        )
        return seen or None

    def start(self, certificate: ClusterCertificate, arguments: Sequence[str]) -> str:
        """Start it with these arguments of `cluster member`; gives the address at which it answers.
        Raises JobFailed where it does not begin."""
        command = [*self._tune, "cluster", "member", self._folder, *arguments]
        printed = {"certificate": certificate.certificate.encode(), "key": certificate.key.encode()}
        return (
            self._call("start", shlex.join(command), printed).out.decode(errors="replace").strip()
        )

    def is_alive(self) -> bool:
        """Whether its process still runs."""
        return self._call("look").out.strip() == b"alive"

    def stop(self) -> None:
        """End it with all that it started, and remove its folder; fine where it is gone."""
        self._call("stop")

    @property
    def _tune(self) -> list[str]:
        own = _HERE if self._host.is_here else ["rsyslog-tune"]
        return own if self.machine.rsyslog_tune is None else [self.machine.rsyslog_tune]

    def _call(
        self, call: str, command: str = "", printed: Mapping[str, bytes] | None = None
    ) -> Answer:
        settings = {"folder": self._folder, "command": command, "wait_s": str(_WAIT_S)}
        script = script_of(_SCRIPT, settings, printed or {}, call)
        answer = self._host.run(["sh", "-s"], script, _LIMIT_S)
        if answer.code != 0:
            raise JobFailed(f"{self.machine.name}: {answer.err.strip() or 'no reason given'}")
        return answer

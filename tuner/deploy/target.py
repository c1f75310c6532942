"""One host as apply sees it: what it has and runs, and the steps of a change there.

The steps are functions of host.sh, which is sent whole each time; nothing of ours is installed.
"""

from __future__ import annotations

import base64
import os
import platform
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from importlib.resources import files

from tuner.deploy.inventory import InventoryHost
from tuner.errors import JobFailed, Locked, Refused
from tuner.host.remote import Answer, Host, connect, script_of
from tuner.render.tree import raw_of

_SCRIPT = files("tuner.deploy").joinpath("host.sh").read_text(encoding="utf-8")
_LIMIT_S = 60.0
_PATIENCE_S = 20
_LONGEST_WAIT_S = 600
_KINDS = {5: Refused, 75: Locked}


class Undone(Enum):
    """What became of a change that was to be undone."""

    RESTORED = "restored"
    KEPT = "kept"
    NONE = ""


@dataclass(frozen=True)
class LiveFile:
    """A file of a host: its bytes, its mode in octal, its owner and group."""

    content: bytes
    mode: str
    owner: str


@dataclass(frozen=True)
class Facts:
    """What a host has: the release of its rsyslogd (8.2302.0), those live files that are there by
    their paths, who changes them just now, the process of the service, the sockets that it has and
    those that others have."""

    rsyslogd: str
    live: Mapping[str, LiveFile]
    pending: str | None
    pid: int
    opened: frozenset[str]
    taken: frozenset[str]

    def content(self, path: str) -> bytes | None:
        """The bytes of a live file; None where it is not there."""
        found = self.live.get(path)
        return None if found is None else found.content


@dataclass(frozen=True)
class Examined:
    """What verify asks of a host: whether rsyslogd accepts its configuration and that includes the
    drop-ins, files that are newer than the process, its user, its limit of open files (None:
    no limit), the kernel's limit of a receive buffer; secrets with their modes, files that are
    missing, certificates that end within 30 days."""

    facts: Facts
    accepted: bool
    included: bool
    stale: tuple[str, ...]
    uid: int
    open_files: int | None
    rmem_bytes: int
    missing: tuple[str, ...]
    ends: tuple[str, ...]
    modes: Mapping[str, str]


@dataclass(frozen=True)
class Candidate:
    """A configuration for a host: files by path with their texts, the mode of a new one, the
    sockets that it opens."""

    files: tuple[tuple[str, str], ...]
    mode: str
    sockets: tuple[str, ...]


class RemoteHost:
    """A machine of the inventory, and the files there that a profile is rendered to."""

    def __init__(self, machine: InventoryHost, paths: Iterable[str] = ()) -> None:
        self.machine = machine
        self.paths = tuple(paths)
        self.host: Host = connect(machine.name, machine.address)

    def facts(self, sockets: tuple[str, ...]) -> Facts:
        """What it has and runs, where it can be changed; changes nothing.  Raises Refused where
        our files would not be safe there."""
        return _facts(self._pairs("places; inspect", {"sockets": " ".join(sockets)}))

    def examined(self, sockets: tuple[str, ...], needed: tuple[str, ...]) -> Examined:
        """What it has and runs, and how it is with each needed `file PATH`, `secret PATH` and
        `certificate PATH`."""
        settings = {"sockets": " ".join(sockets), "needed": "\n".join(needed)}
        pairs = self._pairs("inspect; examine", settings)
        said = dict(pairs)
        return Examined(
            facts=_facts(pairs),
            accepted="accepted" in said,
            included="includes" in said,
            stale=tuple(rest for word, rest in pairs if word == "stale"),
            uid=int(said.get("uid", 0)),
            open_files=int(limit) if (limit := said.get("files", "")).isdigit() else None,
            rmem_bytes=int(said.get("rmem", 0)),
            missing=tuple(rest for word, rest in pairs if word == "missing"),
            ends=tuple(rest for word, rest in pairs if word == "ends"),
            modes={
                path: mode
                for mode, _, path in (rest.partition(" ") for word, rest in pairs if word == "mode")
            },
        )

    def _pairs(self, call: str, settings: Mapping[str, str]) -> list[tuple[str, str]]:
        """What the script says, a fact a line: its name and the rest."""
        lines = self._call(call, settings).out.decode(errors="replace").splitlines()
        return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]

    def apply(self, candidate: Candidate, run: str, confirm_within_s: int) -> None:
        """Put the candidate in the place of the live files, and restart the service; raises
        JobFailed where the host does not take it, which `restore` undoes."""
        sockets = " ".join(candidate.sockets)
        settings = {
            "run": run,
            "holder": f"{platform.node()}, pid {os.getpid()}, run {run}",
            "mode": candidate.mode,
            "sockets": sockets,
            "confirm_within_s": str(confirm_within_s),
        }
        printed = {
            **{
                f"candidate_{number}": raw_of(text)
                for number, (_, text) in enumerate(candidate.files, 1)
            },
            "undo": self._script("restore", {"run": run, "wait_s": str(_LONGEST_WAIT_S)}),
        }
        self._call("apply", settings, printed)

    def restore(self, run: str = "") -> Undone:
        """Everything as before the change by that run, or by any, unless it was kept."""
        said = self._call("restore", {"run": run}).out.decode().strip()
        return Undone(said)

    def keep(self, run: str) -> None:
        """End the change by that run: it stays."""
        self._call("keep", {"run": run})

    def send_event(self, address: str, port: int, transport: str, mark: str) -> None:
        """Send one event to rsyslogd there, as local programs would."""
        self._call(shlex.join(["event", address, str(port), transport, mark]))

    def _call(
        self,
        call: str,
        settings: Mapping[str, str] | None = None,
        printed: Mapping[str, bytes] | None = None,
    ) -> Answer:
        answer = self.host.run(
            ["sh", "-s"], self._script(call, settings or {}, printed or {}), 2 * _LIMIT_S
        )
        if answer.code != 0:
            kind = _KINDS.get(answer.code, JobFailed)
            raise kind(f"{self.machine.name}: {_sentence(answer.err)}")
        return answer

    def _script(
        self, call: str, settings: Mapping[str, str], printed: Mapping[str, bytes] | None = None
    ) -> bytes:
        """host.sh about this machine, and the call."""
        machine, paths = self.machine, self.machine.paths
        every = {
            "state": f"{paths.state}/deploy",
            "lives": "\n".join(self.paths),
            "main": paths.configuration,
            "folder": paths.fragments,
            "stage": f"{paths.fragments}/.rsyslog-tune",
            "unit": machine.service.unit or "",
            "restart_with": shlex.join(machine.service.restart),
            "pid_file": machine.service.pid_file or "",
            "patience_s": str(_PATIENCE_S),
            "wait_s": str(int(_LIMIT_S)),
            "sockets": "",
            "run": "",
            **settings,
        }
        return script_of(_SCRIPT, every, printed or {}, call)


def shown(content: bytes | None) -> str | None:
    """A file as text for people; None where it is not there."""
    return None if content is None else content.decode("utf-8", "replace")


def _facts(pairs: list[tuple[str, str]]) -> Facts:
    said = dict(pairs)
    lives = (rest.split(" ", 3) for word, rest in pairs if word == "live")
    return Facts(
        rsyslogd=said["rsyslogd"],
        live={path: _live_file(*rest) for path, *rest in lives},
        pending=said.get("pending"),
        pid=int(said["pid"]),
        opened=frozenset(rest for word, rest in pairs if word == "open"),
        taken=frozenset(rest for word, rest in pairs if word == "taken"),
    )


def _live_file(mode: str, owner: str, content: str) -> LiveFile:
    return LiveFile(base64.b64decode(content), mode, owner)


def _sentence(err: str) -> str:
    """The last words of the script first: they say what failed, the lines before say why."""
    *before, last = [line.strip() for line in err.splitlines() if line.strip()] or ["no reason"]
    return f"{last}: {'; '.join(before[-6:])}" if before else last

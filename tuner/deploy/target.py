"""One host as apply sees it: what it has and runs, and the steps of a change there.

The steps are functions of host.sh, which is sent whole each time; nothing of ours is installed.
"""

from __future__ import annotations

import base64
import os
import platform
import re
import shlex
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePosixPath
from typing import NamedTuple, TypeVar

from tuner.deploy.inventory import InventoryHost, Paths
from tuner.diagnose.inputs import KernelCounts
from tuner.errors import JobFailed, Locked, Refused
from tuner.host.remote import (
    BEGIN,
    END,
    MOST_SHOWN,
    Host,
    connect,
    last_words,
    printed_by_script,
    script_of,
)
from tuner.host.usage import parse_stat
from tuner.reading import packaged
from tuner.render.tree import unified
from tuner.script.configuration import MAX_BYTES
from tuner.writing import raw_of

Tell = Callable[[str], None]

_SCRIPT = packaged("deploy/host.sh")
_LIMIT_S = 60.0
_PATIENCE_S = 20
_LONGEST_WAIT_S = 600
_KINDS = {5: Refused, 75: Locked}


class Undone(Enum):
    """What became of a change that was to be undone: it was, it is not there, it was confirmed and
    stays; or there is one by somebody else that is not confirmed yet."""

    RESTORED = "restored"
    NONE = "before"
    KEPT = "kept"
    OTHERS = "others"


class RestartCost(NamedTuple):
    """What a restart that we made cost: the milliseconds until rsyslogd listened again, and the UDP
    datagrams that meanwhile came to the host and found no socket, on whichever port."""

    away_ms: int
    datagrams: int


ThreadSeconds = Mapping[int, tuple[str, float]]
"""The threads of a process by their ids: the name, of at most 15 characters, and the CPU seconds
that it has used."""


@dataclass(frozen=True)
class Facts:
    """What a host has: the release of its rsyslogd (8.2302.0), the bytes of those live files that
    are there by their paths, who changes them just now, the process of the service, the sockets
    that it has and those that others have, and what our last restart there cost."""

    rsyslogd: str
    live: Mapping[str, bytes]
    pending: str | None
    pid: int
    opened: frozenset[str]
    taken: frozenset[str]
    restart: RestartCost | None = None

    def require_finished(self, name: str) -> None:
        """Raise Locked where a change on the host of that name is not finished."""
        if self.pending is not None:
            raise Locked(
                f"{name} has an unfinished change by {self.pending}: rsyslog-tune confirm or "
                "recover ends it"
            )


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
    """A configuration for a host: files by path with their texts (None: it goes), the mode of a new
    one, the sockets that it opens."""

    files: tuple[tuple[str, str | None], ...]
    mode: str
    sockets: tuple[str, ...]


@dataclass(frozen=True)
class ReplacedFile:
    """A file as a change found it, and the digest of what that put there; None for no file."""

    path: str
    content: bytes | None
    put: str | None


@dataclass(frozen=True)
class Previous:
    """What was there before the change that was kept last, and the run of that."""

    run: str
    files: tuple[ReplacedFile, ...]


class RemoteHost:
    """A machine of the inventory, and the files there that a profile is rendered to."""

    def __init__(self, machine: InventoryHost, paths: Iterable[str] = ()) -> None:
        self.machine = machine
        self.paths = tuple(paths)
        self.host: Host = connect(machine.name, machine.address)

    def facts(self, sockets: tuple[str, ...]) -> Facts:
        """What it has and runs, where it can be changed; changes nothing.  Raises Refused where
        our files would not be safe there."""
        settings = {"sockets": " ".join(sockets)}
        return self._asked("places; inspect", settings, lambda said: _facts(said, self.paths))

    def examined(self, sockets: tuple[str, ...], needed: tuple[str, ...]) -> Examined:
        """What it has and runs, and how it is with each needed `file PATH`, `secret PATH` and
        `certificate PATH`."""
        settings = {"sockets": " ".join(sockets), "needed": "\n".join(needed)}
        asked = {*self.paths, *(need.partition(" ")[2] for need in needed)}
        return self._asked(
            "inspect; examine", settings, lambda said: _examined(said, self.paths, asked)
        )

    def kernel_counts(self, ports: tuple[int, ...]) -> KernelCounts | None:
        """What the kernel counted since rsyslogd started, of it and of sockets on these UDP ports;
        None where no rsyslogd runs."""
        settings = {"ports": " ".join(map(str, ports))}
        return self._asked("counted", settings, lambda said: _kernel_counts(said, ports))

    def threads(self) -> ThreadSeconds:
        """The CPU that each thread of rsyslogd has used; none where none runs."""
        return self._asked("threads", {}, _threads)

    def _asked(
        self, call: str, settings: Mapping[str, str], read: Callable[[_Said], _Answered]
    ) -> _Answered:
        """What the script says, as `read` takes it; raises JobFailed for what it does not say."""
        said = _Said(tuple(self._call(call, settings).splitlines()))
        try:
            return read(said)
        except (KeyError, ValueError) as bad:
            complaint = f"{self.machine.name}: it does not answer as our script does"
            raise JobFailed(f"{complaint}: {str(bad)[:MOST_SHOWN]}") from None

    def apply(self, candidate: Candidate, run: str, confirm_within_s: int) -> None:
        """Put the candidate in the place of the live files, and restart the service; raises
        JobFailed where the host does not take it, which `restore` undoes."""
        numbered = list(enumerate(candidate.files, 1))
        settings = {
            "run": run,
            "holder": f"{platform.node()}, pid {os.getpid()}, run {run}",
            "mode": candidate.mode,
            "sockets": " ".join(candidate.sockets),
            "absent": " ".join(str(number) for number, (_, text) in numbered if text is None),
            "confirm_within_s": str(confirm_within_s),
        }
        printed = {
            **{
                f"candidate_{number}": raw_of(text)
                for number, (_, text) in numbered
                if text is not None
            },
            "undo": self._script("restore", {"run": run, "wait_s": str(_LONGEST_WAIT_S)}),
        }
        self._call("apply", settings, printed)

    def restore(self, tell: Tell, run: str = "") -> Undone:
        """Everything as before the change by that run, or by any, unless it was kept; tells of
        files that others changed meanwhile."""
        remarks, undone = self._asked("restore", {"run": run}, _undone)
        for remark in remarks:
            tell(f"{self.machine.name}: {remark[:MOST_SHOWN]}")
        return undone

    def keep(self, run: str) -> None:
        """End the change by that run: it stays."""
        self._call("keep", {"run": run})

    def previous(self) -> Previous | None:
        """What was there before the change that was kept last; None where there is none."""
        return self._asked("places; previous", {}, lambda said: _previous(said, self.machine.paths))

    def send_event(self, address: str, port: int, transport: str, mark: str) -> None:
        """Send one event to rsyslogd there, as local programs would."""
        self._call(shlex.join(["event", address, str(port), transport, mark]))

    def _call(
        self,
        call: str,
        settings: Mapping[str, str] | None = None,
        printed: Mapping[str, bytes] | None = None,
    ) -> str:
        """What the script prints."""
        framed = f"say '{BEGIN}'; {{ {call}; }} </dev/null; say '{END}'"
        script = self._script(framed, settings or {}, printed or {})
        answer = self.host.run(["sh", "-s"], script, 2 * _LIMIT_S)
        printed_text = printed_by_script(self.machine.name, answer).decode(errors="replace")
        if answer.code != 0:
            kind = _KINDS.get(answer.code, JobFailed)
            gone = f"its answer breaks off, with exit code {answer.code}"
            why = last_words(answer.err) if answer.err.strip() else gone
            raise kind(f"{self.machine.name}: {why}")
        return printed_text

    def _script(
        self, call: str, settings: Mapping[str, str], printed: Mapping[str, bytes] | None = None
    ) -> bytes:
        """host.sh about this machine, and the call."""
        machine, paths = self.machine, self.machine.paths
        variables = {
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
            "most_bytes": str(MAX_BYTES),
            "sockets": "",
            "absent": "",
            "run": "",
            **settings,
        }
        return script_of(_SCRIPT, variables, printed or {}, call)


def file_diff(machine: InventoryHost, path: str, live: bytes | None, new: bytes | None) -> str:
    """How a file of a host differs from what is to be there, as a unified diff; None is no file."""
    before, after = (
        None if content is None else content.decode("utf-8", "replace") for content in (live, new)
    )
    return "".join(unified(f"{machine.name}{path}", before, after))


_Answered = TypeVar("_Answered")


@dataclass(frozen=True)
class _Said:
    """What our script says, a fact a line: its name and the rest."""

    lines: tuple[str, ...]

    def all(self, name: str) -> list[str]:
        """Every fact of a name."""
        return [line[len(name) + 1 :] for line in self.lines if line.partition(" ")[0] == name]

    def value(self, name: str, pattern: str, default: str | None = None) -> str:
        """The fact of a name, `default` where it is missing.  Raises KeyError without one, and
        ValueError for one that is not of that form."""
        values = self.all(name) or ([] if default is None else [default])
        if not values:
            raise KeyError(name)
        return _like(pattern, values[-1])

    @property
    def file_limit(self) -> int | None:
        """How many files the process may have open, None for any number."""
        limit = "".join(self.all("files")[-1:])
        return int(limit) if re.fullmatch(r"[0-9]{1,20}", limit) else None


_MODE = r"[0-7]{1,5}"
_NUMBER = r"[0-9]{1,20}"
_STAT = rf"{_NUMBER} \(.{{0,64}}\) [A-Z]( -?{_NUMBER}){{12,64}}"


def _facts(said: _Said, paths: Container[str]) -> Facts:
    lives = (value.partition(" ") for value in said.all("live"))
    pending = said.all("pending")
    return Facts(
        rsyslogd=said.value("rsyslogd", r"[0-9.]{0,20}"),
        live={_asked_for(path, paths): _decoded(content) for path, _, content in lives},
        pending=pending[0][:MOST_SHOWN] if pending else None,
        pid=int(said.value("pid", _NUMBER)),
        opened=frozenset(said.all("open")),
        taken=frozenset(said.all("taken")),
        restart=_restart(said),
    )


def _restart(said: _Said) -> RestartCost | None:
    if not said.all("restart"):
        return None
    away_ms, _, datagrams = said.value("restart", rf"{_NUMBER} {_NUMBER}").partition(" ")
    return RestartCost(int(away_ms), int(datagrams))


def _examined(said: _Said, paths: Container[str], asked: Container[str]) -> Examined:
    def paths_of(kind: str) -> tuple[str, ...]:
        return tuple(_asked_for(path, asked) for path in said.all(kind))

    modes = (value.partition(" ") for value in said.all("mode"))
    return Examined(
        facts=_facts(said, paths),
        accepted=bool(said.all("accepted")),
        included=bool(said.all("includes")),
        stale=paths_of("stale"),
        uid=int(said.value("uid", _NUMBER, "0")),
        open_files=said.file_limit,
        rmem_bytes=int(said.value("rmem", _NUMBER, "0")),
        missing=paths_of("missing"),
        ends=paths_of("ends"),
        modes={_asked_for(path, asked): _like(_MODE, mode) for mode, _, path in modes},
    )


def _kernel_counts(said: _Said, ports: tuple[int, ...]) -> KernelCounts | None:
    drops = {}
    for value in said.all("drops"):
        port, _, count = value.partition(" ")
        drops[int(_asked_for(port, [*map(str, ports)]))] = int(_like(_NUMBER, count))
    now = int(said.value("now", _NUMBER))
    if not said.all("started"):
        return None
    return KernelCounts(int(said.value("started", _NUMBER)), now, drops, said.file_limit)


def _threads(said: _Said) -> ThreadSeconds:
    lines = [_like(_STAT, line) for line in said.all("thread")]
    return {int(line.partition(" ")[0]): parse_stat(line) for line in lines}


def _undone(said: _Said) -> tuple[tuple[str, ...], Undone]:
    *remarks, undone = said.lines or [""]
    return tuple(remarks), Undone(undone)


def _previous(said: _Said, paths: Paths) -> Previous | None:
    if not said.lines:
        return None
    files = tuple(_replaced(value, paths) for value in said.all("was"))
    return Previous(said.value("run", r"[0-9a-f-]{1,40}"), files)


def _replaced(line: str, paths: Paths) -> ReplacedFile:
    path, put, *encoded = line.split(" ")
    if path != paths.configuration and str(PurePosixPath(path).parent) != paths.fragments:
        raise ValueError(path)
    content = _decoded(encoded[0].removesuffix("=")) if encoded else None
    return ReplacedFile(path, content, None if put == "nothing" else _like(r"[0-9a-f]{64}", put))


def _decoded(content: str) -> bytes:
    return base64.b64decode(content, validate=True)


def _like(pattern: str, text: str) -> str:
    """The text, where it is of that form; raises ValueError."""
    if re.fullmatch(pattern, text) is None:
        raise ValueError(text)
    return text


def _asked_for(name: str, asked: Container[str]) -> str:
    """A path, or a port, that we asked for; raises ValueError for any other."""
    if name not in asked:
        raise ValueError(name)
    return name

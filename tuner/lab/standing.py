"""The record of a lab that stays until `lab down`: `lab up` writes it, others read it."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tuner.errors import JobFailed, Refused
from tuner.host.lock import state_folder
from tuner.host.process import end_group
from tuner.host.usage import started_at
from tuner.lab.scratch import make_passage

RUN_ID = "standing"
"""The run that owns what a standing lab creates in its engine."""


@dataclass(frozen=True)
class Process:
    """A process for good: its pid, and when it started."""

    pid: int
    started: str

    @property
    def alive(self) -> bool:
        """Whether this very process still runs."""
        return started_at(self.pid) == self.started


@dataclass(frozen=True)
class StandingNode:
    """A further node of the engine: where it answers, and its process."""

    url: str
    process: Process


@dataclass(frozen=True)
class Standing:
    """A lab that is up: where the engine and rsyslogd answer, and what they run on; `url` and
    `engine` are those of its first node.

    `flood` is the command that reaches rsyslogd, but for how many messages.
    """

    url: str
    version: str
    heap: str
    syslog: str
    flood: str
    index: str
    engine: Process
    rsyslogd: Process
    other_nodes: tuple[StandingNode, ...] = ()

    @property
    def alive(self) -> bool:
        """Whether the engine still runs, with all its nodes."""
        return all(process.alive for process in self.nodes)

    @property
    def nodes(self) -> tuple[Process, ...]:
        """The process of each node."""
        return (self.engine, *(node.process for node in self.other_nodes))

    @property
    def others(self) -> tuple[str, ...]:
        """The addresses of the further nodes."""
        return tuple(node.url for node in self.other_nodes)


_STANDING = TypeAdapter(Standing)


def folder() -> Path:
    """The folder of the standing lab."""
    return state_folder() / "lab"


def process_of(pid: int) -> Process:
    """The process with this pid; raises JobFailed when there is none."""
    started = started_at(pid)
    if started is None:
        raise JobFailed(f"process {pid} is gone")
    return Process(pid, started)


def read() -> Standing | None:
    """The record of the standing lab, alive or not; None when none is up.

    Raises Refused where others can write it, since `end` kills what it names.
    """
    path = folder() / "lab.json"
    try:
        owner = folder().stat(follow_symlinks=False).st_uid
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    if owner != os.geteuid():
        raise Refused(
            f"{folder()} belongs to another user, who may have changed the record of the lab in "
            "it: end its processes yourself and remove the folder"
        )
    try:
        return _STANDING.validate_json(text)
    except ValidationError:
        raise JobFailed(
            f"{path} is damaged: end the lab's rsyslogd and engine yourself, then remove {folder()}"
        ) from None


def write(standing: Standing) -> None:
    """Record a lab that is up."""
    text = json.dumps(asdict(standing), indent=2) + "\n"
    (folder() / "lab.json").write_text(text, encoding="utf-8")


def make_folder() -> Path:
    """An empty folder for a new standing lab."""
    folder().parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    shutil.rmtree(folder(), ignore_errors=True)
    make_passage(folder())
    return folder()


def end(standing: Standing | None) -> None:
    """End the standing lab's processes, if they are still the same, and remove its files."""
    if standing is not None:
        for process in (standing.rsyslogd, *standing.nodes):
            if process.alive:
                end_group(process.pid)
    shutil.rmtree(folder(), ignore_errors=True)


def usable(version: str, nodes: int) -> Standing | None:
    """The standing lab, when it is alive and runs the wanted engine version on so many nodes."""
    lab = read()
    fits = lab is not None and lab.alive and (lab.version, len(lab.nodes)) == (version, nodes)
    return lab if fits else None

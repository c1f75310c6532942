"""The nodes of an engine of ours: started together, each with its settings and its process, and
restarted with other ones."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tuner.engine.client import EngineClient
from tuner.engine.status import node_count
from tuner.engines.node import fitting_heap
from tuner.engines.release import Engine
from tuner.engines.versions import Distribution, distribution_for
from tuner.errors import JobFailed, Unreachable
from tuner.host.process import Daemon, own_environment, wait_until
from tuner.host.programs import Java, java_for
from tuner.host.usage import memory_bytes, memory_kills
from tuner.lab.distribution import home_of
from tuner.lab.entrances import free_ports
from tuner.lab.scratch import make_passage, subfolder
from tuner.modules.input import LOOPBACK
from tuner.profile.model import Profile

START_TIMEOUT_S = 300.0
"""How long a node has to answer; nodes that start together share the cores, and have the sum."""

_POLL_S = 0.25


NODE_NAME = "lab"
"""What the node of an engine is called; one of several has its number behind it."""

# Since when the archive has what makes certificates and passwords at the first start, and then ends
# because of them; seen on 9.5.0 and 9.5.4, while 7.17 knows no such setting.
_CONFIGURES_SECURITY = (9, 5)

# Of an engine that died, the message holds so much of its log, and nothing of its daily business.
_TELLING = re.compile(r"ERROR|FATAL|fatal|OutOfMemory|Exception")
_DAILY = re.compile(r"\]\[(INFO|DEBUG|TRACE) *\]|exited unexpectedly")
_LOG_LINES, _LOG_CHARACTERS = 2, 300


@dataclass(frozen=True)
class NodePlan:
    """What to start: which engine, of how many nodes, each with so much heap ("2g") and these
    extra node settings."""

    distribution: Distribution
    heap: str
    settings: Mapping[str, str | int | bool] = field(default_factory=dict)
    dies_with_us: bool = True
    nodes: int = 1


@dataclass(frozen=True)
class NodeRoom:
    """What a node of an engine of ours has of this machine: its name and a folder for its own, the
    port of loopback at which it answers, a part of the memory, and where the nodes talk to each
    other (HOST:PORT), its own first."""

    name: str
    folder: Path
    port: int
    memory_bytes: int
    transport: Sequence[str]

    @property
    def url(self) -> str:
        """The address at which it answers."""
        return f"http://{LOOPBACK}:{self.port}"


def nodes_here(folder: Path, nodes: int = 1) -> tuple[NodeRoom, ...]:
    """So many nodes on loopback, which share this machine's memory."""
    first, memory = free_ports(2 * nodes), memory_bytes() // nodes
    transport = [f"{LOOPBACK}:{first + 2 * number + 1}" for number in range(nodes)]
    return tuple(
        NodeRoom(
            name=f"{NODE_NAME}-{number + 1}" if nodes > 1 else NODE_NAME,
            folder=folder,
            port=first + 2 * number,
            memory_bytes=memory,
            transport=transport[number:] + transport[:number],
        )
        for number in range(nodes)
    )


def plan_for(profile: Profile, rooms: Sequence[NodeRoom], *, dies_with_us: bool = True) -> NodePlan:
    """The engine of a profile's release with a node in each room, whose heap takes at most half of
    the memory that it has there."""
    heap = fitting_heap(profile.node.heap, min(room.memory_bytes for room in rooms))
    distribution = distribution_for(profile.release)
    return NodePlan(distribution, heap, profile.node.settings, dies_with_us, len(rooms))


class NodeRefused(JobFailed):
    """The engine does not start with the settings wanted; it runs with those it had before."""


class Nodes:
    """A running engine that stays at its addresses through restarts, each of which begins without
    data: the `plan` that it runs with, and the nodes that are `running`."""

    def __init__(self, plan: NodePlan, rooms: Sequence[NodeRoom]) -> None:
        self._first = self.plan = plan
        self._rooms = tuple(rooms)
        self.running: tuple[NodeProcess, ...] = ()
        self._start(plan)

    @property
    def memory_bytes(self) -> int:
        """How much memory each node has, heap and cache."""
        return min(room.memory_bytes for room in self._rooms)

    def client(self) -> EngineClient:
        """A client of whichever node answers; the caller closes it."""
        first, *following = (room.url for room in self._rooms)
        return EngineClient(first, other_urls=following)

    def ending(self) -> str | None:
        """How the first node that ended did so, or None while all run."""
        return next((ending for node in self.running if (ending := node.ending())), None)

    def run_with(self, heap: str, settings: Mapping[str, str | int | bool]) -> float:
        """Restart the engine where `heap` or `settings` differ from what it runs with; the seconds
        from its end to its first answer, 0 without a restart.

        Raises NodeRefused when it does not start so, and Unreachable when it then does not start
        as before either.
        """
        before, plan = self.plan, replace(self.plan, heap=heap, settings=settings)
        if plan == before:
            return 0.0
        started = time.monotonic()
        try:
            self._start(plan)
        except JobFailed as refused:
            self._go_back(before)
            raise NodeRefused(f"with other node settings {refused}") from None
        return time.monotonic() - started

    def start_again(self) -> None:
        """Start the engine as it was started first, whatever has become of it; raises Unreachable
        when it does not answer."""
        self._go_back(self._first)

    def stop(self) -> None:
        """End the engine and everything it started."""
        for node in self.running:
            node.stop()

    def _go_back(self, plan: NodePlan) -> None:
        try:
            self._start(plan)
        except JobFailed as error:
            raise Unreachable(f"the engine did not start again: {error}") from None

    def _start(self, plan: NodePlan) -> None:
        """End what runs, and start every node without data."""
        self.stop()
        self.plan, self.running = plan, ()
        try:
            for room in self._rooms:
                self.running += (NodeProcess(plan, room),)
            self._wait()
        except BaseException:
            self.stop()
            raise

    def _wait(self) -> None:
        """Wait until each node answers and is one of the cluster."""
        name, patience_s = self.plan.distribution.engine.value, START_TIMEOUT_S * self.plan.nodes
        clients = [EngineClient(node.url, timeout_s=5) for node in self.running]

        def is_complete() -> bool:
            for node in self.running:
                if (ending := node.exit()) is not None:
                    raise JobFailed(f"{name} ended with {ending} while starting:\n{node.reasons()}")
            return all(node_count(client) >= len(clients) for client in clients)

        try:
            if not wait_until(is_complete, patience_s, _POLL_S):
                reasons = self.running[0].reasons()
                raise JobFailed(f"{name} did not answer within {patience_s:.0f} s:\n{reasons}")
        finally:
            for client in clients:
                client.close()


class NodeProcess(Daemon):
    """A node that was started without data, once the one before it in its room has ended; `stop`
    ends it.  Its data is thrown away, so it is not asked nicely."""

    def __init__(self, plan: NodePlan, room: NodeRoom) -> None:
        self._room = room
        if not room.folder.exists():
            make_passage(room.folder)
        shutil.rmtree(room.folder / room.name, ignore_errors=True)
        java = java_for(plan.distribution.java_lowest, plan.distribution.java_highest)
        self._memory_kills = memory_kills()
        folder = subfolder(room.folder, room.name)
        super().__init__(
            [str(home_of(plan.distribution) / "bin" / plan.distribution.engine.value)],
            folder / "engine.log",
            folder,
            _prepare(plan, folder, room, java),
            plan.dies_with_us,
        )

    @property
    def url(self) -> str:
        """The address at which the node answers."""
        return self._room.url

    def ending(self) -> str | None:
        """How the node ended, with what is known of why, or None while it runs."""
        ending = self.exit()
        if ending is None:
            return None
        if self._memory_kills is not None and (memory_kills() or 0) > self._memory_kills:
            ending += ", and the kernel ended a process for lack of memory"
        lines = [line for line in self.reasons().splitlines() if not _DAILY.search(line)]
        errors = [line for line in lines if _TELLING.search(line)]
        log = " | ".join(errors[-_LOG_LINES:] or lines[-1:])
        return f"{ending}; its log says: {log[:_LOG_CHARACTERS]}" if log else ending

    def exit(self) -> str | None:
        """How the node ended, and which it was of several; None while it runs."""
        ending = super().ending()
        if ending is None or self._room.name == NODE_NAME:
            return ending
        return f"{ending} of its node {self._room.name}"

    def reasons(self) -> str:
        """What it wrote last, without the frames of Java's stack."""
        lines = self.last_lines(200)
        telling = [line for line in lines if not re.match(r"\s+at |\s*\.\.\. ", line)]
        return "\n".join(telling[-12:])


def _prepare(plan: NodePlan, folder: Path, room: NodeRoom, java: Java) -> dict[str, str]:
    """Write the node's configuration, for which it needs the environment that this gives.

    The temporary folder must not contain the configuration: Elasticsearch 8.19 grants its own
    modules the temporary folder and refuses to start when that covers the configuration.
    """
    home = home_of(plan.distribution)
    config = subfolder(folder, "config")
    for name in ("data", "logs", "tmp"):
        subfolder(folder, name)
    options = subfolder(config, "jvm.options.d") / "heap.options"
    engine = plan.distribution.engine
    written = {
        config / f"{engine.value}.yml": _settings(plan, folder, room),
        config / "jvm.options": _jvm_options(home / "config" / "jvm.options", folder),
        config / "log4j2.properties": (home / "config" / "log4j2.properties").read_text("utf-8"),
        options: f"-Xms{plan.heap}\n-Xmx{plan.heap}\n",
    }
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
    prefix = "ES" if engine is Engine.ELASTICSEARCH else "OPENSEARCH"
    return own_environment() | {
        f"{prefix}_JAVA_HOME": str(java.home),
        f"{prefix}_PATH_CONF": str(config),
        f"{prefix}_TMPDIR": str(folder / "tmp"),
        "LIBFFI_TMPDIR": str(folder / "tmp"),
    }


def _settings(plan: NodePlan, folder: Path, room: NodeRoom) -> str:
    """The node's settings file: at one address only, security off, no disk watermarks."""
    lines = {
        "cluster.name": "rsyslog-tune-lab",
        "node.name": room.name,
        "path.data": str(folder / "data"),
        "path.logs": str(folder / "logs"),
        "network.host": LOOPBACK,
        "http.port": str(room.port),
        "transport.port": room.transport[0].rpartition(":")[2],
        **_discovery(plan, room),
        "cluster.routing.allocation.disk.threshold_enabled": "false",
    }
    if plan.distribution.engine is Engine.ELASTICSEARCH:
        lines["xpack.security.enabled"] = "false"
        if plan.distribution.release.engine_version >= _CONFIGURES_SECURITY:
            lines["xpack.security.autoconfiguration.enabled"] = "false"
    lines |= {name: json.dumps(value) for name, value in plan.settings.items()}
    return "".join(f"{key}: {value}\n" for key, value in lines.items())


def _discovery(plan: NodePlan, room: NodeRoom) -> dict[str, str]:
    """How the nodes find each other: the first alone founds the cluster, the others join it."""
    if plan.nodes == 1:
        return {"discovery.type": "single-node"}
    is_elastic = plan.distribution.engine is Engine.ELASTICSEARCH
    electable = "master" if is_elastic else "cluster_manager"
    return {
        "discovery.seed_hosts": json.dumps(list(room.transport)),
        f"cluster.initial_{electable}_nodes": json.dumps([f"{NODE_NAME}-1"]),
    }


def _jvm_options(shipped: Path, folder: Path) -> str:
    """The shipped options with relative paths turned into the lab's, and no GC log."""
    lines = [line for line in shipped.read_text("utf-8").splitlines() if "gc.log" not in line]
    text = "\n".join(lines) + "\n"
    text = text.replace("=logs/", f"={folder}/logs/")
    return re.sub(r"HeapDumpPath=\S+", f"HeapDumpPath={folder}/data", text)

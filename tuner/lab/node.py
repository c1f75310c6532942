"""A node of ours: its settings and its process."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tuner.engines.release import Engine
from tuner.engines.versions import Distribution
from tuner.host.process import Command, Daemon, own_environment
from tuner.host.programs import Java, java_for
from tuner.host.usage import memory_kills
from tuner.lab.distribution import home_of
from tuner.lab.scratch import subfolder
from tuner.modules.input import LOOPBACK

NODE_NAME = "lab"
"""What the node of an engine is called; one of several has its number behind it."""

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
class NodePlace:
    """Which node of an engine of ours it is: its name, the port of loopback at which it answers,
    and where the nodes talk to each other (HOST:PORT), its own first."""

    name: str
    port: int
    transport: Sequence[str]

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{LOOPBACK}:{self.port}"


class NodeProcess:
    """A node that was started; `stop` ends it.  Its data is thrown away, so it is not asked
    nicely."""

    def __init__(self, plan: NodePlan, folder: Path, place: NodePlace) -> None:
        self._place = place
        java = java_for(plan.distribution.java_lowest, plan.distribution.java_highest)
        self._memory_kills = memory_kills()
        self._daemon = Daemon(_prepare(plan, folder, place, java))

    @property
    def url(self) -> str:
        """Where the node answers."""
        return self._place.url

    @property
    def pid(self) -> int:
        """The process group of the node."""
        return self._daemon.pid

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
        ending = self._daemon.ending()
        if ending is None or self._place.name == NODE_NAME:
            return ending
        return f"{ending} of its node {self._place.name}"

    def stop(self) -> None:
        """End the node and everything it started."""
        self._daemon.stop()

    def reasons(self) -> str:
        """What it wrote last, without the frames of Java's stack."""
        lines = self._daemon.last_lines(200)
        telling = [line for line in lines if not re.match(r"\s+at |\s*\.\.\. ", line)]
        return "\n".join(telling[-12:])


def _prepare(plan: NodePlan, folder: Path, place: NodePlace, java: Java) -> Command:
    """Write the node's configuration and say how to start it.

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
        config / f"{engine.value}.yml": _settings(plan, folder, place),
        config / "jvm.options": _jvm_options(home / "config" / "jvm.options", folder),
        config / "log4j2.properties": (home / "config" / "log4j2.properties").read_text("utf-8"),
        options: f"-Xms{plan.heap}\n-Xmx{plan.heap}\n",
    }
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
    prefix = "ES" if engine is Engine.ELASTICSEARCH else "OPENSEARCH"
    return Command(
        arguments=[str(home / "bin" / engine.value)],
        log=folder / "engine.log",
        folder=folder,
        environment=own_environment()
        | {
            f"{prefix}_JAVA_HOME": str(java.home),
            f"{prefix}_PATH_CONF": str(config),
            f"{prefix}_TMPDIR": str(folder / "tmp"),
            "LIBFFI_TMPDIR": str(folder / "tmp"),
        },
        dies_with_us=plan.dies_with_us,
    )


def _settings(plan: NodePlan, folder: Path, place: NodePlace) -> str:
    """The node's settings file: at one address only, security off, no disk watermarks."""
    lines = {
        "cluster.name": "rsyslog-tune-lab",
        "node.name": place.name,
        "path.data": str(folder / "data"),
        "path.logs": str(folder / "logs"),
        "network.host": LOOPBACK,
        "http.port": str(place.port),
        "transport.port": place.transport[0].rpartition(":")[2],
        **_discovery(plan, place),
        "cluster.routing.allocation.disk.threshold_enabled": "false",
    }
    if plan.distribution.engine is Engine.ELASTICSEARCH:
        lines["xpack.security.enabled"] = "false"
    lines |= {name: json.dumps(value) for name, value in plan.settings.items()}
    return "".join(f"{key}: {value}\n" for key, value in lines.items())


def _discovery(plan: NodePlan, place: NodePlace) -> dict[str, str]:
    """How the nodes find each other: the first alone founds the cluster, the others join it."""
    if plan.nodes == 1:
        return {"discovery.type": "single-node"}
    is_elastic = plan.distribution.engine is Engine.ELASTICSEARCH
    electable = "master" if is_elastic else "cluster_manager"
    return {
        "discovery.seed_hosts": json.dumps(list(place.transport)),
        f"cluster.initial_{electable}_nodes": json.dumps([f"{NODE_NAME}-1"]),
    }


def _jvm_options(shipped: Path, folder: Path) -> str:
    """The shipped options with relative paths turned into the lab's, and no GC log."""
    kept = [line for line in shipped.read_text("utf-8").splitlines() if "gc.log" not in line]
    text = "\n".join(kept) + "\n"
    text = text.replace("=logs/", f"={folder}/logs/")
    return re.sub(r"HeapDumpPath=\S+", f"HeapDumpPath={folder}/data", text)

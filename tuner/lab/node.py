"""A node of ours: its process, and restarts with other settings."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tuner.engine.client import EngineClient
from tuner.engine.probe import answers
from tuner.engines.release import Engine
from tuner.engines.versions import Distribution
from tuner.errors import JobFailed, Unreachable
from tuner.host.process import Command, Daemon, own_environment
from tuner.host.programs import Java, java_for
from tuner.host.usage import memory_kills
from tuner.lab.distribution import home_of
from tuner.lab.ports import free_port
from tuner.lab.scratch import subfolder

START_TIMEOUT_S = 120.0
_POLL_S = 0.25
# Of an engine that died, the message holds so much of its log, and nothing of its daily business.
_TELLING = re.compile(r"ERROR|FATAL|fatal|OutOfMemory|Exception")
_DAILY = re.compile(r"\]\[(INFO|DEBUG|TRACE) *\]|exited unexpectedly")
_LOG_LINES, _LOG_CHARACTERS = 2, 300


@dataclass(frozen=True)
class NodePlan:
    """What to start: which engine, with how much heap ("2g") and which extra node settings."""

    distribution: Distribution
    heap: str
    settings: Mapping[str, str | int | bool] = field(default_factory=dict)
    dies_with_us: bool = True


class NodeProcess:
    """A running engine; `stop` ends it.  Its data is thrown away, so it is not asked nicely.

    It answers on `port`, or on one that nobody uses.
    """

    def __init__(
        self,
        plan: NodePlan,
        folder: Path,
        port: int | None = None,
        patience_s: float = START_TIMEOUT_S,
    ) -> None:
        self.plan = plan
        self.folder = folder
        self._port = free_port() if port is None else port
        java = java_for(plan.distribution.java_lowest, plan.distribution.java_highest)
        self._memory_kills = memory_kills()
        self._daemon = Daemon(_prepare(plan, folder, self._port, java))
        try:
            self._wait(patience_s)
        except BaseException:
            self.stop()
            raise

    @property
    def url(self) -> str:
        """Where the engine answers."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        """Where the engine listens."""
        return self._port

    @property
    def pid(self) -> int:
        """The process group of the engine."""
        return self._daemon.pid

    def ending(self) -> str | None:
        """How the engine ended, with what is known of why, or None while it runs."""
        ending = self._daemon.ending()
        if ending is None:
            return None
        if self._memory_kills is not None and (memory_kills() or 0) > self._memory_kills:
            ending += ", and the kernel ended a process for lack of memory"
        lines = [line for line in self._reasons().splitlines() if not _DAILY.search(line)]
        errors = [line for line in lines if _TELLING.search(line)]
        log = " | ".join(errors[-_LOG_LINES:] or lines[-1:])
        return f"{ending}; its log says: {log[:_LOG_CHARACTERS]}" if log else ending

    def stop(self) -> None:
        """End the engine and everything it started."""
        self._daemon.stop()

    def _wait(self, patience_s: float) -> None:
        client = EngineClient(self.url, timeout_s=5)
        started = time.monotonic()
        while not answers(client):
            passed = time.monotonic() - started
            ending = self._daemon.ending()
            name = self.plan.distribution.engine.value
            if ending is not None:
                raise JobFailed(f"{name} ended with {ending} while starting:\n{self._reasons()}")
            if passed > patience_s:
                raise JobFailed(
                    f"{name} did not answer within {patience_s:.0f} s:\n{self._reasons()}"
                )
            time.sleep(_POLL_S)
        client.close()

    def _reasons(self) -> str:
        lines = self._daemon.last_lines(200)
        telling = [line for line in lines if not re.match(r"\s+at |\s*\.\.\. ", line)]
        return "\n".join(telling[-12:])


def _prepare(plan: NodePlan, folder: Path, port: int, java: Java) -> Command:
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
        config / f"{engine.value}.yml": _settings(plan, folder, port),
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


def _settings(plan: NodePlan, folder: Path, port: int) -> str:
    """The node's settings file: one node, loopback only, security off, no disk watermarks."""
    lines = {
        "cluster.name": "rsyslog-tune-lab",
        "node.name": "lab",
        "path.data": str(folder / "data"),
        "path.logs": str(folder / "logs"),
        "network.host": "127.0.0.1",
        "http.port": str(port),
        "transport.port": str(free_port()),
        "discovery.type": "single-node",
        "cluster.routing.allocation.disk.threshold_enabled": "false",
    }
    if plan.distribution.engine is Engine.ELASTICSEARCH:
        lines["xpack.security.enabled"] = "false"
    lines |= {name: json.dumps(value) for name, value in plan.settings.items()}
    return "".join(f"{key}: {value}\n" for key, value in lines.items())


def _jvm_options(shipped: Path, folder: Path) -> str:
    """The shipped options with relative paths turned into the lab's, and no GC log."""
    kept = [line for line in shipped.read_text("utf-8").splitlines() if "gc.log" not in line]
    text = "\n".join(kept) + "\n"
    text = text.replace("=logs/", f"={folder}/logs/")
    return re.sub(r"HeapDumpPath=\S+", f"HeapDumpPath={folder}/data", text)


class NodeRefused(JobFailed):
    """The engine does not start with the settings wanted; it runs with those it had before."""


class RestartableNode:
    """A running engine that stays at its address through restarts; each begins without data."""

    def __init__(self, plan: NodePlan, folder: Path) -> None:
        self._first = plan
        self._folder = folder
        self._node = NodeProcess(plan, subfolder(folder.parent, folder.name))

    @property
    def url(self) -> str:
        """Where the engine answers, before and after a restart."""
        return self._node.url

    @property
    def plan(self) -> NodePlan:
        """What it runs with."""
        return self._node.plan

    def ending(self) -> str | None:
        """How the engine ended, or None while it runs."""
        return self._node.ending()

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
            self._restart(plan)
        except JobFailed as refused:
            self._go_back(before)
            raise NodeRefused(f"with other node settings {refused}") from None
        return time.monotonic() - started

    def start_again(self, patience_s: float) -> None:
        """Start the engine as it was started first, whatever has become of it; raises Unreachable
        when it does not answer within so many seconds."""
        self._go_back(self._first, patience_s)

    def stop(self) -> None:
        """End the engine and everything it started."""
        self._node.stop()

    def _restart(self, plan: NodePlan, patience_s: float = START_TIMEOUT_S) -> None:
        port = self._node.port
        self._node.stop()
        shutil.rmtree(self._folder)
        folder = subfolder(self._folder.parent, self._folder.name)
        self._node = NodeProcess(plan, folder, port, patience_s)

    def _go_back(self, plan: NodePlan, patience_s: float = START_TIMEOUT_S) -> None:
        try:
            self._restart(plan, patience_s)
        except JobFailed as error:
            raise Unreachable(f"the engine does not start any more: {error}") from None

"""The nodes of an engine of ours: started together, restarted with other settings."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from tuner.engine.client import EngineClient
from tuner.engine.probe import node_count
from tuner.engines.heap import fitting_heap
from tuner.engines.versions import distribution_for
from tuner.errors import JobFailed, Unreachable
from tuner.host.usage import memory_bytes
from tuner.lab.node import NODE_NAME, NodePlace, NodePlan, NodeProcess
from tuner.lab.ports import free_ports
from tuner.lab.scratch import make_passage, subfolder
from tuner.profile.model import Profile

START_TIMEOUT_S = 300.0
"""How long a node has to answer; nodes that start together share the cores, and have the sum."""

_POLL_S = 0.25


def plan_for(profile: Profile, *, dies_with_us: bool = True) -> NodePlan:
    """The engine of a profile's release with as many nodes as it says, whose heaps together take at
    most half of this machine's memory."""
    nodes = profile.lab.nodes
    heap = fitting_heap(profile.node.heap, memory_bytes() // nodes)
    distribution = distribution_for(profile.release)
    return NodePlan(distribution, heap, profile.node.settings, dies_with_us, nodes)


class NodeRefused(JobFailed):
    """The engine does not start with the settings wanted; it runs with those it had before."""


class Nodes:
    """A running engine that stays at its addresses through restarts; each begins without data."""

    def __init__(self, plan: NodePlan, folder: Path) -> None:
        self._first = self._plan = plan
        self._folder = folder
        self._port = free_ports(2 * plan.nodes)
        self._processes: tuple[NodeProcess, ...] = ()
        self._start(plan, START_TIMEOUT_S)

    @property
    def plan(self) -> NodePlan:
        """What it runs with."""
        return self._plan

    @property
    def processes(self) -> tuple[NodeProcess, ...]:
        """The process of each node."""
        return self._processes

    @property
    def urls(self) -> tuple[str, ...]:
        """Where each node answers, before and after a restart."""
        return tuple(one.url for one in self._processes)

    def client(self) -> EngineClient:
        """A client of whichever node answers; the caller closes it."""
        first, *others = self.urls
        return EngineClient(first, others=others)

    def ending(self) -> str | None:
        """How the first node that ended did so, or None while all run."""
        return next((how for one in self._processes if (how := one.ending())), None)

    def run_with(self, heap: str, settings: Mapping[str, str | int | bool]) -> float:
        """Restart the engine where `heap` or `settings` differ from what it runs with; the seconds
        from its end to its first answer, 0 without a restart.

        Raises NodeRefused when it does not start so, and Unreachable when it then does not start
        as before either.
        """
        before, plan = self._plan, replace(self._plan, heap=heap, settings=settings)
        if plan == before:
            return 0.0
        started = time.monotonic()
        try:
            self._start(plan, START_TIMEOUT_S)
        except JobFailed as refused:
            self._go_back(before, START_TIMEOUT_S)
            raise NodeRefused(f"with other node settings {refused}") from None
        return time.monotonic() - started

    def start_again(self, patience_s: float) -> None:
        """Start the engine as it was started first, whatever has become of it; raises Unreachable
        when it does not answer within so many seconds for each node."""
        self._go_back(self._first, patience_s)

    def stop(self) -> None:
        """End the engine and everything it started."""
        for one in self._processes:
            one.stop()

    def _go_back(self, plan: NodePlan, patience_s: float) -> None:
        try:
            self._start(plan, patience_s)
        except JobFailed as error:
            raise Unreachable(f"the engine does not start any more: {error}") from None

    def _start(self, plan: NodePlan, patience_s: float) -> None:
        """End what runs, and start every node without data."""
        self.stop()
        if self._folder.exists():
            shutil.rmtree(self._folder)
        make_passage(self._folder)
        self._plan, self._processes = plan, ()
        transport = [self._port + plan.nodes + number for number in range(plan.nodes)]
        try:
            for number in range(plan.nodes):
                place = NodePlace(
                    name=f"{NODE_NAME}-{number + 1}" if plan.nodes > 1 else NODE_NAME,
                    port=self._port + number,
                    transport=transport[number:] + transport[:number],
                )
                folder = subfolder(self._folder, place.name)
                self._processes += (NodeProcess(plan, folder, place),)
            self._wait(patience_s)
        except BaseException:
            self.stop()
            raise

    def _wait(self, patience_s: float) -> None:
        """Wait until each node answers and is one of the cluster."""
        started, name = time.monotonic(), self._plan.distribution.engine.value
        patience_s *= self._plan.nodes
        with ExitStack() as closing:
            clients = [EngineClient(url, timeout_s=5) for url in self.urls]
            for client in clients:
                closing.callback(client.close)
            while any(node_count(client) < len(clients) for client in clients):
                for one in self._processes:
                    ending = one.exit()
                    if ending is not None:
                        raise JobFailed(
                            f"{name} ended with {ending} while starting:\n{one.reasons()}"
                        )
                if time.monotonic() - started > patience_s:
                    raise JobFailed(
                        f"{name} did not answer within {patience_s:.0f} s:\n"
                        f"{self._processes[0].reasons()}"
                    )
                time.sleep(_POLL_S)

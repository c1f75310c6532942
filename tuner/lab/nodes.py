"""The nodes of an engine of ours: started together, restarted with other settings."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from tuner.engine.client import EngineClient
from tuner.engine.probe import node_count
from tuner.engines.node import fitting_heap
from tuner.engines.versions import distribution_for
from tuner.errors import JobFailed, Unreachable
from tuner.host.usage import memory_bytes
from tuner.lab.node import NODE_NAME, NodePlace, NodePlan, NodeProcess
from tuner.lab.ports import free_ports
from tuner.lab.scratch import make_passage, subfolder
from tuner.modules.input import LOOPBACK
from tuner.profile.model import Profile

START_TIMEOUT_S = 300.0
"""How long a node has to answer; nodes that start together share the cores, and have the sum."""

_POLL_S = 0.25


@dataclass(frozen=True)
class NodeRoom:
    """What a node has of this machine: the first of two free ports, a part of the memory, and a
    folder that holds its files."""

    folder: Path
    port: int
    memory_bytes: int

    def start(self, plan: NodePlan, place: NodePlace) -> NodeProcess:
        """Start a node without data; the one before it has ended."""
        if not self.folder.exists():
            make_passage(self.folder)
        if (self.folder / place.name).exists():
            shutil.rmtree(self.folder / place.name)
        return NodeProcess(plan, subfolder(self.folder, place.name), place)


def nodes_here(folder: Path, nodes: int = 1) -> tuple[NodeRoom, ...]:
    """So many nodes on loopback, which share this machine's memory."""
    first, memory = free_ports(2 * nodes), memory_bytes() // nodes
    return tuple(NodeRoom(folder, first + 2 * number, memory) for number in range(nodes))


def plan_for(profile: Profile, rooms: Sequence[NodeRoom], *, dies_with_us: bool = True) -> NodePlan:
    """The engine of a profile's release with a node in each room, whose heap takes at most half of
    the memory that it has there."""
    heap = fitting_heap(profile.node.heap, min(room.memory_bytes for room in rooms))
    distribution = distribution_for(profile.release)
    return NodePlan(distribution, heap, profile.node.settings, dies_with_us, len(rooms))


class NodeRefused(JobFailed):
    """The engine does not start with the settings wanted; it runs with those it had before."""


class Nodes:
    """A running engine that stays at its addresses through restarts; each begins without data."""

    def __init__(self, plan: NodePlan, rooms: Sequence[NodeRoom]) -> None:
        self._first = self._plan = plan
        self._rooms = tuple(zip(rooms, _places(rooms), strict=True))
        self._running: tuple[NodeProcess, ...] = ()
        self._start(plan, START_TIMEOUT_S)

    @property
    def plan(self) -> NodePlan:
        """What it runs with."""
        return self._plan

    @property
    def running(self) -> tuple[NodeProcess, ...]:
        """Each node."""
        return self._running

    @property
    def memory_bytes(self) -> int:
        """How much memory each node has, heap and cache."""
        return min(room.memory_bytes for room, _ in self._rooms)

    def client(self) -> EngineClient:
        """A client of whichever node answers; the caller closes it."""
        first, *others = (place.url for _, place in self._rooms)
        return EngineClient(first, others=others)

    def ending(self) -> str | None:
        """How the first node that ended did so, or None while all run."""
        return next((how for one in self._running if (how := one.ending())), None)

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
        for one in self._running:
            one.stop()

    def _go_back(self, plan: NodePlan, patience_s: float) -> None:
        try:
            self._start(plan, patience_s)
        except JobFailed as error:
            raise Unreachable(f"the engine did not start again: {error}") from None

    def _start(self, plan: NodePlan, patience_s: float) -> None:
        """End what runs, and start every node without data."""
        self.stop()
        self._plan, self._running = plan, ()
        try:
            for room, place in self._rooms:
                self._running += (room.start(plan, place),)
            self._wait(patience_s)
        except BaseException:
            self.stop()
            raise

    def _wait(self, patience_s: float) -> None:
        """Wait until each node answers and is one of the cluster."""
        started, name = time.monotonic(), self._plan.distribution.engine.value
        patience_s *= self._plan.nodes
        with ExitStack() as closing:
            clients = [EngineClient(one.url, timeout_s=5) for one in self._running]
            for client in clients:
                closing.callback(client.close)
            while any(node_count(client) < len(clients) for client in clients):
                for one in self._running:
                    ending = one.exit()
                    if ending is not None:
                        raise JobFailed(
                            f"{name} ended with {ending} while starting:\n{one.reasons()}"
                        )
                if time.monotonic() - started > patience_s:
                    raise JobFailed(
                        f"{name} did not answer within {patience_s:.0f} s:\n"
                        f"{self._running[0].reasons()}"
                    )
                time.sleep(_POLL_S)


def _places(rooms: Sequence[NodeRoom]) -> tuple[NodePlace, ...]:
    """The place of each node; each knows all, its own first."""
    transport = [f"{LOOPBACK}:{room.port + 1}" for room in rooms]
    return tuple(
        NodePlace(
            name=f"{NODE_NAME}-{number + 1}" if len(rooms) > 1 else NODE_NAME,
            port=room.port,
            transport=transport[number:] + transport[:number],
        )
        for number, room in enumerate(rooms)
    )

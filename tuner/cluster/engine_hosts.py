"""The engine hosts, as the lab sees them whose engine runs there: by what they say and are told."""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from tuner.cluster import relayed
from tuner.engines.versions import Distribution
from tuner.errors import TuneError, Unreachable
from tuner.lab.loads import MachineCounts
from tuner.lab.node import NodePlace, NodePlan

ENGINE_HOST = "tuner.cluster.engine_host"
"""The module of the process on an engine host."""

# Of a download, and of a node that is started or ended.
_DOWNLOAD_S = 900.0
_ANSWER_S = 60.0

A = TypeVar("A", bound=relayed.FromEngine)


@dataclass(frozen=True)
class RemoteNode:
    """A node on an engine host."""

    host: RemoteNodeHost
    number: int
    url: str

    def ending(self) -> str | None:
        """How it ended, with what is known of why, or None while it runs."""
        end = self.host.end_of(self.number)
        return None if end is None else end.ending

    def exit(self) -> str | None:
        """How it ended, and where; None while it runs."""
        end = self.host.end_of(self.number)
        return None if end is None else end.exit

    def reasons(self) -> str:
        """What it wrote last, once it has ended."""
        end = self.host.end_of(self.number)
        return f"its log is on {self.host.name}" if end is None else end.reasons

    def stop(self) -> None:
        """End it; fine where its host is gone, with which it ends."""
        self.host.stop()


class RemoteNodeHost:
    """An engine host that gets its orders through `say`.  Once it is prepared, `port` and the one
    after it are free there."""

    def __init__(self, name: str, address: str, say: Callable[[bytes], None]) -> None:
        self.name = name
        self.address = address
        self.port = self.memory_bytes = 0
        self._say = say
        self._answers: queue.SimpleQueue[relayed.FromEngine | None] = queue.SimpleQueue()
        self._started = 0
        self._end: relayed.NodeEnded | None = None
        self._loss: str | None = None

    def prepare(self, distribution: Distribution) -> None:
        """Have it get ready to run this engine."""
        self._say(relayed.TO_ENGINE.line(relayed.PrepareEngine(distribution, self.address)))

    def prepared(self) -> float:
        """Wait until it is ready; the seconds that a download took.  Raises what prevents it, and
        Unreachable without an answer."""
        ready = self._answer(relayed.EngineReady, _DOWNLOAD_S)
        self.port, self.memory_bytes = ready.port, ready.memory_bytes
        return ready.downloads_s

    def start(self, plan: NodePlan, place: NodePlace) -> RemoteNode:
        """Start a node there; the one before has ended."""
        self._started += 1
        self._end = None
        self._asked(relayed.StartNode(self._started, plan, place), relayed.Done)
        return RemoteNode(self, self._started, place.url)

    def counted(self) -> Mapping[str, MachineCounts]:
        """As NodeHost says; raises Unreachable without an answer."""
        return {self.name: self._asked(relayed.CountMachine(), relayed.MachineCounted).counts}

    def stop(self) -> None:
        """End its node."""
        with suppress(TuneError):
            self._asked(relayed.StopNode(), relayed.Done)

    def end_of(self, number: int) -> relayed.NodeEnded | None:
        """What is known of the end of a node; None while it runs."""
        if self._loss is not None:
            lost = f"no answer from {self.name} ({self._loss})"
            return relayed.NodeEnded(number, lost, lost, "")
        return self._end

    def hear(self, line: bytes) -> None:
        """It has said a line."""
        message = relayed.FROM_ENGINE.message(line)
        if not isinstance(message, relayed.NodeEnded):
            self._answers.put(message)
        elif message.number == self._started:
            code, ending = f"{message.exit} on {self.name}", f"{message.ending} (on {self.name})"
            self._end = replace(message, exit=code, ending=ending)

    def lose(self, reason: str) -> None:
        """It is out of reach, and its node ends with it."""
        self._loss = reason
        self._answers.put(None)

    def _asked(self, question: relayed.ToEngine, kind: type[A]) -> A:
        if self._loss is not None:
            raise Unreachable(f"{self.name}: {self._loss}")
        self._say(relayed.TO_ENGINE.line(question))
        return self._answer(kind, _ANSWER_S)

    def _answer(self, kind: type[A], limit_s: float) -> A:
        try:
            answer = self._answers.get(timeout=limit_s)
        except queue.Empty:
            self._loss = f"no answer for {limit_s:.0f} s"
            answer = None
        if answer is None:
            raise Unreachable(f"{self.name}: {self._loss}")
        if isinstance(answer, relayed.Failed):
            raise answer.raised(self.name)
        if not isinstance(answer, kind):
            raise RuntimeError(f"{self.name} answers {answer} instead of {kind.__name__}")
        return answer


class RemoteNodeHosts:
    """The engine hosts of a span, told through `say` by their names."""

    def __init__(self, say: Callable[[str, bytes], None]) -> None:
        self._say = say
        self._hosts: dict[str, RemoteNodeHost] = {}

    def at(self, addresses: Mapping[str, str]) -> tuple[RemoteNodeHost, ...]:
        """Those of these names and addresses."""
        for name, address in addresses.items():
            self._hosts[name] = RemoteNodeHost(name, address, partial(self._say, name))
        return tuple(self._hosts.values())

    def __contains__(self, name: str) -> bool:
        """Whether it is one of them."""
        return name in self._hosts

    def hear(self, name: str, line: bytes) -> None:
        """One has said a line."""
        self._hosts[name].hear(line)

    def lose(self, name: str, reason: str) -> None:
        """One is gone."""
        self._hosts[name].lose(reason)

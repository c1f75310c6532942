"""The way between the process on the collector and those on the load and engine hosts: by this
machine."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future

from distributed import Client
from distributed.actor import Actor

from tuner.cluster.messages import QUESTIONS, REPLIES, PeerLost, RelayedFrom, RelayedTo
from tuner.cluster.wires import Wires
from tuner.errors import JobFailed


class Relay:
    """The processes of a span, seen as the one on the collector: that asks the others by us."""

    def __init__(
        self, client: Client, name: str, collector: Actor, others: Mapping[str, Actor]
    ) -> None:
        self._name = name
        self._answer: Future[bytes] = Future()
        self._gone: Exception | None = None
        self._wires = Wires(client, {name: collector, **others}, self._hear, self._lose)

    def ask(self, line: bytes) -> Future[bytes]:
        """The answer of the process on the collector to a line; it raises JobFailed where that has
        ended, OSError where it is out of reach."""
        self._answer = Future()
        self._wires.tell(self._name, line)
        if self._gone is not None:
            self._lose(self._name, self._gone)
        return self._answer

    def end(self, grace_s: float) -> Future[None]:
        """End all processes, as Wires does."""
        return self._wires.end(grace_s)

    def _hear(self, name: str, line: bytes) -> None:
        if name != self._name:
            self._wires.tell(self._name, QUESTIONS.line(RelayedFrom(name, line.decode())))
            return
        reply = REPLIES.message(line)
        if isinstance(reply, RelayedTo):
            self._wires.tell(reply.machine, reply.line.encode())
        elif not self._answer.done():
            self._answer.set_result(line)

    def _lose(self, name: str, why: Exception) -> None:
        if name != self._name:
            self._wires.tell(self._name, QUESTIONS.line(PeerLost(name, str(why))))
            return
        self._gone = why if isinstance(why, JobFailed) else OSError(str(why))
        if not self._answer.done():
            self._answer.set_exception(self._gone)

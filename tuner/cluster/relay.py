"""The way between the process on the collector and those on the load hosts: by this machine, over
the connections of the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, cast

from distributed import Client
from distributed.actor import Actor

from tuner.cluster.messages import (
    LoadLost,
    RelayedFrom,
    RelayedTo,
    question_line,
    reply_of,
)
from tuner.errors import JobFailed

# What an actor raises whose worker, or whose process, has ended.
_GONE = (OSError, RuntimeError, ValueError, JobFailed)
# How many lines go together while the last ones are under way shows by itself; this is the least.
_TOGETHER_S = 0.010


class Relay:
    """The processes of a span, seen as the one on the collector: that asks the load hosts by us."""

    def __init__(self, client: Client, collector: Actor, loads: Mapping[str, Actor]) -> None:
        self._loop: asyncio.AbstractEventLoop = cast(Any, client.loop).asyncio_loop
        self._collector = collector
        self._loads = dict(loads)
        self._outgoing: dict[Actor, asyncio.Queue[bytes]] = {}
        self._answer: Future[bytes] = Future()
        self._tasks: list[asyncio.Task[None]] = []
        self._run(self._begin()).result()

    def ask(self, line: bytes) -> Future[bytes]:
        """The answer of the process on the collector to a line; it raises JobFailed where that has
        ended, OSError where it is out of reach."""
        self._answer = Future()
        self._loop.call_soon_threadsafe(self._outgoing[self._collector].put_nowait, line)
        if self._tasks[0].done():
            self._lost(self._collector, OSError())
        return self._answer

    def end(self, grace_s: float) -> Future[None]:
        """End all processes, the one on the collector first."""
        return self._run(self._end(grace_s))

    def _run(self, do: Coroutine[Any, Any, None]) -> Future[None]:
        return asyncio.run_coroutine_threadsafe(do, self._loop)

    async def _begin(self) -> None:
        for actor in (self._collector, *self._loads.values()):
            self._outgoing[actor] = asyncio.Queue()
            self._tasks.append(asyncio.create_task(self._hear(actor)))
            self._tasks.append(asyncio.create_task(self._tell(actor)))

    async def _end(self, grace_s: float) -> None:
        for actor in (self._collector, *self._loads.values()):
            with suppress(*_GONE):
                await actor.end(grace_s)
        for task in self._tasks:
            task.cancel()

    async def _hear(self, actor: Actor) -> None:
        try:
            while True:
                for line in await actor.read():
                    self._route(actor, line)
        except _GONE as gone:
            self._lost(actor, gone)

    async def _tell(self, actor: Actor) -> None:
        outgoing = self._outgoing[actor]
        with suppress(*_GONE):
            while True:
                lines = [await outgoing.get()]
                while not outgoing.empty():
                    lines.append(outgoing.get_nowait())
                await actor.tell(lines)
                await asyncio.sleep(_TOGETHER_S)

    def _route(self, actor: Actor, line: bytes) -> None:
        if actor is not self._collector:
            self._inform(RelayedFrom(self._name(actor), line.decode()))
            return
        reply = reply_of(line)
        if isinstance(reply, RelayedTo):
            self._outgoing[self._loads[reply.machine]].put_nowait(reply.line.encode())
        elif not self._answer.done():
            self._answer.set_result(line)

    def _lost(self, actor: Actor, why: Exception) -> None:
        if actor is not self._collector:
            self._inform(LoadLost(self._name(actor), str(why)))
        elif not self._answer.done():
            self._answer.set_exception(why if isinstance(why, JobFailed) else OSError(str(why)))

    def _inform(self, message: RelayedFrom | LoadLost) -> None:
        self._outgoing[self._collector].put_nowait(question_line(message))

    def _name(self, actor: Actor) -> str:
        return next(name for name, one in self._loads.items() if one is actor)

"""Lines to processes on the machines of a cluster and from them, over its connections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, cast

from distributed import Client
from distributed.actor import Actor

from tuner.cluster.messages import QUESTIONS, REPLIES, PeerLost, RelayedFrom, RelayedTo
from tuner.errors import JobFailed


class Relay:
    """The processes of a span, seen as the one on the collector: that asks the others by us."""

    def __init__(
        self, client: Client, name: str, collector: Actor, others: Mapping[str, Actor]
    ) -> None:
        self._name = name
        self._answer: Future[bytes] = Future()
        self._gone: Exception | None = None
        self._channels = Channels(client, {name: collector, **others}, self._hear, self._lose)

    def ask(self, line: bytes) -> Future[bytes]:
        """The answer of the process on the collector to a line; it raises JobFailed where that has
        ended, OSError where it is out of reach."""
        self._answer = Future()
        self._channels.tell(self._name, line)
        if self._gone is not None:
            self._lose(self._name, self._gone)
        return self._answer

    def end(self, grace_s: float) -> Future[None]:
        """End all processes, as Channels does."""
        return self._channels.end(grace_s)

    def _hear(self, name: str, line: bytes) -> None:
        if name != self._name:
            self._channels.tell(self._name, QUESTIONS.line(RelayedFrom(name, line.decode())))
            return
        reply = REPLIES.message(line)
        if isinstance(reply, RelayedTo):
            self._channels.tell(reply.machine, reply.line.encode())
        elif not self._answer.done():
            self._answer.set_result(line)

    def _lose(self, name: str, why: Exception) -> None:
        if name != self._name:
            self._channels.tell(self._name, QUESTIONS.line(PeerLost(name, str(why))))
            return
        self._gone = why if isinstance(why, JobFailed) else OSError(str(why))
        if not self._answer.done():
            self._answer.set_exception(self._gone)


# What an actor raises whose worker, or whose process, has ended.
_GONE = (OSError, RuntimeError, ValueError, JobFailed)
# Lines that come within it go together.
_TOGETHER_S = 0.010


class Channels:
    """Tells the processes what it is given, and calls `hear` with the name and each line of one,
    and `lose` with the name and the reason when one is gone."""

    def __init__(
        self,
        client: Client,
        processes: Mapping[str, Actor],
        hear: Callable[[str, bytes], None],
        lose: Callable[[str, Exception], None],
    ) -> None:
        self._loop: asyncio.AbstractEventLoop = cast(Any, client.loop).asyncio_loop
        self._processes = dict(processes)
        self._hear, self._lose = hear, lose
        self._outgoing: dict[str, asyncio.Queue[bytes]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._run(self._begin()).result()

    def tell(self, name: str, line: bytes) -> None:
        """Say a line to a process; nothing happens where it is gone."""
        self._loop.call_soon_threadsafe(self._outgoing[name].put_nowait, line)

    def end(self, grace_s: float) -> Future[None]:
        """End all processes, each in order where that takes no longer than `grace_s` seconds."""
        return self._run(self._end(grace_s))

    def _run(self, do: Coroutine[Any, Any, None]) -> Future[None]:
        return asyncio.run_coroutine_threadsafe(do, self._loop)

    async def _begin(self) -> None:
        for name, actor in self._processes.items():
            self._outgoing[name] = asyncio.Queue()
            self._tasks.append(asyncio.create_task(self._listen(name, actor)))
            self._tasks.append(asyncio.create_task(self._carry(name, actor)))

    async def _end(self, grace_s: float) -> None:
        every = map(partial(_end, grace_s), self._processes.values())
        await asyncio.gather(*every)
        for task in self._tasks:
            task.cancel()

    async def _listen(self, name: str, actor: Actor) -> None:
        try:
            while True:
                for line in await actor.read():
                    self._hear(name, line)
        except _GONE as gone:
            self._lose(name, gone)

    async def _carry(self, name: str, actor: Actor) -> None:
        outgoing = self._outgoing[name]
        with suppress(*_GONE):
            while True:
                lines = [await outgoing.get()]
                while not outgoing.empty():
                    lines.append(outgoing.get_nowait())
                await actor.tell(lines)
                await asyncio.sleep(_TOGETHER_S)


async def _end(grace_s: float, actor: Actor) -> None:
    with suppress(*_GONE):
        await actor.end(grace_s)

"""What workers run for a command elsewhere: processes of ours beside them, so that nothing of
Dask's works where traffic is made and measured; and the lines to them and from them."""

from __future__ import annotations

import asyncio
import queue
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import IO, Any, cast

from distributed import Client
from distributed.actor import Actor

from tuner.errors import JobFailed
from tuner.host.process import Child

_POLL_S = 0.05
_READ_S = 5.0
_OPENING_S = 600.0

Lines = queue.SimpleQueue[bytes | None]


class RemoteProcess:
    """`python -m MODULE` on a machine of a cluster, told and heard by lines; as an actor it lives
    until the command that wanted it, or the worker, ends."""

    def __init__(self, module: str) -> None:
        self._child = Child(module)
        self._lines: Lines = queue.SimpleQueue()
        # Not of this object, which would then never be given up.
        listening = (self._child.stdout, self._lines)
        threading.Thread(target=_listen, args=listening, daemon=True).start()
        # A Popen that is given up while it runs keeps its pipe (subprocess, `Popen.__del__`).
        weakref.finalize(self, _hang_up, self._child.stdin)

    async def ask(self, line: bytes) -> bytes:
        """Its answer to a line; raises JobFailed where it has ended.

        In the worker's loop: an actor's other methods have one thread for all actors of a worker,
        and would wait for the trial of another command.
        """
        await self.tell([line])
        return self._heard(await asyncio.to_thread(self._lines.get))

    async def tell(self, lines: list[bytes]) -> None:
        """Say lines to it; nothing happens where it has ended."""
        await asyncio.to_thread(self._child.tell, b"".join(lines))

    async def read(self) -> list[bytes]:
        """What it has said since: as soon as there is something, or nothing for some seconds.
        Raises JobFailed where it has ended."""
        try:
            lines = [self._heard(await asyncio.to_thread(self._lines.get, timeout=_READ_S))]
            while not self._lines.empty():
                lines.append(self._heard(self._lines.get_nowait()))
        except queue.Empty:
            return []
        return lines

    async def end(self, grace_s: float) -> None:
        """End it, in order where that takes no longer than `grace_s` seconds; in the worker's loop,
        since a question may be under way."""
        _hang_up(self._child.stdin)
        until = time.monotonic() + grace_s
        while self._child.ending() is None and time.monotonic() < until:
            await asyncio.sleep(_POLL_S)
        self._child.end()

    def _heard(self, line: bytes | None) -> bytes:
        if line is not None:
            return line
        # For whoever asks next.
        self._lines.put(None)
        self._child.end(1.0)
        raise JobFailed(f"it ended with {self._child.ending()}: {self._child.complaint()}")


def _hang_up(stdin: IO[bytes]) -> None:
    """Close the input of a process, which ends with it."""
    with suppress(OSError):
        stdin.close()


def _listen(stdout: IO[bytes], lines: Lines) -> None:
    """Keep what a process says; of a line that it did not end nothing."""
    with stdout:
        for line in stdout:
            if line.endswith(b"\n"):
                lines.put(line)
    lines.put(None)


def processes(client: Client, workers: Mapping[str, str], module: str) -> dict[str, Actor]:
    """A RemoteProcess on each worker."""
    futures = {
        name: client.submit(
            RemoteProcess, module, workers=[address], actor=True, pure=False,
            key=f"{name}-{secrets.token_hex(4)}",
        )
        for name, address in workers.items()
    }  # fmt: skip
    # What is submitted as a class is given as an actor of it.
    return {name: cast(Actor, future.result(_OPENING_S)) for name, future in futures.items()}


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
        ends = map(partial(_end, grace_s), self._processes.values())
        await asyncio.gather(*ends)
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

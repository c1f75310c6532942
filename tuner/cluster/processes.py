"""What workers run for a command elsewhere: processes of ours beside them, so that nothing of
Dask's works where traffic is made and measured; and the lines to them and from them."""

from __future__ import annotations

import asyncio
import queue
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import IO, cast

from distributed import Client
from distributed.actor import Actor, BaseActorFuture

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


def end_all(processes: Iterable[Actor], grace_s: float) -> None:
    """End processes, each in order where that takes no longer than `grace_s` seconds; those that
    cannot be reached end with their workers."""
    for end in [begin_end(process, grace_s) for process in processes]:
        if end is not None:
            with suppress(*_GONE):
                end.result(grace_s)


def begin_end(process: Actor, grace_s: float) -> BaseActorFuture[None] | None:
    """Have a process end; None where its worker is known to be lost."""
    with suppress(RuntimeError):
        return cast(BaseActorFuture[None], process.end(grace_s))
    return None


# What an actor raises whose worker, or whose process, has ended.
_GONE = (OSError, RuntimeError, ValueError, JobFailed)
# Lines that come within it go together.
_TOGETHER_S = 0.010


class Channel:
    """Tells a process what it is given, and calls `hear` with each line of it, and `lose` with the
    reason when it is gone."""

    def __init__(
        self, process: Actor, hear: Callable[[bytes], None], lose: Callable[[str], None]
    ) -> None:
        self._process, self._hear, self._lose = process, hear, lose
        self._outgoing: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        for work in (self._listen, self._carry):
            threading.Thread(target=work, daemon=True).start()

    def tell(self, line: bytes) -> None:
        """Say a line to it; nothing happens where it is gone."""
        self._outgoing.put(line)

    def _listen(self) -> None:
        try:
            while True:
                for line in self._process.read().result():
                    self._hear(line)
        except _GONE as gone:
            self._lose(str(gone))

    def _carry(self) -> None:
        with suppress(*_GONE):
            while True:
                lines = [self._outgoing.get()]
                while not self._outgoing.empty():
                    lines.append(self._outgoing.get_nowait())
                self._process.tell(lines).result()
                time.sleep(_TOGETHER_S)

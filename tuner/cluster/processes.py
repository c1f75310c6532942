"""Processes that Dask workers start for a remote command, and the lines exchanged with them.  They
send and measure traffic outside of the workers, so that Dask's threads do not disturb it."""

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
    """`python -m MODULE` on a machine of a cluster; we exchange lines with it.  As a Dask actor it
    lives until the command that started it, or the worker, ends."""

    def __init__(self, module: str) -> None:
        self._child = Child(module)
        self._lines: Lines = queue.SimpleQueue()
        # The thread must not refer to this object, which would then never be freed.
        stream = (self._child.stdout, self._lines)
        threading.Thread(target=_listen, args=stream, daemon=True).start()
        # A Popen that is freed while it runs keeps its pipe open (subprocess, `Popen.__del__`).
        weakref.finalize(self, _close_input, self._child.stdin)

    async def ask(self, line: bytes) -> bytes:
        """Send a line, and return the answer; raises JobFailed if the process has ended.

        Async methods run in the worker's event loop.  Others share one thread with all actors of
        the worker, and would wait for another command's trial.
        """
        await self.tell([line])
        return self._checked(await asyncio.to_thread(self._lines.get))

    async def tell(self, lines: list[bytes]) -> None:
        """Send lines to the process; does nothing if it has ended."""
        await asyncio.to_thread(self._child.tell, b"".join(lines))

    async def read(self) -> list[bytes]:
        """Wait up to five seconds for output; the new lines, or none.  Raises JobFailed if the
        process has ended."""
        try:
            lines = [self._checked(await asyncio.to_thread(self._lines.get, timeout=_READ_S))]
            while not self._lines.empty():
                lines.append(self._checked(self._lines.get_nowait()))
        except queue.Empty:
            return []
        return lines

    async def end(self, grace_s: float) -> None:
        """Close its input, and kill it after `grace_s` seconds.  Async, as a question may still be
        pending in the worker's event loop."""
        _close_input(self._child.stdin)
        deadline_s = time.monotonic() + grace_s
        while self._child.ending() is None and time.monotonic() < deadline_s:
            await asyncio.sleep(_POLL_S)
        self._child.end()

    def _checked(self, line: bytes | None) -> bytes:
        if line is not None:
            return line
        # The next reader gets the end marker too.
        self._lines.put(None)
        self._child.end(1.0)
        raise JobFailed(f"it ended with {self._child.ending()}: {self._child.complaint()}")


def _close_input(stdin: IO[bytes]) -> None:
    """Close the input of a process, which makes it exit."""
    with suppress(OSError):
        stdin.close()


def _listen(stdout: IO[bytes], lines: Lines) -> None:
    """Queue the complete lines of a process, then None; an incomplete last line is dropped."""
    with stdout:
        for line in stdout:
            if line.endswith(b"\n"):
                lines.put(line)
    lines.put(None)


def processes(client: Client, workers: Mapping[str, str], module: str) -> dict[str, Actor]:
    """Start a RemoteProcess on each worker, given by name and address."""
    futures = {
        name: client.submit(
            RemoteProcess, module, workers=[address], actor=True, pure=False,
            key=f"{name}-{secrets.token_hex(4)}",
        )
        for name, address in workers.items()
    }  # fmt: skip
    # With `actor=True` the future of a class gives an Actor.
    return {name: cast(Actor, future.result(_OPENING_S)) for name, future in futures.items()}


def end_all(processes: Iterable[Actor], grace_s: float) -> None:
    """End processes, killing each after `grace_s` seconds; an unreachable one ends with its
    worker."""
    for end in [begin_end(process, grace_s) for process in processes]:
        if end is not None:
            with suppress(*_LOSS_ERRORS):
                end.result(grace_s)


def begin_end(process: Actor, grace_s: float) -> BaseActorFuture[None] | None:
    """Ask a process to end, without waiting for it; None if its worker is lost."""
    with suppress(RuntimeError):
        return cast(BaseActorFuture[None], process.end(grace_s))
    return None


# Errors of an actor whose worker or process has ended.
_LOSS_ERRORS = (OSError, RuntimeError, ValueError, JobFailed)
# Lines that are sent within this time travel in one message.
_BATCH_S = 0.010


class Channel:
    """Sends lines to a process; calls `on_line` with each line from it, and `on_loss` with the
    reason once it is gone."""

    def __init__(
        self, process: Actor, on_line: Callable[[bytes], None], on_loss: Callable[[str], None]
    ) -> None:
        self._process, self._on_line, self._on_loss = process, on_line, on_loss
        self._outgoing: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        for work in (self._listen, self._send):
            threading.Thread(target=work, daemon=True).start()

    def tell(self, line: bytes) -> None:
        """Send a line to the process; does nothing if it is gone."""
        self._outgoing.put(line)

    def _listen(self) -> None:
        try:
            while True:
                for line in self._process.read().result():
                    self._on_line(line)
        except _LOSS_ERRORS as error:
            self._on_loss(str(error))

    def _send(self) -> None:
        with suppress(*_LOSS_ERRORS):
            while True:
                lines = [self._outgoing.get()]
                while not self._outgoing.empty():
                    lines.append(self._outgoing.get_nowait())
                self._process.tell(lines).result()
                time.sleep(_BATCH_S)

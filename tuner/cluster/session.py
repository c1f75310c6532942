"""What a worker runs for a command elsewhere: a process of ours beside it, so that nothing of
Dask's works where traffic is made and measured."""

from __future__ import annotations

import asyncio
import queue
import secrets
import threading
import time
import weakref
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, cast

from distributed import Client
from distributed.actor import Actor

from tuner.errors import JobFailed
from tuner.host.child import Child

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

    def ask(self, line: bytes) -> bytes:
        """Its answer to a line; raises JobFailed where it has ended."""
        self._child.tell(line)
        return self._heard(self._lines.get())

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
    return {name: cast(Actor, one.result(_OPENING_S)) for name, one in futures.items()}

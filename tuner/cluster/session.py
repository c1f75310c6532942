"""What a worker runs for a command elsewhere: a process of ours beside it, so that nothing of
Dask's works where traffic is made and measured."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from tuner.errors import JobFailed
from tuner.host.child import Child

_POLL_S = 0.05


class RemoteProcess:
    """`python -m MODULE` on a machine of a cluster, which answers each line with a line; as an
    actor it lives until the command that wanted it, or the worker, ends."""

    def __init__(self, module: str) -> None:
        self._child = Child(module)

    def ask(self, line: bytes) -> bytes:
        """Its answer; raises JobFailed where it has ended."""
        try:
            self._child.stdin.write(line)
            self._child.stdin.flush()
            answer = self._child.stdout.readline()
        except OSError:
            answer = b""
        if not answer.endswith(b"\n"):
            self._child.end(1.0)
            raise JobFailed(f"it ended with {self._child.ending()}: {self._child.complaint()}")
        return answer

    async def end(self, grace_s: float) -> None:
        """End it, in order where that takes no longer than `grace_s` seconds; in the worker's loop,
        since a question may be under way."""
        with suppress(OSError):
            self._child.stdin.close()
        until = time.monotonic() + grace_s
        while self._child.ending() is None and time.monotonic() < until:
            await asyncio.sleep(_POLL_S)
        self._child.end()

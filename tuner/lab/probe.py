"""The handle of the probe: fixed work done all the time beside a measurement, which shows how fast
the cores are just now.

Neighbours on the same silicon make virtual cores faster or slower by tens of seconds, and the
hypervisor's counter of stolen time shows little of it.  What the probe shows is a covariate of a
run, never a score.
"""

from __future__ import annotations

import json
import select
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from tuner.host.child import Child

_PATIENCE_S = 3.0


@dataclass(frozen=True)
class Pieces:
    """How often the fixed work was done, and the seconds that its two pieces took in all: of their
    thread's CPU time, and by the clock.

    The pieces are zlib at level 1 over 64 KiB of log text, and 12 blocks of 32 KiB through a socket
    pair.
    """

    count: int = 0
    zlib_cpu_s: float = 0.0
    socket_cpu_s: float = 0.0
    zlib_wall_s: float = 0.0
    socket_wall_s: float = 0.0

    def since(self, before: Pieces) -> Pieces:
        """What was added since `before`."""
        return Pieces(
            self.count - before.count,
            self.zlib_cpu_s - before.zlib_cpu_s,
            self.socket_cpu_s - before.socket_cpu_s,
            self.zlib_wall_s - before.zlib_wall_s,
            self.socket_wall_s - before.socket_wall_s,
        )


class Probe:
    """A probe in a process of its own, so that no work of ours is in its way; for a `with`
    statement.  It takes about 1 % of a core, and ends with the statement and when we die."""

    def __init__(self) -> None:
        self._child = Child("tuner.lab.probe_work")

    @property
    def pid(self) -> int:
        """The process id."""
        return self._child.pid

    def pieces(self) -> Pieces | None:
        """What it has done so far; None once it is gone, which fails no measurement."""
        child = self._child
        with suppress(OSError, ValueError):
            child.stdin.write(b"?")
            child.stdin.flush()
            if select.select([child.stdout], [], [], _PATIENCE_S)[0]:
                return Pieces(**json.loads(child.stdout.readline()))
        # A late answer would be taken for the next one's.
        child.end()
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._child.end()
        self._child.close()

"""The probe: fixed work done all the time beside a measurement, which shows how fast the cores are
just now; its handle, and its process, `python -m tuner.lab.probe`.

That does the same two pieces of work again and again, answers each byte of its input with one line
of JSON on what they took so far, and ends when its input does.  Pieces that move data see how fast
the cores are; a hash chain and a pointer chase, both bound by latency, do not.

Neighbours on the same silicon make virtual cores faster or slower by tens of seconds, and the
hypervisor's counter of stolen time shows little of it.  What the probe shows is a covariate of a
run, never a score.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import select
import signal
import socket
import sys
import time
import zlib
from contextlib import suppress
from dataclasses import asdict, dataclass

from tuner.host.process import Child
from tuner.host.usage import GrowingCounts

_PATIENCE_S = 3.0


@dataclass(frozen=True)
class Pieces(GrowingCounts):
    """How often the fixed work was done, and the CPU seconds that its two pieces took in all.

    The pieces are zlib at level 1 over 64 KiB of log text, and 12 blocks of 32 KiB through a socket
    pair.
    """

    count: int = 0
    zlib_cpu_s: float = 0.0
    socket_cpu_s: float = 0.0


class Probe(Child):
    """A probe in a process of its own, so that no work of ours is in its way; for a `with`
    statement.  It takes about 1 % of a core, and ends with the statement and when we die."""

    def __init__(self) -> None:
        super().__init__("tuner.lab.probe")

    def pieces(self) -> Pieces | None:
        """What it has done so far; None once it is gone, which fails no measurement."""
        with suppress(OSError, ValueError):
            self.tell(b"?")
            return Pieces(**json.loads(self.answer(_PATIENCE_S) or b""))
        # A late answer would be taken for the next one's.
        self.end()
        return None


EVERY_S = 0.13
_TEXT_BYTES = 64 * 1024
_BLOCK_BYTES = 32 * 1024
_BLOCKS = 12
_STDIN = 0


def log_text() -> bytes:
    """64 KiB of text like a log's, always the same."""
    text = "".join(_line(number) for number in range(1000))
    return text.encode()[:_TEXT_BYTES]


def _line(number: int) -> str:
    """A line with as much chance in it as those of real services."""
    chance = hashlib.sha256(str(number).encode()).digest()
    host, port, status, took_ms = chance[0], chance[1] * chance[2], 200 + chance[3], chance[4]
    event = ("GET", "POST", "Accepted publickey", "session opened", "query")[number % 5]
    return (
        f"<{chance[5]}>Nov 22 {number % 24:02}:{number * 7 % 60:02}:{number * 31 % 60:02} "
        f"host{host % 16} service{host % 7}[{port}]: {event} from 10.{chance[6]}.{chance[7]}."
        f"{chance[8]} id={chance[9:18].hex()} status={status} took={took_ms} ms\n"
    )


class Work:
    """The two pieces, and what they took so far; blocks go through a pair of sockets."""

    def __init__(self, near_end: socket.socket, far_end: socket.socket) -> None:
        self.so_far = Pieces()
        self._text = log_text()
        self._block = bytes(_BLOCK_BYTES)
        self._into = memoryview(bytearray(_BLOCK_BYTES))
        self._here, self._there = near_end, far_end

    def once(self) -> None:
        """Do both pieces once."""
        begun_s = time.thread_time()
        zlib.compress(self._text, 1)
        between_s = time.thread_time()
        for _ in range(_BLOCKS):
            self._here.sendall(self._block)
            received = 0
            while received < _BLOCK_BYTES:
                received += self._there.recv_into(self._into[received:])
        before = self.so_far
        self.so_far = Pieces(
            count=before.count + 1,
            zlib_cpu_s=before.zlib_cpu_s + between_s - begun_s,
            socket_cpu_s=before.socket_cpu_s + time.thread_time() - between_s,
        )


def main() -> None:
    """Work and answer until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    work = Work(*socket.socketpair())
    # A collection in the middle of a piece would be work that is not always the same.
    gc.disable()
    due_s = time.monotonic()
    while True:
        asked, _, _ = select.select([_STDIN], [], [], max(0.0, due_s - time.monotonic()))
        if asked:
            if not os.read(_STDIN, 1):
                return
            sys.stdout.write(json.dumps(asdict(work.so_far)) + "\n")
            sys.stdout.flush()
        else:
            work.once()
            due_s = time.monotonic() + EVERY_S


if __name__ == "__main__":
    main()

"""One TCP connection of a flood: takes whole blocks, and remembers the rest of a begun one."""

from __future__ import annotations

import socket
import time
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from tuner.flood.messages import Block

CONNECT_TIMEOUT_S = 5.0
SEND_BUFFER_BYTES = 512 * 1024
_NONE_LEFT = memoryview(b"")
_NO_ENDS = np.empty(0, dtype=np.int64)


class Broken(Exception):
    """A connection failed; the message says which and how."""


def describe(error: OSError) -> str:
    """An operating system's error in its own words, without its number."""
    return (error.strerror or str(error) or type(error).__name__).lower()


class Connection:
    """A non-blocking connection; `number` counts from 1, `last_block` is its latest block's.

    Its messages `gone` to `end` of the latest block are not wholly with the kernel yet.
    """

    def __init__(self, host: str, port: int, number: int) -> None:
        self.name = f"connection {number} to {host}:{port}"
        self.last_block = 0
        self.gone = 0
        self.end = 0
        try:
            self._socket = socket.create_connection((host, port), CONNECT_TIMEOUT_S)
        except OSError as error:
            raise Broken(f"{self.name} could not be opened: {describe(error)}") from error
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        self._rest = _NONE_LEFT
        self._ends: NDArray[np.int64] = _NO_ENDS
        self._whole = 0
        self._done_bytes = 0

    def fileno(self) -> int:
        """The descriptor, for poll."""
        return self._socket.fileno()

    @property
    def begun(self) -> bool:
        """Whether a block was begun and is not finished."""
        return bool(self._rest)

    def send(self, block: Block) -> int:
        """Begin a block; returns how many whole messages the kernel took.  Nothing may be begun."""
        self.end = block.first + len(block.ends)
        taken = self._push(block.data)
        if taken == len(block.data):
            self.gone = self.end
            return len(block.ends)
        self._rest = memoryview(bytes(block.data[taken:]))
        self._ends = block.ends
        self._done_bytes = taken
        self._whole = self._count()
        self.gone = block.first + self._whole
        return self._whole

    def go_on(self) -> int:
        """Push on the begun block; returns how many more whole messages the kernel took."""
        taken = self._push(self._rest)
        self._rest = self._rest[taken:]
        self._done_bytes += taken
        before, self._whole = self._whole, self._count()
        self.gone += self._whole - before
        return self._whole - before

    def hear(self) -> None:
        """Read and drop what the receiver says; raises Broken when it hung up."""
        try:
            if self._socket.recv(65536) == b"":
                raise Broken(f"{self.name} was closed by the receiver")
        except BlockingIOError:
            return
        except OSError as error:
            raise Broken(f"{self.name} failed: {describe(error)}") from error

    def finish(self) -> None:
        """Tell the receiver that nothing more comes."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def close(self, deadline_s: float) -> None:
        """Wait for the receiver to hang up too, until the deadline (monotonic), and close.

        Closing earlier could reset the connection under data that is not read yet.
        """
        with suppress(OSError):
            while (left_s := deadline_s - time.monotonic()) > 0:
                self._socket.settimeout(left_s)
                if self._socket.recv(65536) == b"":
                    break
        self._socket.close()

    def _push(self, data: memoryview) -> int:
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise Broken(f"{self.name} failed: {describe(error)}") from error

    def _count(self) -> int:
        return int(np.searchsorted(self._ends, self._done_bytes, side="right"))

"""The connections of a flood: over a stream, as datagrams, into a file.  Each takes whole blocks,
and remembers the rest of a begun one."""

from __future__ import annotations

import os
import select
import socket
import time
from abc import ABC, abstractmethod
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tuner.flood.messages import Block
from tuner.flood.stream import SEND_BUFFER_BYTES, Broken, ByteStream, describe
from tuner.flood.transport import address_of

_NONE_LEFT = memoryview(b"")
_NO_ENDS = np.empty(0, dtype=np.int64)


class Connection(ABC):
    """A way to one receiver that never waits; `last_block` is its latest block's number, and `way`
    that of the transport among those of the flood.

    Its messages `gone` to `end` of the latest block are not wholly on their way yet.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.way = 0
        self.last_block = 0
        self.gone = 0
        self.end = 0

    @abstractmethod
    def fileno(self) -> int:
        """The descriptor, for poll."""

    @property
    def begun(self) -> bool:
        """Whether a block was begun and is not finished."""
        return self.gone < self.end

    @property
    def events(self) -> int:
        """What to wait for with poll; 0 when there is never anything to wait for."""
        return select.POLLIN | select.POLLOUT if self.begun else select.POLLIN

    @abstractmethod
    def send(self, block: Block) -> int:
        """Begin a block; returns how many whole messages went.  Nothing may be begun."""

    @abstractmethod
    def go_on(self) -> int:
        """Push on the begun block; returns how many more whole messages went."""

    @abstractmethod
    def hear(self) -> None:
        """Read what the receiver says; raises Broken when it hung up."""

    @abstractmethod
    def finish(self) -> None:
        """Tell the receiver that nothing more comes."""

    @abstractmethod
    def linger(self, deadline_s: float) -> None:
        """Give the receiver until the deadline (monotonic) to read all of it; raises Broken where
        it has stopped answering before that."""

    @abstractmethod
    def close(self) -> None:
        """Close at once."""

    def _begin(self, block: Block) -> None:
        self.gone = block.first
        self.end = block.first + len(block.ends)

    def _went(self, messages: int) -> int:
        self.gone += messages
        return messages


class StreamConnection(Connection):
    """Messages over a stream; a message counts once the kernel has all of it."""

    def __init__(self, stream: ByteStream) -> None:
        super().__init__(stream.name)
        self._stream = stream
        self._rest = _NONE_LEFT
        self._ends: NDArray[np.int64] = _NO_ENDS
        self._whole = 0
        self._done_bytes = 0

    def fileno(self) -> int:
        """The descriptor, for poll."""
        return self._stream.fileno()

    def send(self, block: Block) -> int:
        """Begin a block; returns how many whole messages went."""
        self._begin(block)
        taken = self._stream.push(block.data)
        if taken == len(block.data):
            return self._went(len(block.ends))
        self._rest = memoryview(bytes(block.data[taken:]))
        self._ends = block.ends
        self._done_bytes = taken
        self._whole = self._count()
        return self._went(self._whole)

    def go_on(self) -> int:
        """Push on the begun block; returns how many more whole messages went."""
        taken = self._stream.push(self._rest)
        self._rest = self._rest[taken:]
        self._done_bytes += taken
        before, self._whole = self._whole, self._count()
        return self._went(self._whole - before)

    def hear(self) -> None:
        """Read what the receiver says; raises Broken when it hung up."""
        self._stream.pull()

    def finish(self) -> None:
        """Tell the receiver that nothing more comes."""
        self._stream.finish()

    def linger(self, deadline_s: float) -> None:
        """Give the receiver until the deadline (monotonic) to read all of it."""
        self._stream.linger(deadline_s)

    def close(self) -> None:
        """Close at once."""
        self._stream.close()

    def _count(self) -> int:
        return int(np.searchsorted(self._ends, self._done_bytes, side="right"))


_ROOM_S = 0.0001
_DEFAULT_BUFFER = Path("/proc/sys/net/core/rmem_default")
# What it is on x86-64 (include/net/sock.h); older kernels do not say it in a network namespace.
_USUAL_BUFFER_BYTES = 212_992
_TABLES = (Path("/proc/net/udp"), Path("/proc/net/udp6"))


def _buffer_bytes() -> int:
    try:
        return int(_DEFAULT_BUFFER.read_text(encoding="ascii"))
    except OSError:
        return _USUAL_BUFFER_BYTES


class DatagramConnection(Connection):
    """Datagrams from one connected socket; a message counts once the kernel has it.

    A plain loop: one send() costs about 1 us, most of it in the kernel, which delivers on loopback
    within the call.
    """

    def __init__(self, name: str, connected: socket.socket) -> None:
        super().__init__(name)
        self._socket = connected
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        self._data = memoryview(b"")
        self._ends: list[int] = []
        self._done = 0

    def fileno(self) -> int:
        """The descriptor, for poll."""
        return self._socket.fileno()

    def send(self, block: Block) -> int:
        """Begin a block; returns how many whole messages went."""
        self._begin(block)
        self._data, self._ends, self._done = block.data, block.ends.tolist(), 0
        sent = self.go_on()
        if self.begun:
            self._data = memoryview(bytes(block.data))
        return sent

    def go_on(self) -> int:
        """Push on the begun block; returns how many more whole messages went."""
        before = self._done
        begin = self._ends[before - 1] if before else 0
        send, data = self._socket.send, self._data
        try:
            for end in islice(self._ends, before, before + self._room()):
                send(data[begin:end])
                begin = end
                self._done += 1
        except BlockingIOError:
            pass
        except OSError as error:
            raise Broken(f"{self.name} failed: {describe(error)}") from error
        return self._went(self._done - before)

    def hear(self) -> None:
        """Learn whether the receiver is gone; raises Broken then."""
        try:
            self._socket.recv(1)
        except BlockingIOError:
            return
        except OSError as error:
            raise Broken(f"{self.name} failed: {describe(error)}") from error

    def finish(self) -> None:
        """Datagrams have no end to tell of."""

    def linger(self, deadline_s: float) -> None:
        """What was sent is with the receiver."""

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _room(self) -> int:
        """How many datagrams may go now; the socket itself says when it is full."""
        return len(self._ends)


class UdpConnection(DatagramConnection):
    """Datagrams over UDP.

    The kernel drops what a receiver's buffer has no room for and tells nobody.  A receiver on this
    machine is therefore given no more than three quarters of the default buffer hold, looked up in
    /proc/net/udp (udp(7)): what this flood loses, any sender would.  What is dropped
    all the same was sent, and counts as lost.
    """

    def __init__(self, name: str, target: str, source: str | None = None) -> None:
        host, port = address_of(target)
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                host, port, type=socket.SOCK_DGRAM
            )[0]
            connected = socket.socket(family, kind, protocol)
            if source is not None:
                connected.bind((source, 0))
            connected.connect(address)
        except OSError as error:
            raise Broken(f"{name} could not be opened: {describe(error)}") from error
        super().__init__(name, connected)
        self._local = f":{port:04X}"
        self._tables = [table for table in _TABLES if _waiting_bytes(table, self._local)]
        self._most_bytes = _buffer_bytes() * 3 // 4

    def _room(self) -> int:
        if not self._tables:
            return len(self._ends)
        waiting = max(max(_waiting_bytes(table, self._local)) for table in self._tables)
        # What a datagram takes of a buffer: its own size rounded up to a power of two, and headers.
        each = 2 * self._ends[-1] // len(self._ends) + 1280
        room = (self._most_bytes - waiting) // each
        if room <= 0:
            time.sleep(_ROOM_S)
        return max(0, room)


class UnixConnection(DatagramConnection):
    """Datagrams through a Unix socket, which takes none when it is full: nothing is lost."""

    def __init__(self, name: str, target: str) -> None:
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            connected.connect(target)
        except OSError as error:
            connected.close()
            raise Broken(f"{name} could not be opened: {describe(error)}") from error
        super().__init__(name, connected)


def _waiting_bytes(table: Path, local: str) -> list[int]:
    """What the buffers of the sockets that are bound to a port hold, as the table says."""
    lines = table.read_text(encoding="ascii").splitlines()[1:] if table.exists() else []
    rows = (line.split() for line in lines if local in line)
    return [int(row[4].partition(":")[2], 16) for row in rows if row[1].endswith(local)]


class FileConnection(Connection):
    """Appends to one file, which is made when it is not there; a message counts once it is written.

    Nothing waits: the file system takes whatever comes.  A link is refused: in a lab the file lies
    in a folder of rsyslogd's user, and root must not write to what that user lets it lead to.
    """

    def __init__(self, name: str, target: str) -> None:
        super().__init__(name)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        flags |= os.O_CLOEXEC
        try:
            self._descriptor = os.open(target, flags, 0o644)
        except OSError as error:
            raise Broken(f"{name} could not be opened: {describe(error)}") from error

    def fileno(self) -> int:
        """The descriptor, for poll."""
        return self._descriptor

    @property
    def events(self) -> int:
        """Nothing: a file takes whatever comes."""
        return 0

    def send(self, block: Block) -> int:
        """Write a block; returns how many messages it has."""
        self._begin(block)
        rest = block.data
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            raise Broken(f"{self.name} failed: {describe(error)}") from error
        return self._went(len(block.ends))

    def go_on(self) -> int:
        """Nothing is ever left of a block."""
        return 0

    def hear(self) -> None:
        """A file says nothing."""

    def finish(self) -> None:
        """A file has no end to tell of."""

    def linger(self, deadline_s: float) -> None:
        """The file stays, and can be read at any time."""

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

"""The connections of a flood: over a stream, over RELP, as datagrams, into a file.  Each takes
whole blocks, and remembers the rest of a begun one."""

from __future__ import annotations

import os
import select
import socket
import time
from contextlib import suppress
from io import FileIO
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tuner.flood.messages import Block
from tuner.flood.spec import address_of
from tuner.flood.stream import (
    CONNECT_TIMEOUT_S,
    SEND_BUFFER_BYTES,
    Broken,
    ByteStream,
    broken_by_errors,
)
from tuner.host.usage import sockets_at
from tuner.lab.receiver import LONGEST_RELP_HEAD, RELP_HEAD

_NONE_LEFT = memoryview(b"")
_NO_ENDS = np.empty(0, dtype=np.int64)


class Connection:
    """A way to one receiver that never waits, by what carries its bytes; `last_block` is its latest
    block's number, `route` that of the transport among those of the flood.

    Its messages `gone` to `end` of the latest block are not wholly on their way yet.
    """

    def __init__(self, name: str, carrier: ByteStream | socket.socket | FileIO) -> None:
        self.name = name
        self._carrier = carrier
        self.route = 0
        self.last_block = 0
        self.gone = 0
        self.end = 0

    def fileno(self) -> int:
        """The descriptor, for poll."""
        return self._carrier.fileno()

    @property
    def begun(self) -> bool:
        """Whether a block was begun and is not finished."""
        return self.gone < self.end

    @property
    def events(self) -> int:
        """What to wait for with poll; 0 when there is never anything to wait for."""
        return select.POLLIN | select.POLLOUT if self.begun else select.POLLIN

    def send(self, block: Block) -> int:
        """Begin a block; returns how many whole messages went.  Nothing may be begun."""
        raise NotImplementedError

    def go_on(self) -> int:
        """Push on the begun block; returns how many more whole messages went."""
        raise NotImplementedError

    def hear(self) -> None:
        """Read what the receiver says, where it says anything; raises Broken when it hung up."""

    def finish(self) -> None:
        """Tell the receiver that nothing more comes, where there is an end to tell of."""

    def linger(self, deadline_s: float) -> None:
        """Give the receiver until the deadline (monotonic) to read all of it; raises Broken where
        it has stopped answering before that."""

    def close(self) -> None:
        """Close at once."""
        self._carrier.close()

    def _begin(self, block: Block) -> None:
        self.gone = block.first
        self.end = block.first + len(block.ends)

    def _went(self, messages: int) -> int:
        self.gone += messages
        return messages


class StreamConnection(Connection):
    """Messages over a stream; a message counts once the kernel has all of it."""

    def __init__(self, stream: ByteStream) -> None:
        super().__init__(stream.name, stream)
        self._stream = stream
        self._rest = _NONE_LEFT
        self._ends: NDArray[np.int64] = _NO_ENDS
        self._whole = 0
        self._done_bytes = 0

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

    def _count(self) -> int:
        return int(np.searchsorted(self._ends, self._done_bytes, side="right"))


_ROOM_S = 0.0001
_DEFAULT_BUFFER = Path("/proc/sys/net/core/rmem_default")
# What it is on x86-64 (include/net/sock.h); older kernels do not say it in a network namespace.
_USUAL_BUFFER_BYTES = 212_992


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
        super().__init__(name, connected)
        self._socket = connected
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        self._data = memoryview(b"")
        self._ends: list[int] = []
        self._done = 0

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
        with broken_by_errors(f"{self.name} failed"), suppress(BlockingIOError):
            for end in islice(self._ends, before, before + self._room()):
                send(data[begin:end])
                begin = end
                self._done += 1
        return self._went(self._done - before)

    def hear(self) -> None:
        """Learn whether the receiver is gone; raises Broken then."""
        with broken_by_errors(f"{self.name} failed"), suppress(BlockingIOError):
            self._socket.recv(1)

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
        with broken_by_errors(f"{name} could not be opened"):
            family, kind, protocol, _, address = socket.getaddrinfo(
                host, port, type=socket.SOCK_DGRAM
            )[0]
            connected = socket.socket(family, kind, protocol)
            if source is not None:
                connected.bind((source, 0))
            connected.connect(address)
        super().__init__(name, connected)
        self._port, self._is_here = port, bool(sockets_at("udp", port))
        self._most_bytes = _buffer_bytes() * 3 // 4

    def _room(self) -> int:
        if not self._is_here:
            return len(self._ends)
        held = (row[4].partition(":")[2] for row in sockets_at("udp", self._port))
        waiting = max((int(size, 16) for size in held), default=0)
        # What a datagram takes of a buffer: its own size rounded up to a power of two, and headers.
        datagram_bytes = 2 * self._ends[-1] // len(self._ends) + 1280
        room = (self._most_bytes - waiting) // datagram_bytes
        if room <= 0:
            time.sleep(_ROOM_S)
        return max(0, room)


class UnixConnection(DatagramConnection):
    """Datagrams through a Unix socket, which takes none when it is full: nothing is lost."""

    def __init__(self, name: str, target: str) -> None:
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with broken_by_errors(f"{name} could not be opened"):
            connected.connect(target)
        super().__init__(name, connected)


class FileConnection(Connection):
    """Appends to one file, which is made when it is not there; a message counts once it is written.

    Nothing waits: the file system takes whatever comes.  A link is refused: in a lab the file lies
    in a folder of rsyslogd's user, and root must not write to what that user lets it lead to.
    """

    def __init__(self, name: str, target: str) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        flags |= os.O_CLOEXEC
        with broken_by_errors(f"{name} could not be opened"):
            self._file = FileIO(os.open(target, flags, 0o644), "w")
        super().__init__(name, self._file)

    @property
    def events(self) -> int:
        """Nothing: a file takes whatever comes."""
        return 0

    def send(self, block: Block) -> int:
        """Write a block; returns how many messages it has."""
        self._begin(block)
        unwritten = block.data
        with broken_by_errors(f"{self.name} failed"):
            while unwritten:
                unwritten = unwritten[self._file.write(unwritten) :]
        return self._went(len(block.ends))

    def go_on(self) -> int:
        """Nothing is ever left of a block."""
        return 0


_OFFER = b"relp_version=0\nrelp_software=rsyslog-tune\ncommands=syslog"
_LAST_NUMBER = 999_999_999
_ACCEPTED = b"200"


class RelpConnection(StreamConnection):
    """Messages over RELP; a message counts once the receiver has acknowledged it.

    The block under way is the window: no other is begun before all of it is acknowledged, so that
    what was counted has reached the receiver's queue.
    """

    def __init__(self, stream: ByteStream) -> None:
        super().__init__(stream)
        self._number = 0
        self._heard = b""
        self._acknowledged = 0
        self._open()

    @property
    def events(self) -> int:
        """Acknowledgements always, and room while frames are left."""
        return select.POLLIN | select.POLLOUT if self._rest else select.POLLIN

    def send(self, block: Block) -> int:
        """Begin a block; returns how many messages were acknowledged, none so soon."""
        self._begin(block)
        bounds = pairwise([0, *block.ends.tolist()])
        frames = [self._frame(b"syslog", block.data[begin:end]) for begin, end in bounds]
        self._rest = memoryview(b"".join(frames))
        return self.go_on()

    def go_on(self) -> int:
        """Push on; returns how many more messages were acknowledged."""
        if self._rest:
            self._rest = self._rest[self._stream.push(self._rest) :]
        acknowledged, self._acknowledged = self._acknowledged, 0
        return self._went(acknowledged)

    def hear(self) -> None:
        """Take in what the receiver acknowledges; `go_on` tells how many messages that were."""
        heard = self._heard + self._stream.pull()
        self._stream.answer_soon()
        at = 0
        while (header := RELP_HEAD.match(heard, at)) is not None:
            length = int(header[3])
            begin = header.end() + 1 if length else header.end()
            if len(heard) <= begin + length:
                break
            self._take(header[2], heard[begin : begin + length])
            at = begin + length + 1
        self._heard = heard[at:]
        if header is None and len(self._heard) > LONGEST_RELP_HEAD:
            raise Broken(f"{self.name} failed: the receiver does not speak RELP")

    def finish(self) -> None:
        """Close the session."""
        self._stream.push(memoryview(self._frame(b"close", b"")))
        self._stream.finish()

    def _open(self) -> None:
        """Agree on what is spoken, as every session begins."""
        self._stream.push(memoryview(self._frame(b"open", _OFFER)))
        deadline_s = time.monotonic() + CONNECT_TIMEOUT_S
        waiting = select.poll()
        waiting.register(self._stream.fileno(), select.POLLIN)
        while not self._acknowledged:
            if time.monotonic() > deadline_s:
                raise Broken(f"{self.name} could not be opened: the receiver does not speak RELP")
            waiting.poll(1000 * CONNECT_TIMEOUT_S)
            self.hear()
        self._acknowledged = 0

    def _frame(self, command: bytes, data: bytes | memoryview) -> bytes:
        """TXNR SP COMMAND SP DATALEN [SP DATA] LF"""
        self._number = self._number % _LAST_NUMBER + 1
        if not data:
            return b"%d %b 0\n" % (self._number, command)
        return b"".join((b"%d %b %d " % (self._number, command, len(data)), data, b"\n"))

    def _take(self, command: bytes, data: bytes) -> None:
        if command != b"rsp":
            raise Broken(f"{self.name} was closed by the receiver")
        if not data.startswith(_ACCEPTED):
            reply_text = data.decode(errors="replace").partition("\n")[0]
            raise Broken(f"{self.name} failed: the receiver answered {reply_text!r}")
        self._acknowledged += 1

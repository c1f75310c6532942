"""The receiver: what a configuration forwards to others goes there in a lab; its handle, and its
process, `python -m tuner.lab.receiver PORT`.

That takes syslog over TCP and UDP at PORT of loopback and RELP at the port after it, writes a line
of JSON with what came when it is ready and for each line of its input, and ends when that does.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import signal
import socket
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from tuner.errors import JobFailed
from tuner.host.process import Child
from tuner.host.usage import usage_of
from tuner.modules.input import LOOPBACK

RECEIVER_PORTS = 2
"""It takes syslog over TCP and UDP at the first, RELP at the second."""
_PATIENCE_S = 60.0


@dataclass(frozen=True)
class Received:
    """What came: messages over TCP (lines, or frames that count their bytes), UDP and RELP, and
    bytes of all."""

    tcp: int = 0
    udp: int = 0
    relp: int = 0
    bytes: int = 0

    @property
    def messages(self) -> int:
        """All messages."""
        return self.tcp + self.udp + self.relp


class Receiver(Child):
    """A receiver of syslog in a process of its own on loopback, for a `with` statement: it counts
    what comes and keeps nothing.  Its process ends with the statement, and when we die."""

    def __init__(self, port: int) -> None:
        super().__init__("tuner.lab.receiver", [str(port)])
        try:
            self._heard()
        except BaseException:
            self.stop()
            raise

    @property
    def cpu_s(self) -> float:
        """CPU seconds so far."""
        return usage_of(self.pid).cpu_s

    def received(self) -> Received:
        """What came so far.  Raises JobFailed when the process is gone."""
        self.tell(b"?\n")
        return self._heard()

    def _heard(self) -> Received:
        if line := self.answer(_PATIENCE_S):
            return Received(**json.loads(line))
        reason = self.complaint()
        raise JobFailed(f"the receiver for what is forwarded does not answer: {reason}")


_CHUNK = 1 << 18
_DATAGRAMS = 256
_SOCKET_BYTES = 8 << 20
_BACKLOG = 128
# A frame that says its length.
_COUNTED = re.compile(rb"([1-9][0-9]{0,8}) <")
RELP_HEAD = re.compile(rb"(\d{1,9}) ([a-z]{1,32}) (\d{1,9})(?= |\n)")
LONGEST_RELP_HEAD = 54
"""Number, command and length, with which each frame of RELP begins."""
_REPLIES = {
    b"open": b"200 OK\nrelp_version=0\nrelp_software=rsyslog-tune\ncommands=syslog",
    b"close": b"",
}


class TcpReader:
    """Messages over TCP: lines, or frames that say their length where the first one does."""

    def __init__(self) -> None:
        self._says_length: bool | None = None
        self._rest = b""

    def feed(self, data: bytes) -> tuple[int, bytes]:
        """How many messages end in the data; nothing is answered."""
        if self._says_length is None:
            self._says_length = _COUNTED.match(data) is not None
        if not self._says_length:
            return data.count(b"\n"), b""
        data, at, messages = self._rest + data, 0, 0
        while (head := _COUNTED.match(data, at)) is not None:
            end = head.end(1) + 1 + int(head[1])
            if end > len(data):
                break
            at, messages = end, messages + 1
        self._rest = data[at:]
        return messages, b""


class RelpReader:
    """A session of RELP, in which each message is acknowledged."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> tuple[int, bytes]:
        """How many messages end in the data, and their acknowledgements.  Raises ValueError for
        what is no RELP."""
        data, at, messages = self._rest + data, 0, 0
        replies = []
        while (head := RELP_HEAD.match(data, at)) is not None:
            length = int(head[3])
            end = head.end() + (1 + length if length else 0) + 1
            if end > len(data):
                break
            messages += head[2] == b"syslog"
            reply = _REPLIES.get(head[2], b"200 OK")
            replies.append(b"%b rsp %d%b%b\n" % (head[1], len(reply), b" " * bool(reply), reply))
            at = end
        self._rest = data[at:]
        if head is None and len(self._rest) > LONGEST_RELP_HEAD:
            raise ValueError("no RELP")
        return messages, b"".join(replies)


class Receiving:
    """All sockets; one thread waits for whichever has something."""

    def __init__(self, port: int) -> None:
        self._waiting = selectors.DefaultSelector()
        self._came = Counter[str](tcp=0, udp=0, relp=0, bytes=0)
        self._buffer = bytearray(1 << 16)
        self._listen(port, "tcp", TcpReader)
        self._listen(port + 1, "relp", RelpReader)
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SOCKET_BYTES)
        udp.bind((LOOPBACK, port))
        udp.setblocking(False)
        self._waiting.register(udp, selectors.EVENT_READ, partial(self._take_datagrams, udp))

    def run(self, descriptor: int) -> None:
        """Receive until the input of that descriptor ends; what comes on it is answered."""
        self._waiting.register(descriptor, selectors.EVENT_READ, None)
        self._say()
        while True:
            for key, _ in self._waiting.select():
                if key.data is not None:
                    key.data()
                elif os.read(descriptor, 64):
                    self._say()
                else:
                    return

    def _say(self) -> None:
        sys.stdout.write(json.dumps(self._came) + "\n")
        sys.stdout.flush()

    def _listen(self, port: int, kind: str, reader: type[TcpReader | RelpReader]) -> None:
        listener = socket.create_server((LOOPBACK, port), backlog=_BACKLOG)

        def accept() -> None:
            connection, _ = listener.accept()
            take = partial(self._take, connection, kind, reader())
            self._waiting.register(connection, selectors.EVENT_READ, take)

        self._waiting.register(listener, selectors.EVENT_READ, accept)

    def _take(self, connection: socket.socket, kind: str, reader: TcpReader | RelpReader) -> None:
        try:
            data = connection.recv(_CHUNK)
            messages, answer = reader.feed(data)
            self._came.update({kind: messages, "bytes": len(data)})
            connection.sendall(answer)
        except (OSError, ValueError):
            data = b""
        if not data:
            self._waiting.unregister(connection)
            connection.close()

    def _take_datagrams(self, udp: socket.socket) -> None:
        count = size = 0
        with suppress(BlockingIOError):
            while count < _DATAGRAMS:
                size += udp.recv_into(self._buffer)
                count += 1
        self._came.update(udp=count, bytes=size)


def main() -> None:
    """Receive until the standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        receiving = Receiving(int(sys.argv[1]))
    except OSError as error:
        sys.exit(f"it cannot listen at {LOOPBACK}:{sys.argv[1]}: {error.strerror}")
    receiving.run(sys.stdin.fileno())


if __name__ == "__main__":
    main()

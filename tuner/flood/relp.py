"""Messages over RELP, whose receiver acknowledges each: rsyslog.com/doc/relp.html, version 0."""

from __future__ import annotations

import select
import time
from itertools import pairwise

from tuner.flood.connection import StreamConnection
from tuner.flood.messages import Block
from tuner.flood.stream import CONNECT_TIMEOUT_S, Broken, ByteStream
from tuner.lab.receiver_server import LONGEST_RELP_HEAD, RELP_HEAD

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

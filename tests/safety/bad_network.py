"""A TCP proxy between rsyslogd and an engine that goes wrong as networks do."""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from typing import Self

_CHUNK = 65536
_SLOW_BYTES_PER_SECOND = 1000
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER of 0 s: closing sends RST
# The tool, and a test that reads the books of the sink.
_OURS = (b"python-requests", b"/_sink/")


class Trouble(Enum):
    """What becomes of connections that carry bulks."""

    NONE = "none"
    CUT = "cut"
    RESET = "reset"
    HALF_OPEN = "half-open"
    SLOW = "1 kB/s"


class BadNetwork:
    """Passes everything on to `port` until `trouble` is set; for a `with` statement.

    What the tool itself asks the engine is never touched: a cut of that is an engine that is gone.
    """

    def __init__(self, port: int) -> None:
        self.trouble = Trouble.NONE
        self._target, self._ended = port, threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes whoever accepts
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while not self._ended.is_set():
                connection, _ = self._listener.accept()
                threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _converse(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            begin = client.recv(_CHUNK)
            is_ours = any(mark in begin for mark in _OURS)
            if not is_ours and self.trouble is Trouble.CUT:
                return
            with socket.create_connection(("127.0.0.1", self._target)) as engine:
                engine.sendall(begin)
                self._pass_on(client, engine, lambda: not is_ours)

    def _pass_on(
        self, client: socket.socket, engine: socket.socket, suffers: Callable[[], bool]
    ) -> None:
        while not self._ended.is_set():
            trouble = self.trouble if suffers() else Trouble.NONE
            readable = select.select([client, engine], [], [], 0.05)[0]
            if trouble is Trouble.HALF_OPEN:
                time.sleep(0.05)
                continue
            if trouble is Trouble.RESET:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            if trouble in {Trouble.CUT, Trouble.RESET}:
                return
            slow = trouble is Trouble.SLOW
            for source, other in ((client, engine), (engine, client)):
                if source not in readable:
                    continue
                data = source.recv(_SLOW_BYTES_PER_SECOND // 10 if slow else _CHUNK)
                if not data:
                    return
                other.sendall(data)
                if slow:
                    time.sleep(0.1)

"""A receiver on loopback that keeps what it gets."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import suppress
from typing import Self

SEQ = re.compile(rb" seq=(\d{12}) ")


class Receiver:
    """Keeps what arrives; `close_after` bytes it hangs up, `reads` False it never reads."""

    def __init__(
        self, *, close_after: int | None = None, reads: bool = True, address: str = "127.0.0.1"
    ) -> None:
        self._listener = socket.create_server((address, 0))
        self.port = int(self._listener.getsockname()[1])
        self._close_after = close_after
        self._reads = reads
        self._over = threading.Event()
        self.streams: list[bytearray] = []
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def numbers(self) -> list[int]:
        """The sequence numbers that arrived, sorted."""
        return sorted(int(number) for s in self.streams for number in SEQ.findall(s))

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.streams.append(bytearray())
                arguments = (connection, self.streams[-1])
                self._threads.append(threading.Thread(target=self._keep, args=arguments))
                self._threads[-1].start()

    def _keep(self, connection: socket.socket, stream: bytearray) -> None:
        connection.settimeout(0.2)
        with connection:
            if not self._reads:
                self._over.wait()
                return
            while not self._over.is_set():
                try:
                    data = connection.recv(1 << 18)
                except TimeoutError:
                    continue
                stream += data
                enough = self._close_after is not None and len(stream) > self._close_after
                if not data or enough:
                    return

"""Single messages to a receiver, by a connection that is made again where it was cut off."""

from __future__ import annotations

import socket

_TIMEOUT_S = 1.0


class Marker:
    """A way to the port of a receiver: a TCP connection whose messages end with a line feed, or
    datagrams."""

    def __init__(self, address: str, port: int, *, is_udp: bool = False) -> None:
        self.name = f"{address}:{port}"
        self._at = (address, port)
        self._is_udp = is_udp
        self._socket: socket.socket | None = None

    def send(self, message: bytes) -> bool:
        """Whether a message was handed over to the kernel, whatever becomes of it then."""
        try:
            if self._socket is None:
                self._socket = self._connected()
            self._socket.sendall(message if self._is_udp else message + b"\n")
        except OSError:
            self.close()
            return False
        return True

    def close(self) -> None:
        """Hang up; the next message connects again."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connected(self) -> socket.socket:
        if not self._is_udp:
            return socket.create_connection(self._at, _TIMEOUT_S)
        family, kind, protocol, _, address = socket.getaddrinfo(*self._at, type=socket.SOCK_DGRAM)[
            0
        ]
        made = socket.socket(family, kind, protocol)
        made.connect(address)
        return made

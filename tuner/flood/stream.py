"""A stream of bytes to a receiver, plain or encrypted, that never waits once it is open."""

from __future__ import annotations

import fcntl
import socket
import ssl
import struct
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tuner.flood.spec import Credentials, address_of

CONNECT_TIMEOUT_S = 5.0
SEND_BUFFER_BYTES = 512 * 1024
_CHUNK_BYTES = 65536
_UNANSWERED = 2


class Broken(Exception):
    """A connection failed; the message says which and how."""


@contextmanager
def broken_by_errors(what: str) -> Iterator[None]:
    """Raise Broken for an operating system's error: what happened, and its own words without its
    number."""
    try:
        yield
    except OSError as error:
        words = (error.strerror or str(error) or type(error).__name__).lower()
        raise Broken(f"{what}: {words}") from error


class ByteStream:
    """A TCP connection to HOST:PORT, from the address `source` where one is given; `name` is what
    errors call it."""

    _not_now: tuple[type[OSError], ...] = (BlockingIOError,)

    def __init__(self, name: str, target: str, source: str | None = None) -> None:
        self.name = name
        source_address = None if source is None else (source, 0)
        with broken_by_errors(f"{name} could not be opened"):
            self._socket = self._opened(
                socket.create_connection(address_of(target), CONNECT_TIMEOUT_S, source_address)
            )
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)

    def fileno(self) -> int:
        """The descriptor, for poll."""
        return self._socket.fileno()

    def push(self, data: memoryview) -> int:
        """Hand over what is taken at once; returns how many bytes that were."""
        with broken_by_errors(f"{self.name} failed"), suppress(*self._not_now):
            return self._socket.send(data)
        return 0

    def pull(self) -> bytes:
        """What the receiver says, nothing when it is silent; raises Broken when it hung up."""
        with broken_by_errors(f"{self.name} failed"), suppress(*self._not_now):
            if heard := self._socket.recv(_CHUNK_BYTES):
                return heard
            raise Broken(f"{self.name} was closed by the receiver")
        return b""

    def answer_soon(self) -> None:
        """Have the kernel acknowledge what is read next at once: a receiver that answers in small
        pieces sends no more of them before that (Nagle), and it may take 40 ms (tcp(7))."""
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    def finish(self) -> None:
        """Tell the receiver that nothing more comes."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def linger(self, deadline_s: float) -> None:
        """Wait for the receiver to hang up too, until the deadline (monotonic).

        Closing earlier could reset the connection under data that is not read yet.  Raises Broken
        where it does not answer any more and has not taken everything.
        """
        with suppress(OSError):
            while (left_s := deadline_s - time.monotonic()) > 0:
                self._socket.settimeout(left_s)
                if self._socket.recv(_CHUNK_BYTES) == b"":
                    return
        if (waiting_bytes := self._not_taken()) and self._is_unanswered():
            raise Broken(
                f"{self.name} has not taken the last {waiting_bytes:,} bytes: the receiver does "
                "not answer any more"
            )

    def close(self) -> None:
        """Close at once."""
        self._socket.close()

    def _opened(self, connection: socket.socket) -> socket.socket:
        return connection

    def _not_taken(self) -> int:
        """The bytes that the receiver's kernel has not acknowledged (SIOCOUTQ, tcp(7))."""
        answer = fcntl.ioctl(self._socket, termios.TIOCOUTQ, bytes(4))
        return int.from_bytes(answer, sys.byteorder)

    def _is_unanswered(self) -> bool:
        """Whether it was sent something again, or asked whether it has room, and is silent: a
        receiver that only reads slowly answers (struct tcp_info of linux/tcp.h), if not each time
        (tcp_invalid_ratelimit of Linux: at most every 500 ms)."""
        info = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 4)
        _state, _control, retransmits, probes = struct.unpack("BBBB", info)
        return bool(max(retransmits, probes) >= _UNANSWERED)


class TlsStream(ByteStream):
    """A connection encrypted with TLS; one write takes as many records as the kernel does."""

    _socket: ssl.SSLSocket
    _not_now = (ssl.SSLWantReadError, ssl.SSLWantWriteError)

    def __init__(
        self, name: str, target: str, credentials: Credentials, source: str | None = None
    ) -> None:
        self._credentials = credentials
        super().__init__(name, target, source)

    def push(self, data: memoryview) -> int:
        """Hand over as many records as are taken at once; returns how many bytes that were."""
        taken = 0
        # OpenSSL hands over one record of at most 16 KiB at a time.
        while taken < len(data) and (more := super().push(data[taken:])):
            taken += more
        return taken

    def pull(self) -> bytes:
        """Everything that the receiver says; raises Broken when it hung up."""
        heard = super().pull()
        # What is decrypted already does not show in poll.
        while self._socket.pending():
            heard += super().pull()
        return heard

    def finish(self) -> None:
        """Say that nothing more comes, encrypted, and then in the clear."""
        with suppress(OSError, ValueError):
            self._socket.unwrap()
        super().finish()

    def _opened(self, connection: socket.socket) -> ssl.SSLSocket:
        return _context(self._credentials).wrap_socket(connection)


def open_stream(
    name: str, target: str, credentials: Credentials | None, source: str | None = None
) -> ByteStream:
    """A stream to HOST:PORT, encrypted when there are credentials; raises Broken."""
    if credentials is None:
        return ByteStream(name, target, source)
    return TlsStream(name, target, credentials, source)


def _context(credentials: Credentials) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED if credentials.ca else ssl.CERT_NONE
    if credentials.ca is not None:
        context.load_verify_locations(credentials.ca)
    if credentials.certificate is not None:
        context.load_cert_chain(credentials.certificate, credentials.key)
    return context

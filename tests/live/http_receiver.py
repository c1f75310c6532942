"""A small HTTP server that keeps what it gets, and answers as a test tells it to."""

from __future__ import annotations

import gzip
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HTML = b"<html><head><title>refused</title></head><body><h1>refused</h1></body></html>"


@dataclass(frozen=True)
class Received:
    """One request: its method, its path with the query, its headers in lower case, its body
    unpacked, and what was answered."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    status: int
    at_s: float


@dataclass(frozen=True)
class Answer:
    """What is answered: a status, 0 for a connection reset; after so many seconds."""

    status: int = 200
    body: bytes = b"{}"
    kind: str = "application/json"
    after_s: float = 0.0


OK = Answer()
RESET = Answer(status=0)
Answers = Callable[[int, bytes], Answer]
"""The answer to a request by its number, which counts from 0, and its body."""


def always(_number: int, _body: bytes) -> Answer:
    """200 to everything."""
    return OK


@dataclass
class Receiver:
    """A server under way: what it answers, to health checks with the status `health`; its port and
    all requests so far, those that were refused too."""

    answers: Answers = always
    health: int = 200
    port: int = 0
    requests: list[Received] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def taken(self) -> list[Received]:
        """The posts that were answered with a status of success, in their order."""
        return [one for one in self.requests if one.method == "POST" and 200 <= one.status < 300]

    @property
    def posts(self) -> list[Received]:
        """All posts."""
        return [one for one in self.requests if one.method == "POST"]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # In one packet: what is written in two waits for the kernel's delayed acknowledgement.
    wbufsize = -1
    receiver: Receiver

    def do_POST(self) -> None:
        """Keep the request, then answer it."""
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        with self.receiver.lock:
            answer = self.receiver.answers(len(self.receiver.posts), body)
            self._keep(body, answer.status)
        time.sleep(answer.after_s)
        self._answer(answer)

    def do_GET(self) -> None:
        """A health check."""
        with self.receiver.lock:
            self._keep(b"", self.receiver.health)
        self._answer(Answer(self.receiver.health))

    def _keep(self, body: bytes, status: int) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        one = Received(self.command, self.path, headers, body, status, time.monotonic())
        self.receiver.requests.append(one)

    def _answer(self, answer: Answer) -> None:
        if answer.status == 0:
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()
            self.close_connection = True
            return
        with suppress(OSError):
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

    def log_message(self, *_: object) -> None:
        """Nothing: what came is in the receiver."""


@contextmanager
def http_receiver(answers: Answers = always, certificate: Path | None = None) -> Iterator[Receiver]:
    """A server on loopback; over TLS with the file of a certificate and its key."""
    receiver = Receiver(answers)
    handler = type("Handler", (_Handler,), {"receiver": receiver})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

"""Just enough HTTP/1.1 for the sink: kept-alive connections, bodies of known length.

The standard library's server parses every head with its mail parser, which costs more than
counting a small bulk.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from http.client import responses
from typing import NoReturn
from urllib.parse import parse_qsl, unquote, urlsplit

LONGEST_HEAD_BYTES = 64 * 1024
LONGEST_BODY_BYTES = 100 * 1024 * 1024
# Closing with a linger time of zero sends a reset instead of an orderly end.
_RESETS = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class HttpRequest:
    """One request; `path` and `query` are decoded."""

    method: str
    path: str
    query: Mapping[str, str]
    body: bytes = b""
    keep_alive: bool = True


class ReplyEnding(Enum):
    """What becomes of the connection with a reply: it is kept, it is reset without the reply, or
    nothing is said until the client hangs up."""

    KEPT = auto()
    RESET = auto()
    SILENCE = auto()


@dataclass(frozen=True)
class Reply:
    """One reply, by default JSON with status 200."""

    body: bytes
    status: int = 200
    kind: str = "application/json"
    ending: ReplyEnding = ReplyEnding.KEPT


class BadRequest(Exception):
    """The client does not speak the HTTP we understand; carries the status to answer with."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def json_reply(content: object, status: int = 200) -> Reply:
    """A reply of JSON."""
    return Reply(json.dumps(content, separators=(",", ":")).encode(), status)


class Conversation:
    """The requests and replies on one socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._ahead = b""

    def requests(self) -> Iterator[HttpRequest]:
        """Read requests until the client closes, or does not want to be kept."""
        while (text := self._read_head()) is not None:
            (method, target, version), fields = _parsed(text)
            address = urlsplit(target)
            connection = fields.get("connection", "").lower()
            request = HttpRequest(
                method=method,
                path=unquote(address.path),
                query=dict(parse_qsl(address.query, keep_blank_values=True)),
                body=self._read_body(fields),
                keep_alive=connection != "close" and version == "HTTP/1.1",
            )
            yield request
            if not request.keep_alive:
                return

    def answer(self, reply: Reply, *, with_body: bool = True) -> None:
        """Send a reply; a HEAD request gets none of its body.

        Raises ConnectionAbortedError when there is no reply and the conversation is over.
        """
        if reply.ending is not ReplyEnding.KEPT:
            self._break_off(reply.ending)
        head = (
            f"HTTP/1.1 {reply.status} {responses.get(reply.status, 'Error')}\r\n"
            f"X-elastic-product: Elasticsearch\r\ncontent-type: {reply.kind}\r\n"
            f"content-length: {len(reply.body)}\r\n\r\n"
        )
        self._socket.sendall(head.encode() + (reply.body if with_body else b""))

    def _break_off(self, ending: ReplyEnding) -> NoReturn:
        if ending is ReplyEnding.RESET:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESETS)
        while ending is ReplyEnding.SILENCE and self._socket.recv(LONGEST_HEAD_BYTES):
            pass
        raise ConnectionAbortedError

    def _read_head(self) -> str | None:
        while (end := self._ahead.find(b"\r\n\r\n")) < 0:
            if len(self._ahead) > LONGEST_HEAD_BYTES:
                raise BadRequest(431, "the head of the request is too long")
            chunk = self._socket.recv(LONGEST_HEAD_BYTES)
            if not chunk:
                return None
            self._ahead += chunk
        text, self._ahead = self._ahead[:end], self._ahead[end + 4 :]
        return text.decode("latin-1")

    def _read_body(self, fields: Mapping[str, str]) -> bytes:
        if "transfer-encoding" in fields:
            raise BadRequest(411, "the sink wants a content-length")
        length_text = fields.get("content-length", "0")
        if not length_text.isdecimal():
            raise BadRequest(400, f"content-length: {length_text!r} is not a number")
        length = int(length_text)
        if length > LONGEST_BODY_BYTES:
            raise BadRequest(413, f"the body has more than {LONGEST_BODY_BYTES} bytes")
        body, self._ahead = self._ahead[:length], self._ahead[length:]
        missing = length - len(body)
        if missing == 0:
            return body
        if fields.get("expect", "").lower() == "100-continue":
            self._socket.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        return body + self._receive(missing)

    def _receive(self, size: int) -> bytes:
        buffer = bytearray(size)
        free = memoryview(buffer)
        while free:
            taken = self._socket.recv_into(free, 0, socket.MSG_WAITALL)
            if taken == 0:
                raise BadRequest(400, "the connection was closed in the middle of a body")
            free = free[taken:]
        return bytes(buffer)


def _parsed(text: str) -> tuple[Sequence[str], Mapping[str, str]]:
    """The words of the first line of a head, and its fields."""
    first, *lines = text.split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadRequest(400, f"{first[:80]!r} is not an HTTP/1 request")
    fields = {}
    for line in lines:
        name, _, value = line.partition(":")
        fields[name.strip().lower()] = value.strip()
    return words, fields

"""What generated configurations send to: engines, syslog servers over TCP and UDP, and RELP."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedRWPair
from typing import ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from tests.live.generated import ENGINES, RELP, TARGETS
from tuner.validate.equality import Arrival

_MOST_BYTES = 65536
# The kernel gives no more than it is allowed to: an event cut into a thousand needs about this.
_BUFFER_BYTES = 4 << 20
_BULK_ACTIONS = (b'{"index":', b'{"create":')


class Wire:
    """All of them, in this process, on addresses of loopback; `arrivals` are what came."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        for host in ENGINES:
            self.engine(host)
        for host, port in TARGETS:
            udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
            udp.bind((host, port))
            _started(partial(self.datagrams, udp, f"udp {host}:{port}"))
            tcp = socket.create_server((host, port), backlog=50)
            self.listen(tcp, f"tcp {host}:{port}", self.lines)
        self.listen(socket.create_server(RELP), "relp", self.relp)

    def add(self, place: str, raw: bytes) -> None:
        """Note a line."""
        self.arrivals.append(Arrival(place, None, raw.decode("utf-8", "replace"), place=place))

    def engine(self, host: str) -> None:
        """Be an engine there."""
        taken = self.arrivals

        class Engine(_Engine):
            arrivals = taken

        _started(ThreadingHTTPServer((host, 9200), Engine).serve_forever)

    def datagrams(self, udp: socket.socket, place: str) -> None:
        """Take what comes over UDP."""
        while True:
            self.add(place, udp.recv(_MOST_BYTES))

    def listen(
        self, listener: socket.socket, place: str, serve: Callable[[BufferedRWPair, str], None]
    ) -> None:
        """Take connections."""

        def serving(connection: socket.socket) -> None:
            with connection, connection.makefile("rwb") as both, suppress(OSError, ValueError):
                serve(both, place)

        def accept() -> None:
            while True:
                connection, _ = listener.accept()
                _started(partial(serving, connection))

        _started(accept)

    def lines(self, both: BufferedRWPair, place: str) -> None:
        """Take a line each."""
        for line in both:
            self.add(place, line.rstrip(b"\n"))

    def relp(self, both: BufferedRWPair, place: str) -> None:
        """Take RELP: `NUMBER COMMAND LENGTH DATA`, each acknowledged."""
        while number := _word(both):
            command, size = _word(both), b""
            while (one := both.read(1)).isdigit():
                size += one
            data = both.read(int(size)) if int(size) else b""
            if one == b" ":
                both.read(1)
            if command == b"syslog":
                self.add(place, data)
            said = b"200 OK" + (b"\n" + data if command == b"open" else b"")
            both.write(b"%s rsp %d %s\n" % (number, len(said), said))
            both.flush()


def _started(what: Callable[[], None]) -> None:
    threading.Thread(target=what, daemon=True).start()


def _word(file: BufferedRWPair) -> bytes:
    found = b""
    while (one := file.read(1)) not in {b"", b" "}:
        found += one
    return found.strip()


class _Engine(BaseHTTPRequestHandler):
    """An engine that takes everything."""

    protocol_version = "HTTP/1.1"
    arrivals: ClassVar[list[Arrival]]

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        """Any question."""
        self.answer({"version": {"number": "8.19.0"}})

    def do_HEAD(self) -> None:
        """The same."""
        self.do_GET()

    def do_POST(self) -> None:
        """A bulk, or one document."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        asked = urlsplit(self.path)
        pipeline = parse_qs(asked.query).get("pipeline", [None])[0]
        where = f"http {self.connection.getsockname()[0]}"
        words = [unquote(one) for one in asked.path.strip("/").split("/")]
        if words[-1] != "_bulk":
            self.arrivals.append(_single(where, words, body, pipeline))
            self.answer({"_index": words[0], "result": "created", "status": 201}, 201)
            return
        items: list[object] = []
        for line, text in _pairs(body):
            verb, meta = next(iter(json.loads(line).items()))
            index = f"{meta.get('_index')} {'' if verb == 'index' else f'{verb} '}{where}"
            self.arrivals.append(
                Arrival(index, meta.get("_id"), text, meta.get("pipeline", pipeline))
            )
            items.append({verb: {"_index": meta.get("_index"), "_id": "1", "status": 201}})
        self.answer({"took": 1, "errors": False, "items": items})

    def do_PUT(self) -> None:
        """The same."""
        self.do_POST()

    def answer(self, value: object, status: int = 200) -> None:
        """Reply with JSON."""
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)


def _pairs(body: bytes) -> Iterator[tuple[bytes, str]]:
    """The actions of a bulk, each with its document, which may be empty, or end a line itself."""
    action = None
    for line in filter(None, (one.strip() for one in body.split(b"\n"))):
        if line.replace(b": ", b":").startswith(_BULK_ACTIONS):
            if action is not None:
                yield action, ""
            action = line
        elif action is not None:
            yield action, line.decode("utf-8", "replace")
            action = None
    if action is not None:
        yield action, ""


def _single(where: str, words: Sequence[str], body: bytes, pipeline: str | None) -> Arrival:
    """A document that came by itself: /index/type or /index/type/id."""
    _, _, *rest = [*words, ""][:3]
    text = body.decode("utf-8", "replace").strip("\n")
    return Arrival(f"{words[0]} {where}", rest[0] or None if rest else None, text, pipeline)

"""An engine that answers what it was told to, for what the lab's engines do not have."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NODES = {
    "nodes": {
        "n": {
            "version": "8.19.0",
            "os": {"allocated_processors": 1},
            "http": {"max_content_length_in_bytes": 104857600},
            "indexing_pressure": {"memory": {"limit_in_bytes": 53687091}},
        }
    }
}
NONE: Mapping[str, object] = {"index_templates": []}
NOT_THERE = 404


@dataclass(frozen=True)
class Refusal:
    """What is said with a status of 400."""

    error: Mapping[str, object]


@dataclass(frozen=True)
class Raw:
    """What is sent as it is, piece by piece with pauses, with a status; without end where
    `endless`, and with a length where one is said."""

    pieces: tuple[bytes, ...]
    status: int = 200
    endless: bool = False
    location: str | None = None
    pause_s: float = 0.0
    length: int | None = None


@dataclass
class Recorded:
    """An engine of recorded answers, by path without its query; a number is a status without an
    answer, of a list the first is next, and gone.  `requests` are what came: method and path, and
    the header Authorization."""

    answers: dict[str, object]
    url: str = ""
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)


def _raw(answer: object) -> Raw:
    """What is sent of an answer."""
    status = 200
    if isinstance(answer, int):
        status, answer = answer, {"error": {"reason": "no such thing"}}
    elif isinstance(answer, Refusal):
        status, answer = 400, {"error": answer.error}
    body = json.dumps(answer).encode()
    return Raw((body,), status, length=len(body))


def _send(handler: BaseHTTPRequestHandler, answer: Raw) -> None:
    handler.send_response(answer.status)
    if answer.location is not None:
        handler.send_header("Location", answer.location)
    if answer.length is not None:
        handler.send_header("Content-Length", str(answer.length))
    handler.end_headers()
    with contextlib.suppress(ConnectionError):
        for piece in itertools.cycle(answer.pieces) if answer.endless else answer.pieces:
            handler.wfile.write(piece)
            time.sleep(answer.pause_s)


@contextlib.contextmanager
def answering(answers: Mapping[str, object]) -> Iterator[Recorded]:
    """That engine, while it runs; what it was told nothing about is not there."""
    recorded = Recorded(
        {"/_nodes/_local": NODES, "/_nodes/os": NODES, "/_cluster/health": {}, "/": 405, **answers}
    )

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            recorded.requests.append((self.command, self.path, self.headers.get("Authorization")))
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = recorded.answers.get(self.path.partition("?")[0], NOT_THERE)
            if isinstance(answer, list):
                answer = answer.pop(0)
            _send(self, answer if isinstance(answer, Raw) else _raw(answer))

        do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        recorded.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield recorded
        finally:
            server.shutdown()
            thread.join()

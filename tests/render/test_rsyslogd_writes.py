"""What a real rsyslogd sends with a rendered configuration: the documents, byte for byte."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.profile.examples import small
from tuner.lab.entrances import free_port
from tuner.render.artefacts import render
from tuner.render.tree import Tree

pytestmark = [
    pytest.mark.live,
    pytest.mark.each_rsyslogd("parameters"),
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

TIMEOUT_S = 10.0


class Engine(ThreadingHTTPServer):
    """Answers bulks as Elasticsearch does, and keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.paths: list[str] = []
        self.lines: list[bytes] = []


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer({"status": 200})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        lines = body.splitlines()
        assert isinstance(self.server, Engine)
        self.server.paths.append(self.path)
        self.server.lines += lines
        items = [{"index": {"status": 201}} for _ in lines[::2]]
        self._answer({"errors": False, "items": items})

    def _answer(self, body: object) -> None:
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing."""


@pytest.fixture
def engine() -> Iterator[Engine]:
    server = Engine()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def send(
    engine: Engine, folder: Path, messages: list[bytes], changes: Mapping[str, object]
) -> None:
    """Run rsyslogd on the small profile with `changes` until the engine has every message."""
    port = free_port()
    ours = {
        "inputs[0].port": port,
        "outputs[logs].servers": [f"http://127.0.0.1:{engine.server_port}"],
    }
    Tree(render(small({**ours, **changes})), folder).write()
    command = ["rsyslogd", "-n", "-f", str(folder / "rsyslog.conf"), "-i", str(folder / "pid")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as daemon:
        try:
            deadline = time.monotonic() + TIMEOUT_S
            connection = connect(port, deadline)
            connection.sendall(b"".join(message + b"\n" for message in messages))
            while len(engine.lines) < 2 * len(messages) and time.monotonic() < deadline:
                time.sleep(0.02)
            connection.close()
        finally:
            daemon.terminate()


def connect(port: int, deadline: float) -> socket.socket:
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=1)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


HEAD = b"<13>Nov 21 01:02:03 web1 app[77]: "


def test_an_event_becomes_the_document_of_the_profile(engine: Engine, tmp_path: Path) -> None:
    send(engine, tmp_path, [HEAD + b"hello"], {})
    assert json.loads(engine.lines[0]) == {"index": {"_index": "syslog"}}
    document = json.loads(engine.lines[1])
    assert document.pop("@timestamp")[4:19] == "-11-21T01:02:03"
    assert document == {
        "host": {"name": "web1"},
        "process": {"name": "app"},
        "log": {
            "syslog": {
                "severity": {"code": 5, "name": "notice"},
                "facility": {"code": 1, "name": "user"},
                "procid": "77",
            }
        },
        "message": " hello",
    }


NASTY = [
    b'"}\\', b'{"index":{}}', b"tab\there", b"%msg% $x `id`", b"\\u0000 \\n", b"caf\xc3\xa9",
    b"latin caf\xe9 and \xff\xfe",
]  # fmt: skip


@pytest.mark.parametrize("preset", ["ecs", "logstash", "sematext"])
def test_no_message_breaks_its_document(engine: Engine, tmp_path: Path, preset: str) -> None:
    send(engine, tmp_path, [HEAD + text for text in NASTY], {"outputs[logs].document": preset})
    documents = [json.loads(line) for line in engine.lines[1::2]]
    assert len(documents) == len(NASTY)
    found = [document["message"] for document in documents]
    assert found[:2] == [' "}\\', ' {"index":{}}']
    assert found[3:6] == [
        " %msg% $x `id`",
        " \\u0000 \\n",
        " caf\N{LATIN SMALL LETTER E WITH ACUTE}",
    ]
    assert found[6].startswith(" latin caf")


def test_a_daily_index_takes_the_day_of_the_event(engine: Engine, tmp_path: Path) -> None:
    send(engine, tmp_path, [HEAD + b"hello"], {"outputs[logs].index.rotate": "daily"})
    name = json.loads(engine.lines[0])["index"]["_index"]
    assert name.startswith("syslog-20")
    assert name.endswith(".11.21")


def test_the_filter_of_replies_reaches_the_url(engine: Engine, tmp_path: Path) -> None:
    filters = ["errors", "items.*.status"]
    send(engine, tmp_path, [HEAD + b"hello"], {"outputs[logs].filter_path": filters})
    assert engine.paths == ["/_bulk?timeout=1m&filter_path=errors,items.*.status"]

"""Where a generated configuration runs as it is: a network of its own with what it sends to, and
what arrived there and in files."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from tests.live.generated import ENGINES, FILES, RELP, TARGETS, Entry, Generated
from tuner.host.programs import rsyslogd
from tuner.validate.equality import Arrival, Delivered

_POLL_S, _CALM, _PATIENCE_S = 0.08, 2, 25.0
_FIRST_EPHEMERAL = 32768
_LISTENING = "0A"
# What rsyslogd says of itself would be an event too.
_SILENT = 'global(internalmsg.severity="emerg")\n'


class Wire:
    """What receives on the network what configurations send: engines, syslog servers, RELP."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        for host in ENGINES:
            server = ThreadingHTTPServer((host, 9200), _engine(self))
            self._start(server.serve_forever)
        for host, port in TARGETS:
            udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            udp.bind((host, port))
            self._start(self._datagrams, udp, f"udp {host}:{port}")
            self._start(self._accept, _listener(host, port), self._lines, f"tcp {host}:{port}")
        self._start(self._accept, _listener(*RELP), self._relp, "relp")

    def _start(self, what: object, *given: object) -> None:
        threading.Thread(target=what, args=given, daemon=True).start()  # type: ignore[arg-type]

    def add(self, place: str, raw: bytes) -> None:
        """Note a line."""
        self.arrivals.append(Arrival(place, None, raw.decode("utf-8", "replace"), place=place))

    def _datagrams(self, udp: socket.socket, place: str) -> None:
        while True:
            self.add(place, udp.recv(65536))

    def _accept(self, listener: socket.socket, serve: object, place: str) -> None:
        while True:
            self._start(serve, listener.accept()[0], place)

    def _lines(self, connection: socket.socket, place: str) -> None:
        with connection.makefile("rb") as lines, suppress(OSError):
            for line in lines:
                self.add(place, line.rstrip(b"\n"))

    def _relp(self, connection: socket.socket, place: str) -> None:
        with connection.makefile("rwb") as both, suppress(OSError, ValueError):
            while number := _word(both):
                command, size = _word(both), 0
                digits = b""
                while (one := both.read(1)).isdigit():
                    digits += one
                size = int(digits or b"0")
                data = both.read(size) if size else b""
                if one == b" ":
                    both.read(1)
                if command == b"syslog":
                    self.add(place, data)
                said = b"200 OK\n" + data if command == b"open" else b"200 OK"
                both.write(b"%s rsp %d %s\n" % (number, len(said), said))
                both.flush()


def _word(file: object) -> bytes:
    found = b""
    while (one := file.read(1)) not in {b"", b" "}:  # type: ignore[attr-defined]
        found += one
    return found.strip()


def _listener(host: str, port: int) -> socket.socket:
    listener = socket.create_server((host, port), backlog=50)
    return listener


def _engine(wire: Wire) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """An engine that takes everything."""

        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Nothing."""

        def do_GET(self) -> None:
            self._answer({"version": {"number": "8.19.0"}})

        do_HEAD = do_GET

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked = urlsplit(self.path)
            query = {key: one[0] for key, one in parse_qs(asked.query).items()}
            where = f"http {self.server.server_address[0]}"
            words = [unquote(one) for one in asked.path.strip("/").split("/")]
            if words[-1] != "_bulk":
                wire.arrivals.append(_document(where, words, query, body))
                self._answer({"_index": words[0], "result": "created", "status": 201}, 201)
                return
            items: list[object] = []
            for line, text in _pairs(body):
                verb, meta = next(iter(json.loads(line).items()))
                index = f"{meta.get('_index')} {'' if verb == 'index' else f'{verb} '}{where}"
                pipeline = meta.get("pipeline", query.get("pipeline"))
                wire.arrivals.append(Arrival(index, meta.get("_id"), text, pipeline))
                items.append({verb: {"_index": meta.get("_index"), "_id": "1", "status": 201}})
            self._answer({"took": 1, "errors": False, "items": items})

        do_PUT = do_POST

        def _answer(self, value: object, status: int = 200) -> None:
            raw = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(raw)

    return Handler


def _pairs(body: bytes) -> Iterator[tuple[bytes, str]]:
    """The actions of a bulk, each with its document, which may be empty, or end a line itself."""
    action = None
    for line in filter(None, (one.strip() for one in body.split(b"\n"))):
        if line.startswith((b'{"index":{', b'{"create":{', b'{"index": {', b'{"create": {')):
            if action is not None:
                yield action, ""
            action = line
        elif action is not None:
            yield action, line.decode("utf-8", "replace")
            action = None
    if action is not None:
        yield action, ""


def _document(where: str, words: Sequence[str], query: dict[str, str], body: bytes) -> Arrival:
    """One that came by itself: /index/type or /index/type/id."""
    named = words[2] if len(words) > 2 else None
    text = body.decode("utf-8", "replace").strip("\n")
    return Arrival(f"{words[0]} {where}", named, text, query.get("pipeline"))


@dataclass(frozen=True)
class Ran:
    """What a configuration did, what rsyslogd printed, and what it complained of as it started."""

    delivered: Delivered
    said: str
    refused: str


@dataclass
class GeneratedLab:
    """A folder and receivers, for one configuration after the other."""

    home: Path
    wire: Wire = field(default_factory=Wire)

    def written(self, path: Path, content: str) -> Path:
        """A file with the folder of the lab in its text, written."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content.replace(FILES, str(self.home)), encoding="utf-8")
        return path

    def run(self, text: str, case: Generated, events: Sequence[bytes]) -> Ran:
        """Run a configuration with the events, which are dealt out to its entries."""
        shutil.rmtree(self.home, ignore_errors=True)
        for name, content in case.files.items():
            self.written(self.home / name, content)
        (self.home / "spool").mkdir(parents=True)
        conf = self.home.with_suffix(".conf")
        conf.write_text(text + _SILENT, encoding="utf-8", errors="surrogateescape")
        log = self.home.with_suffix(".log")
        self.wire.arrivals = []
        before = _sockets()
        command = ["setpriv", "--pdeathsig", "KILL", rsyslogd(), "-n", "-f", str(conf), "-iNONE"]
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        with log.open("wb") as said:
            running = subprocess.Popen(command, stdout=said, stderr=said, env=environment)
        try:
            wanted = {one.socket for one in case.entries if one.socket}
            _wait(lambda: wanted <= {one.partition(" ")[0] + one.rpartition(":")[2] for one in _sockets() - before} or running.poll() is not None, 10)
            time.sleep(_POLL_S)
            sockets = _sockets() - before
            refused = _refused(log) or ("" if running.poll() is None else f"it ended: {running.returncode}")
            for number, entry in enumerate(case.entries):
                if not refused:
                    _send(entry, events[number :: len(case.entries)])
            if not refused:
                self._calm(running)
            running.terminate()
            with suppress(subprocess.TimeoutExpired):
                running.wait(10)
        finally:
            if running.poll() is None:
                running.kill()
                running.wait(5)
        time.sleep(_POLL_S)
        code = f"exit code {running.returncode}\n" if running.returncode else ""
        sent = self.wire.arrivals
        if "several servers" in case.features:
            # Bulks go to each in turn.
            sent = [replace(one, index=one.index.partition(" http ")[0]) for one in sent]
        own = [*sent, *self._written(case)]
        return Ran(Delivered(own, sockets=frozenset(sockets)), code + log.read_text("utf-8", "replace"), refused)

    def _calm(self, running: subprocess.Popen[bytes]) -> None:
        """Wait until every thread sleeps, nothing is unread, and nothing comes any more."""
        calm, seen, deadline = 0, -1, time.monotonic() + _PATIENCE_S
        while calm < _CALM and time.monotonic() < deadline and running.poll() is None:
            now = len(self.wire.arrivals)
            is_calm = now == seen and _sleeps(running.pid) and not _unread()
            calm, seen = calm + 1 if is_calm else 0, now
            time.sleep(_POLL_S)

    def _written(self, case: Generated) -> Iterator[Arrival]:
        for path in sorted(self.home.rglob("*")):
            place = str(path.relative_to(self.home))
            if not path.is_file() or place in case.files or place.startswith("spool/"):
                continue
            for line in path.read_bytes().splitlines():
                yield Arrival(place, None, line.decode("utf-8", "replace"), place=f"/{place}")


def _refused(log: Path) -> str:
    """What rsyslogd says is wrong with a configuration as it starts."""
    lines = log.read_text("utf-8", "replace").splitlines()
    return "; ".join(one for one in lines if "error" in one.lower() or "warnings occurred" in one or "not accessible" in one)[:1500]


def _wait(condition: object, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < deadline:  # type: ignore[operator]
        time.sleep(_POLL_S / 2)


def _sleeps(pid: int) -> bool:
    with suppress(OSError):
        for task in os.scandir(f"/proc/{pid}/task"):
            state = Path(task.path, "stat").read_text().rpartition(")")[2].split()[0]
            if state not in "SI":
                return False
    return True


def _rows() -> Iterator[tuple[str, list[str]]]:
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]:
            yield kind, line.split()


def _unread() -> bool:
    """Whether a receiver has not read all: what comes back, senders may leave unread."""
    return any(
        int(row[4].partition(":")[2], 16) and int(row[1].partition(":")[2], 16) < _FIRST_EPHEMERAL
        for kind, row in _rows()
        if row[3] != _LISTENING or kind[:3] == "udp"
    )


def _sockets() -> set[str]:
    """What is listened on, by kind, address and port."""
    found = set()
    for kind, row in _rows():
        address, _, port = row[1].partition(":")
        number = int(port, 16)
        if (kind[:3] == "udp" or row[3] == _LISTENING) and number < _FIRST_EPHEMERAL:
            found.add(f"{kind[:3]} {address}:{number}")
    return found


def _send(entry: Entry, messages: Sequence[bytes]) -> None:
    if entry.kind == "udp":
        family = socket.AF_INET6 if ":" in entry.host else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as sender:
            for message in messages:
                sender.sendto(message, (entry.host, entry.port))
    elif entry.kind == "tcp":
        with socket.create_connection((entry.host, entry.port), 10) as connection, suppress(OSError):
            connection.sendall(b"".join(one.replace(b"\n", b" ") + b"\n" for one in messages))
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass


def dealt(events: Sequence[bytes], number: int, count: int = 60) -> list[bytes]:
    """Some of the events, others for each number; the longest of all seldom."""
    choose = random.Random(number)
    usual = [one for one in events if len(one) < 2000 or number % 20 == 0]
    return sorted(choose.sample(usual, min(count, len(usual))), key=usual.index)

"""An outage of the engine under a real rsyslogd: what arrives, what is kept, and what stands still.

The engine is a small server of this process: it is away, hangs or refuses from the first event on,
for some seconds or for good.  What counts as kept is what the engine has, what another output took
instead, and what rsyslogd delivers from its disk when it is started again.
"""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tuner.host.process import give_to_daemons
from tuner.lab.entrances import EventSource, TcpPort, UdpPort, free_port
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder

_NUMBER = re.compile(rb"seq=(\d+)")
_AWAY, _HANGS, _UP = "away", "hang", ""
BURST, AFTERWARDS = 1500, 200
_STOP_S, _LONGEST_S = 15.0, 60.0
# Of some 200 KiB that a socket holds, 768 bytes for each datagram; and how long the buffer of one
# that nobody reads stays so full.
_MOST_WAITING, _STANDS_S = 48 * 1024, 1.5


class Server:
    """What listens on a port of this machine and collects the numbers of events, until it is told
    to be away."""

    def __init__(self) -> None:
        self.numbers: set[int] = set()
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listening: socket.socket | None = None
        self.port = 0
        while self._listening is None:
            self.port = free_port()
            # Another test may have taken it meanwhile.
            with suppress(OSError):
                self.listen()

    def listen(self) -> None:
        """Take connections."""
        self._listening = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(self._listening,), daemon=True).start()

    def close(self) -> None:
        """Refuse connections, and break those that there are."""
        if self._listening is not None:
            _broken(self._listening)
        self._listening = None
        with self._lock:
            connections, self._connections = self._connections, set()
        for one in connections:
            _broken(one)

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with self._lock:
                self._connections.add(connection)
            threading.Thread(target=self._guarded, args=(connection,), daemon=True).start()

    def _guarded(self, connection: socket.socket) -> None:
        with suppress(OSError, ValueError), connection:
            self.serve(connection)

    def serve(self, connection: socket.socket) -> None:
        """Lines of events."""
        with connection.makefile("rb") as lines:
            for line in lines:
                self.take(line)

    def take(self, text: bytes) -> int:
        """Keep the numbers in a text; how many there are."""
        found = [int(one) for one in _NUMBER.findall(text)]
        with self._lock:
            self.numbers.update(found)
        return len(found)


def _broken(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


class Engine(Server):
    """An engine that has a fault for a while: away, hang, or the status of every answer."""

    def __init__(self) -> None:
        self.fault, self.requests = _UP, 0
        super().__init__()

    def turn(self, fault: str) -> None:
        """Begin a fault, or end it with an empty one."""
        self.fault = fault
        if fault == _AWAY:
            self.close()
        elif self._listening is None:
            self.listen()

    def serve(self, connection: socket.socket) -> None:
        """Bulk requests of HTTP/1.1."""
        with connection.makefile("rb") as stream:
            while head := stream.readline():
                length = 0
                while (line := stream.readline().strip().lower()) != b"":
                    if line.startswith(b"content-length:"):
                        length = int(line.partition(b":")[2])
                    elif line.startswith(b"expect:"):
                        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                body = stream.read(length)
                self.requests += 1
                while self.fault == _HANGS:
                    time.sleep(0.05)
                if self.fault:
                    _answer(connection, int(self.fault), b'{"error":{"type":"no"},"status":0}')
                    continue
                count = self.take(body) if head.startswith(b"POST") else 0
                items = b",".join([b'{"index":{"status":201}}'] * count)
                _answer(connection, 200, b'{"errors":false,"items":[' + items + b"]}")


def _answer(connection: socket.socket, status: int, body: bytes) -> None:
    head = f"HTTP/1.1 {status} -\r\nContent-Type: application/json\r\n"
    connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)


@dataclass(frozen=True)
class Outage:
    """A fault of so many seconds, in which so many events come a second; rsyslogd is stopped before
    it is over, or the fault ends."""

    fault: str
    seconds: float
    rate: int
    is_stopped: bool = False

    def __str__(self) -> str:
        kind = {_AWAY: "away", _HANGS: "hangs"}.get(self.fault, f"answers {self.fault}")
        return f"{kind} {self.seconds:g} s{', stopped in it' if self.is_stopped else ''}"

    @property
    def events(self) -> int:
        """How many are sent."""
        return BURST + int(self.seconds * self.rate) + AFTERWARDS


@dataclass(frozen=True)
class Account:
    """Where the events are in the end: in the engine, what took over or on disk, and how many a
    file or an engine beside has; and whether that stood still."""

    sent: int
    kept: int
    beside: int
    stood: bool

    def __str__(self) -> str:
        return f"{self.kept:,}/{self.beside:,}{' stood' if self.stood else ''}"


@dataclass
class Site:
    """The ports and folders that a configuration names, as `@NAME@`."""

    folder: Path
    engine: Engine = field(default_factory=Engine)
    other: Engine = field(default_factory=Engine)
    neighbour: Engine = field(default_factory=Engine)
    relay: Server = field(default_factory=Server)
    port: int = field(default_factory=free_port)
    nobody: int = field(default_factory=free_port)

    def bound(self, text: str) -> str:
        """The configuration with them."""
        names = {
            "IN": self.port, "ES": self.engine.port, "ES2": self.other.port,
            "NEXT": self.neighbour.port, "FWD": self.relay.port, "NOBODY": self.nobody,
            "DIR": self.folder,
        }  # fmt: skip
        for name, value in names.items():
            text = text.replace(f"@{name}@", str(value))
        return text

    def written(self, name: str) -> set[int]:
        """The numbers in a file that rsyslogd writes."""
        file = self.folder / name
        return {int(one) for one in _NUMBER.findall(file.read_bytes())} if file.exists() else set()

    @property
    def arrived(self) -> set[int]:
        """What the engine has, or what took over from it."""
        others = self.other.numbers | self.relay.numbers | self.written("fallback")
        return self.engine.numbers | others

    @property
    def beside(self) -> set[int]:
        """What the file beside has, or the engine beside."""
        return self.written("local") | self.neighbour.numbers

    def close(self) -> None:
        """End all servers."""
        for one in (self.engine, self.other, self.neighbour, self.relay):
            one.close()


@contextmanager
def site_in(parent: Path) -> Iterator[Site]:
    """Ports and a folder for one configuration."""
    with scratch(parent) as below:
        site = Site(subfolder(below, "site"))
        (site.folder / "spool").mkdir()
        give_to_daemons(site.folder)
        try:
            yield site
        finally:
            site.close()


class _Sender(threading.Thread):
    """Events at a pace; over TCP it waits while rsyslogd does not read."""

    def __init__(self, port: int, outage: Outage, *, udp: bool) -> None:
        super().__init__(daemon=True)
        self.port, self.outage, self.udp, self.sent = port, outage, udp, 0
        self.is_stuck = self.is_halted = False
        kind = socket.SOCK_DGRAM if udp else socket.SOCK_STREAM
        self.socket = socket.socket(socket.AF_INET, kind)
        self.socket.connect(("127.0.0.1", port))
        self.is_over = threading.Event()

    def run(self) -> None:
        with suppress(OSError):
            self.send(BURST)
            began, due = time.monotonic(), self.outage.events - AFTERWARDS
            while self.sent < due and not self.is_halted:
                elapsed = time.monotonic() - began
                self.send(min(due, BURST + int(elapsed * self.outage.rate)) - self.sent)
                time.sleep(0.02)
            self.is_over.wait()
            if not self.is_halted:
                self.send(AFTERWARDS)

    def await_outage(self) -> None:
        """Until all events of the outage are sent; over TCP, or rsyslogd reads no more of them."""
        time.sleep(self.outage.seconds)
        due = self.outage.events - AFTERWARDS
        _still(lambda: self.sent, 60 if self.udp else 3, lambda: self.sent >= due)

    def _await_room(self) -> None:
        """Until rsyslogd has read most datagrams, unless it stands still: a machine that is busy
        loses none then that it would not lose otherwise."""
        until = time.monotonic() + _STANDS_S
        while _waiting_bytes(self.port) > _MOST_WAITING and not self.is_stuck:
            self.is_stuck = time.monotonic() > until
            time.sleep(0.005)
        self.is_stuck &= _waiting_bytes(self.port) > _MOST_WAITING

    def send(self, count: int) -> None:
        """So many events, a few at a time."""
        for start in range(self.sent, self.sent + count, 50):
            numbers = range(start, min(start + 50, self.sent + count))
            lines = [b"<13>Nov 21 06:30:00 h app: seq=%06d x" % number for number in numbers]
            if self.udp:
                self._await_room()
                for line in lines:
                    self.socket.send(line)
            else:
                self.socket.sendall(b"".join(line + b"\n" for line in lines))
        self.sent += count


def _waiting_bytes(port: int) -> int:
    """What the sockets at a UDP port hold that nobody has read (proc(5), /proc/net/udp)."""
    table = Path("/proc/net/udp").read_text(encoding="ascii")
    rows = [line.split() for line in table.splitlines()[1:]]
    return sum(int(row[4].partition(":")[2], 16) for row in rows if row[1].endswith(f":{port:04X}"))


def account(text: str, site: Site, outage: Outage, *, udp: bool) -> Account:
    """What becomes of the events of an outage under a configuration that is bound to the site."""
    entrance: EventSource = UdpPort(site.port) if udp else TcpPort(site.port)
    site.engine.turn(outage.fault)
    daemon = _started(text, site, "first", entrance)
    sender = _Sender(site.port, outage, udp=udp)
    sender.start()
    sender.await_outage()
    _still(lambda: (site.engine.requests, len(site.arrived), len(site.beside)), 1)
    sent_in_it, beside = sender.sent, len(site.beside)
    has_others = "/local" in text or f'"{site.neighbour.port}"' in text
    stood = has_others and beside < sent_in_it * 3 // 4
    if outage.is_stopped:
        sender.is_halted = True
        daemon.stop(_STOP_S)
        site.engine.turn(_UP)
    else:
        site.engine.turn(_UP)
        sender.is_over.set()
        _settled(lambda: (len(site.arrived), len(site.beside), sender.sent), outage)
        daemon.stop(_STOP_S)
    sent = sender.sent
    sender.socket.close()
    sender.is_over.set()
    if any((site.folder / "spool").iterdir()):
        again = _started(text, site, "second", entrance)
        _settled(lambda: len(site.arrived), outage)
        again.stop(_STOP_S)
    waiting = outage.events - AFTERWARDS * outage.is_stopped - sent
    return Account(sent, len(site.arrived) + waiting, len(site.beside) + waiting, stood)


def _started(text: str, site: Site, name: str, entrance: EventSource) -> Rsyslogd:
    return Rsyslogd(text, subfolder(site.folder.parent, name), [entrance])


def _settled(count: Callable[[], object], outage: Outage) -> None:
    """Until nothing more arrives: retries come a second apart, after ten of them two (action.c)."""
    _still(count, 2.5 + outage.seconds / 5)


def _still(
    count: Callable[[], object], quiet_s: float, is_done: Callable[[], bool] = lambda: False
) -> None:
    """Until a count stands still for so long, or all is done; a minute at most."""
    until = time.monotonic() + _LONGEST_S
    last, since = count(), time.monotonic()
    while not is_done() and time.monotonic() < until and time.monotonic() - since < quiet_s:
        time.sleep(0.25)
        now = count()
        if now != last:
            last, since = now, time.monotonic()

"""A generated configuration on rsyslogd as it is, in a network of its own: what came of events."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.live.generated import Generated
from tests.live.generated_inputs import FILES, Entry
from tests.live.generated_wire import Wire
from tuner.host.process import wait_until
from tuner.host.programs import rsyslogd
from tuner.validate.equality import Arrival, Delivered

_POLL_S, _CALM, _PATIENCE_S = 0.08, 2, 25.0
_START_S, _FINISH_S = 10.0, 10.0
_FIRST_EPHEMERAL = 32768
_LISTENING = "0A"
# What rsyslogd says of itself would be an event too.
_SILENT = 'global(internalmsg.severity="emerg")\n'
_COMPLAINTS = ("error", "warnings occurred", "not accessible")
_MOST_SAID = 1500
# Longer ones are in every twentieth configuration only: rsyslogd cuts them into hundreds.
_LONG_BYTES, _EACH_LONG = 2000, 20
_EVENTS = 60


@dataclass(frozen=True)
class Ran:
    """What a configuration did, and what rsyslogd complained of as it started."""

    delivered: Delivered
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
        conf, log = self.home.with_suffix(".conf"), self.home.with_suffix(".log")
        conf.write_text(text + _SILENT, encoding="utf-8", errors="surrogateescape")
        self.wire.arrivals.clear()
        before = _sockets()
        with log.open("wb") as said:
            running = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", rsyslogd(), "-n", "-f", str(conf), "-iNONE"],
                stdout=said, stderr=said, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            )  # fmt: skip
        try:
            wanted = {one.socket for one in case.entries}
            wait_until(
                lambda: wanted <= _kinds(_sockets() - before) or running.poll() is not None,
                _START_S,
            )
            sockets, refused = _sockets() - before, _refused(log, running)
            for number, entry in enumerate(case.entries) if not refused else ():
                if not _sent(entry, events[number :: len(case.entries)]):
                    refused = f"nothing listens on {entry.host}, {entry.kind} port {entry.port}"
            if not refused:
                self._await_calm(running)
            running.terminate()
            with suppress(subprocess.TimeoutExpired):
                running.wait(_FINISH_S)
        finally:
            if running.poll() is None:
                running.kill()
                running.wait(_FINISH_S)
        time.sleep(_POLL_S)
        return Ran(Delivered(tuple(self._arrived(case)), sockets=frozenset(sockets)), refused)

    def _await_calm(self, running: subprocess.Popen[bytes]) -> None:
        """Wait until every thread sleeps, nothing is unread, and nothing comes any more."""
        calm, seen, deadline = 0, -1, time.monotonic() + _PATIENCE_S
        while calm < _CALM and time.monotonic() < deadline and running.poll() is None:
            now = len(self.wire.arrivals)
            is_calm = now == seen and _sleeps(running.pid) and not _unread()
            calm, seen = calm + 1 if is_calm else 0, now
            time.sleep(_POLL_S)

    def _arrived(self, case: Generated) -> Iterator[Arrival]:
        """What was sent, and the lines of what was written."""
        for one in self.wire.arrivals:
            # Bulks go to several servers in turn.
            is_any = "several servers" in case.features
            yield replace(one, index=one.index.partition(" http ")[0]) if is_any else one
        for path in sorted(self.home.rglob("*")):
            place = str(path.relative_to(self.home))
            if path.is_file() and place not in case.files and not place.startswith("spool/"):
                for line in path.read_bytes().splitlines():
                    yield Arrival(place, None, line.decode("utf-8", "replace"), place=f"/{place}")


def _refused(log: Path, running: subprocess.Popen[bytes]) -> str:
    """What rsyslogd says is wrong with a configuration as it starts."""
    lines = log.read_text("utf-8", "replace").splitlines()
    wrong = [one for one in lines if any(word in one.lower() for word in _COMPLAINTS)]
    if not wrong and running.poll() is not None:
        wrong = [f"it ended with {running.returncode}"]
    return "; ".join(wrong)[:_MOST_SAID]


def _sleeps(pid: int) -> bool:
    """Whether all threads of a process wait."""
    with suppress(OSError):
        stats = [Path(task.path, "stat").read_text() for task in os.scandir(f"/proc/{pid}/task")]
        return all(one.rpartition(")")[2].split()[0] in {"S", "I"} for one in stats)
    return True


def _rows() -> Iterator[tuple[str, str, str, int, int]]:
    """Sockets of this network: kind, state, address, port, and bytes that nobody has read."""
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]:
            _, own, _, state, queues, *_ = line.split()
            address, _, port = own.partition(":")
            yield kind[:3], state, address, int(port, 16), int(queues.partition(":")[2], 16)


def _unread() -> bool:
    """Whether a receiver has not read all: what comes back, senders may leave unread."""
    return any(
        unread and port < _FIRST_EPHEMERAL and (kind == "udp" or state != _LISTENING)
        for kind, state, _, port, unread in _rows()
    )


def _sockets() -> set[str]:
    """What is listened on, by kind, address and port."""
    return {
        f"{kind} {address}:{port}"
        for kind, state, address, port, _ in _rows()
        if port < _FIRST_EPHEMERAL and (kind == "udp" or state == _LISTENING)
    }


def _kinds(sockets: set[str]) -> set[str]:
    """The same without addresses."""
    return {f"{one.partition(' ')[0]}{one.rpartition(':')[2]}" for one in sockets}


def _sent(entry: Entry, messages: Sequence[bytes]) -> bool:
    """Whether messages were taken there."""
    where = (entry.host, entry.port)
    if entry.kind == "udp":
        family = socket.AF_INET6 if ":" in entry.host else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as sender:
            for message in messages:
                sender.sendto(message, where)
        return True
    opened: list[socket.socket] = []

    def is_open() -> bool:
        with suppress(ConnectionRefusedError):
            opened.append(socket.create_connection(where, _START_S))
        return bool(opened)

    if not wait_until(is_open, _START_S):
        return False
    with opened[0] as connection, suppress(OSError):
        connection.sendall(b"".join(message + b"\n" for message in messages))
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(_LONG_BYTES):
            pass
    return True


def dealt(events: Sequence[bytes], number: int, may_be_long: bool) -> list[bytes]:
    """Some of the events, others for each number."""
    has_long = may_be_long and number % _EACH_LONG == 0
    usual = [one for one in events if len(one) < _LONG_BYTES or has_long]
    chosen = random.Random(number).sample(range(len(usual)), min(_EVENTS, len(usual)))
    return [usual[one] for one in sorted(chosen)]

"""Sends numbered events, and notes when each was handed over."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

_BATCH_S = 0.02
_TIMEOUT_S, _CONNECTS_S = 1.0, 0.1


@dataclass(frozen=True)
class Burst:
    """What is sent: so many events at so many a second by a transport, from `hosts` addresses; each
    third is of `severity` where that is not 6."""

    way: str
    events: int
    rate: float
    hosts: int = 1
    severity: int = 6
    pad: int = 60


@dataclass
class Sender:
    """All that is sent in a scenario: by number of the event, when it was handed over."""

    ports: dict[str, int]
    folder: Path
    sent: dict[int, float] = field(default_factory=dict)
    ways: dict[int, str] = field(default_factory=dict)
    _next: int = 0
    _threads: list[threading.Thread] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)

    def begin(self, burst: Burst) -> None:
        """Send in the background."""
        first, self._next = self._next, self._next + burst.events
        self.ways |= dict.fromkeys(range(first, self._next), burst.way)
        thread = threading.Thread(target=self._send, args=(burst, first), daemon=True)
        thread.start()
        self._threads.append(thread)

    def end(self) -> None:
        """Send no more."""
        self._ended.set()
        for one in self._threads:
            one.join(5)

    def _send(self, burst: Burst, first: int) -> None:
        begun, done = time.monotonic(), 0
        with suppress(OSError), _WAYS[burst.way](self, burst) as hand_over:
            while done < burst.events and not self._ended.is_set():
                due = min(burst.events, int((time.monotonic() - begun) * burst.rate) + 1)
                for number in range(first + done, first + due):
                    if not self._hand_over(hand_over, number, _event(number, burst)):
                        return
                done = due
                time.sleep(_BATCH_S)

    def _hand_over(self, hand_over: Callable[[int, bytes], None], number: int, one: bytes) -> bool:
        """Whether an event was handed over before the end: a full pipe makes it wait."""
        while not self._ended.is_set():
            with suppress(TimeoutError):
                hand_over(number, one)
                self.sent[number] = time.time()
                return True
        return False


def _event(number: int, burst: Burst) -> bytes:
    severity = burst.severity if number % 3 == 0 else 6
    stamp = time.strftime("%b %d %H:%M:%S")
    padding = "x" * burst.pad
    return f"<{128 + severity}>{stamp} host drill: seq={number:06d}; {padding}".encode()


@contextmanager
def _tcp(sender: Sender, burst: Burst) -> Iterator[Callable[[int, bytes], None]]:
    every = []
    for n in range(burst.hosts):
        one = socket.socket()
        one.bind((f"127.0.0.{n + 1}", 0))
        one.settimeout(_CONNECTS_S)
        # One that cannot accept any more is no reason not to send over the others.
        with suppress(TimeoutError):
            one.connect(("127.0.0.1", sender.ports["tcp"]))
            one.settimeout(_TIMEOUT_S)
            every.append(one)

    def hand_over(number: int, event: bytes) -> None:
        # A line that was sent in part must be sent to its end.
        left = memoryview(event + b"\n")
        while left:
            try:
                left = left[every[number % len(every)].send(left) :]
            except TimeoutError:
                if len(left) == len(event) + 1 or sender._ended.is_set():
                    raise

    yield hand_over
    for one in every:
        one.close()


@contextmanager
def _udp(sender: Sender, burst: Burst) -> Iterator[Callable[[int, bytes], None]]:
    every = [socket.socket(type=socket.SOCK_DGRAM) for _ in range(burst.hosts)]
    for n, one in enumerate(every):
        one.bind((f"127.0.0.{n + 1}", 0))

    def hand_over(number: int, event: bytes) -> None:
        every[number % len(every)].sendto(event, ("127.0.0.1", sender.ports["udp"]))

    yield hand_over
    for one in every:
        one.close()


@contextmanager
def _unix(sender: Sender, burst: Burst) -> Iterator[Callable[[int, bytes], None]]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
        own.connect(str(sender.folder / "socket"))
        own.settimeout(_TIMEOUT_S)
        # A local program's head names no host.
        yield lambda _, event: own.sendall(event.replace(b" host ", b" ", 1))


@contextmanager
def _relp(sender: Sender, burst: Burst) -> Iterator[Callable[[int, bytes], None]]:
    with socket.create_connection(("127.0.0.1", sender.ports["relp"])) as own:
        file = own.makefile("rb")
        count = 1

        def frame(command: bytes, data: bytes) -> None:
            nonlocal count
            own.sendall(b"%d %s %d %s\n" % (count, command, len(data), data))
            count += 1

        def hand_over(_: int, event: bytes) -> None:
            frame(b"syslog", event)
            file.readline()

        frame(b"open", b"relp_version=0\nrelp_software=drill\ncommands=syslog")
        while not file.readline().startswith(b"commands"):
            pass
        yield hand_over


@contextmanager
def _file(sender: Sender, burst: Burst) -> Iterator[Callable[[int, bytes], None]]:
    paths = [sender.folder / "in" / f"{n}.log" for n in range(burst.hosts)]
    for path in paths:
        path.touch()
        path.chmod(0o644)

    def hand_over(number: int, event: bytes) -> None:
        with paths[number % len(paths)].open("ab") as file:
            file.write(event + b"\n")

    yield hand_over


_WAYS = {"tcp": _tcp, "udp": _udp, "unix": _unix, "relp": _relp, "file": _file}

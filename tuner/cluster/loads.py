"""The load hosts, as the process that controls a flood sees them: by the messages exchanged."""

from __future__ import annotations

import queue
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from distributed import Client

from tuner.cluster import messages
from tuner.cluster.access import pem_text, workers_of
from tuner.cluster.processes import Channel, end_all, processes
from tuner.deploy.inventory import Role
from tuner.errors import JobFailed, Refused, Unreachable
from tuner.flood.spec import spec_of
from tuner.host.process import wait_until
from tuner.lab.loads import ClockOffset, MachineCounts

LOAD = "tuner.cluster.load"
"""The module of the process on a load host."""

_SILENCE_S = 5.0
_PING_S = 0.5
_START_S = 30.0
# After so many, the fastest one gives the clock offset within a few milliseconds.
_FIRST_PINGS = 10
_ENDING_S = 60.0

SendLine = Callable[[str, bytes], None]
"""Sends a line to a load host, by its name."""


class RemoteSender:
    """A sender on a load host."""

    def __init__(self, send: Callable[[messages.ToLoad], None]) -> None:
        self.name = secrets.token_hex(4)
        self._send = send
        self._is_started = False
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._complaint = ""

    @property
    def stdout(self) -> Iterator[bytes]:
        """The lines that it prints, until it ends."""
        while (line := self._lines.get()) is not None:
            yield line

    def tell(self, line: bytes) -> None:
        """Send it a line; the first one, the spec of the flood, starts it.  Raises JobFailed if a
        TLS file cannot be read on this machine."""
        if self._is_started:
            self._send(messages.SenderLine(self.name, line.decode()))
            return
        credentials = (transport.credentials for transport in spec_of(line).transports)
        paths = (path for files in credentials if files is not None for path in files.files)
        files = {path: pem_text(Path(path)) for path in paths}
        self._is_started = True
        self._send(messages.BeginSender(self.name, line.decode(), files))

    def wait(self, timeout_s: float) -> bool:
        """Wait up to `timeout_s` seconds for its end; False if it has not ended."""
        return self._ended.wait(timeout_s)

    def complaint(self) -> str:
        """Why it ended."""
        return self._complaint

    def end(self) -> None:
        """End it at once; lines that it still prints are ignored."""
        if not self._ended.is_set():
            self._send(messages.EndSender(self.name))
            self.on_end("")

    def close(self) -> None:
        """Does nothing: it uses nothing on this machine."""

    def on_line(self, line: bytes) -> None:
        """Take a line that it printed."""
        self._lines.put(line)

    def on_end(self, complaint: str) -> None:
        """Note that it has ended, or cannot be reached any more."""
        self._complaint = complaint
        self._ended.set()
        self._lines.put(None)


_KEPT = 64


class PeerClock:
    """The offset of another machine's clock, by its last 64 answers: clocks drift, so that older
    ones do not count."""

    def __init__(self) -> None:
        self._offsets: deque[ClockOffset] = deque(maxlen=_KEPT)

    def add(self, asked_s: float, theirs_s: float, answered_s: float) -> None:
        """Add an answer: when we asked and were answered by our clock, and the time by theirs.

        They read their clock at an unknown moment of the round trip, estimated as its middle, so
        the error is at most half of it (RFC 5905, section 8).
        """
        middle_s = (asked_s + answered_s) / 2
        self._offsets.append(ClockOffset(middle_s - theirs_s, (answered_s - asked_s) / 2))

    @property
    def samples(self) -> int:
        """The number of answers that count."""
        return len(self._offsets)

    def offset(self) -> ClockOffset:
        """The offset by the fastest answer; there must be one."""
        return min(self._offsets, key=lambda offset: offset.error_s)


class RemoteLoad:
    """One load host.  `is_alive` while it answers; `loss` is why it was lost, until reported."""

    def __init__(self, name: str, send: SendLine) -> None:
        self.name = name
        self._send_line = send
        self._clock = PeerClock()
        self._counts: MachineCounts | None = None
        self._senders: dict[str, RemoteSender] = {}
        self._allowed: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._answered_s = time.monotonic()
        self.is_alive = False
        self.loss: str | None = None

    def sender(self) -> RemoteSender:
        """A sender there, which its first line starts."""
        sender = RemoteSender(self._send)
        self._senders = {sender.name: sender}
        return sender

    def clock(self) -> ClockOffset:
        """The offset of its clock from ours."""
        return self._clock.offset()

    def counts(self) -> MachineCounts:
        """Its counters from its last answer; raises JobFailed before the first."""
        if self._counts is None:
            raise JobFailed(f"{self.name} has not answered yet")
        return self._counts

    def refusal(self, hosts: Sequence[str]) -> str | None:
        """Why it must not flood one of these hosts, None if it may; raises Unreachable if it does
        not answer."""
        self._send(messages.MayFlood(tuple(hosts)))
        try:
            return self._allowed.get(timeout=_START_S)
        except queue.Empty:
            raise Unreachable(f"no answer from {self.name}") from None

    def on_line(self, line: bytes) -> None:
        """Take a message from it."""
        self._answered_s = now_s = time.monotonic()
        match messages.FROM_LOAD.message(line):
            case messages.Pong(asked_s, counts):
                self._clock.add(asked_s, counts.at_s, now_s)
                self._counts = counts
                self.is_alive = True
            case messages.Allowed(refusal):
                self._allowed.put(refusal)
            case messages.SenderLine(name, text) if name in self._senders:
                self._senders[name].on_line(text.encode())
            case messages.SenderEnded(name, complaint) if name in self._senders:
                self._senders.pop(name).on_end(complaint)

    def ping(self) -> None:
        """Ask it for its time; it is lost if it has been silent for too long."""
        self._send(messages.Ping(time.monotonic()))
        silent_s = time.monotonic() - self._answered_s
        if self.is_alive and silent_s > _SILENCE_S:
            self.on_loss(f"no answer for {silent_s:.0f} s")

    def on_loss(self, reason: str) -> None:
        """Note that it cannot be reached any more, nor its senders, which it ends if it returns."""
        self.is_alive, self.loss = False, f"{self.name}: {reason}"
        for sender in self._senders.values():
            self._send(messages.EndSender(sender.name))
            sender.on_end(reason)
        self._senders = {}

    @property
    def is_known(self) -> bool:
        """Whether its clock is known."""
        return self._clock.samples >= _FIRST_PINGS

    def _send(self, message: messages.ToLoad) -> None:
        self._send_line(self.name, messages.TO_LOAD.line(message))


class RemoteLoads:
    """The load hosts of a span."""

    def __init__(self, send: SendLine) -> None:
        self._send = send
        self._hosts: dict[str, RemoteLoad] = {}
        self._sending: list[str] = []
        self._ends = threading.Event()

    def on_line(self, name: str, line: bytes) -> None:
        """Take a message from a load host."""
        self._hosts[name].on_line(line)

    def on_loss(self, name: str, reason: str) -> None:
        """Note that a load host cannot be reached any more."""
        if name in self._hosts:
            self._hosts[name].on_loss(reason)

    def alive(self) -> tuple[RemoteLoad, ...]:
        """The load hosts that answer; raises JobFailed if there are none."""
        answering = tuple(host for host in self._hosts.values() if host.is_alive)
        if not answering:
            raise JobFailed(f"no load host answers: {', '.join(self._hosts)}")
        return answering

    def wait_for_host(self) -> None:
        """Wait until a load host answers; raises Unreachable if none does in time."""
        if not wait_until(lambda: any(host.is_alive for host in self._hosts.values()), _START_S):
            raise Unreachable(f"no load host answers any more: {', '.join(self._hosts)}")

    def change(self) -> str | None:
        """The load hosts lost since the last call, and those that send now, in words; None if none
        was lost and none returned."""
        lost = [host for host in self._hosts.values() if host.loss is not None]
        sending = [host.name for host in self._hosts.values() if host.is_alive]
        if not lost and sending == self._sending:
            return None
        reasons = [", ".join(str(host.loss) for host in lost)] if lost else []
        for host in lost:
            host.loss = None
        self._sending = sending
        return "; ".join([*reasons, f"load comes from {', '.join(sending) or 'nowhere'} now"])

    @contextmanager
    def answering(self, names: Sequence[str]) -> Iterator[None]:
        """Ping these load hosts until the block ends; it begins when all have answered often enough
        to know their clocks.  Raises Unreachable with the names of those that have not."""
        self._hosts = {name: RemoteLoad(name, self._send) for name in names}
        self._sending = list(names)
        threading.Thread(target=self._ping_all, daemon=True).start()
        try:
            hosts = self._hosts.values()
            if not wait_until(lambda: all(host.is_known for host in hosts), _START_S):
                silent = ", ".join(host.name for host in hosts if not host.is_known)
                raise Unreachable(f"no answer from {silent}")
            yield
        finally:
            self._ends.set()

    def require_allowed(self, hosts: Sequence[str]) -> None:
        """Raise Refused if a load host must not flood one of these hosts."""
        for host in self._hosts.values():
            refusal = host.refusal(hosts)
            if refusal is not None:
                raise Refused(f"{host.name}: {refusal}")

    def _ping_all(self) -> None:
        while not self._ends.is_set():
            are_known = all(host.is_known for host in self._hosts.values())
            for host in self._hosts.values():
                host.ping()
            self._ends.wait(_PING_S if are_known else _PING_S / 10)


@contextmanager
def loads_of(client: Client) -> Iterator[RemoteLoads]:
    """The load hosts of a cluster, each with a process that this one controls until the block ends.
    Raises JobFailed if there are none, Unreachable if one does not answer."""
    actors = processes(client, workers_of(client, Role.LOAD.value), LOAD)
    loads = RemoteLoads(lambda name, line: channels[name].tell(line))
    channels = {
        name: Channel(actor, partial(loads.on_line, name), partial(loads.on_loss, name))
        for name, actor in actors.items()
    }
    try:
        with loads.answering(tuple(actors)):
            yield loads
    finally:
        end_all(actors.values(), _ENDING_S)

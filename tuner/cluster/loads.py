"""The load hosts, as the process that steers a flood sees them: by what they say and are told."""

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
# Until the fastest of them tells the clocks apart within a few milliseconds.
_FIRST_PINGS = 10
_ENDING_S = 60.0

Say = Callable[[str, bytes], None]
"""Sends a line to a load host, by its name."""


class RemoteSender:
    """A sender on a load host."""

    def __init__(self, say: Callable[[messages.ToLoad], None]) -> None:
        self.name = secrets.token_hex(4)
        self._say = say
        self._begun = False
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._complaint = ""

    @property
    def stdout(self) -> Iterator[bytes]:
        """What it says, until it ends."""
        while (line := self._lines.get()) is not None:
            yield line

    def tell(self, line: bytes) -> None:
        """Say a line to it; the first begins it.  Raises JobFailed where a file for TLS cannot be
        read here."""
        if self._begun:
            self._say(messages.SenderLine(self.name, line.decode()))
            return
        credentials = (transport.credentials for transport in spec_of(line).transports)
        paths = (path for files in credentials if files is not None for path in files.files)
        files = {path: pem_text(Path(path)) for path in paths}
        self._begun = True
        self._say(messages.BeginSender(self.name, line.decode(), files))

    def wait(self, timeout_s: float) -> bool:
        """Wait for its end; False when `timeout_s` seconds pass first."""
        return self._ended.wait(timeout_s)

    def complaint(self) -> str:
        """Why it ended."""
        return self._complaint

    def end(self) -> None:
        """End it at once; nothing that it still says is heard."""
        if not self._ended.is_set():
            self._say(messages.EndSender(self.name))
            self.ended("")

    def close(self) -> None:
        """There is nothing of it here."""

    def heard(self, line: bytes) -> None:
        """It has said something."""
        self._lines.put(line)

    def ended(self, complaint: str) -> None:
        """It has ended, or is out of reach."""
        self._complaint = complaint
        self._ended.set()
        self._lines.put(None)


_KEPT = 64


class PeerClock:
    """Another machine's clock by its last 64 answers: clocks drift, so older ones do not count."""

    def __init__(self) -> None:
        self._offsets: deque[ClockOffset] = deque(maxlen=_KEPT)

    def add(self, asked_s: float, theirs_s: float, heard_s: float) -> None:
        """Note an answer: when we asked and heard it by our clock, and what theirs said meanwhile.

        Their clock was read within the round trip, in the middle for all that is known, so half of
        it is the error (RFC 5905, section 8).
        """
        middle_s = (asked_s + heard_s) / 2
        self._offsets.append(ClockOffset(middle_s - theirs_s, (heard_s - asked_s) / 2))

    @property
    def samples(self) -> int:
        """How many answers count."""
        return len(self._offsets)

    def offset(self) -> ClockOffset:
        """What the fastest answer shows, of which there must be one."""
        return min(self._offsets, key=lambda offset: offset.error_s)


class RemoteLoad:
    """One load host; `is_alive` while it answers."""

    def __init__(self, name: str, say: Say) -> None:
        self.name = name
        self._say_line = say
        self._clock = PeerClock()
        self._counts: MachineCounts | None = None
        self._senders: dict[str, RemoteSender] = {}
        self._allowed: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._heard_s = time.monotonic()
        self.is_alive = False
        self.loss: str | None = None

    def sender(self) -> RemoteSender:
        """Start a sender there."""
        sender = RemoteSender(self._say)
        self._senders = {sender.name: sender}
        return sender

    def clock(self) -> ClockOffset:
        """How its clock stands to ours."""
        return self._clock.offset()

    def counts(self) -> MachineCounts:
        """What it has counted, as it said last."""
        if self._counts is None:
            raise JobFailed(f"{self.name} has not answered yet")
        return self._counts

    def refusal(self, hosts: Sequence[str]) -> str | None:
        """Why it does not flood one of these hosts; raises Unreachable without an answer."""
        self._say(messages.MayFlood(tuple(hosts)))
        try:
            return self._allowed.get(timeout=_START_S)
        except queue.Empty:
            raise Unreachable(f"no answer from {self.name}") from None

    def hear(self, line: bytes) -> None:
        """It has said a line."""
        self._heard_s = now_s = time.monotonic()
        match messages.FROM_LOAD.message(line):
            case messages.Pong(asked_s, counts):
                self._clock.add(asked_s, counts.at_s, now_s)
                self._counts = counts
                self.is_alive = True
            case messages.Allowed(refusal):
                self._allowed.put(refusal)
            case messages.SenderLine(name, text) if name in self._senders:
                self._senders[name].heard(text.encode())
            case messages.SenderEnded(name, complaint) if name in self._senders:
                self._senders.pop(name).ended(complaint)

    def look(self) -> None:
        """Ask it for its time, and note where it has not answered for too long."""
        self._say(messages.Ping(time.monotonic()))
        silent_s = time.monotonic() - self._heard_s
        if self.is_alive and silent_s > _SILENCE_S:
            self.lose(f"no answer for {silent_s:.0f} s")

    def lose(self, reason: str) -> None:
        """It is out of reach, and so are its senders, which end if it comes back."""
        self.is_alive, self.loss = False, f"{self.name}: {reason}"
        for sender in self._senders.values():
            self._say(messages.EndSender(sender.name))
            sender.ended(reason)
        self._senders = {}

    @property
    def is_known(self) -> bool:
        """Whether its clock is known."""
        return self._clock.samples >= _FIRST_PINGS

    def _say(self, message: messages.ToLoad) -> None:
        self._say_line(self.name, messages.TO_LOAD.line(message))


class RemoteLoads:
    """The load hosts of a span."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._hosts: dict[str, RemoteLoad] = {}
        self._sent: list[str] = []
        self._ends = threading.Event()

    def hear(self, name: str, line: bytes) -> None:
        """A load host has said a line."""
        self._hosts[name].hear(line)

    def lose(self, name: str, reason: str) -> None:
        """A load host is gone."""
        if name in self._hosts:
            self._hosts[name].lose(reason)

    def alive(self) -> tuple[RemoteLoad, ...]:
        """Those that answer; raises JobFailed when none does."""
        answering = tuple(host for host in self._hosts.values() if host.is_alive)
        if not answering:
            raise JobFailed(f"no load host answers: {', '.join(self._hosts)}")
        return answering

    def await_one(self) -> None:
        """Wait until a load host answers; raises Unreachable where that takes too long."""
        if not wait_until(lambda: any(host.is_alive for host in self._hosts.values()), _START_S):
            raise Unreachable(f"no load host answers any more: {', '.join(self._hosts)}")

    def change(self) -> str | None:
        """What was lost since this was asked last, and who sends now; None where nothing was lost
        and nobody came back."""
        lost = [host for host in self._hosts.values() if host.loss is not None]
        sending = [host.name for host in self._hosts.values() if host.is_alive]
        if not lost and sending == self._sent:
            return None
        reasons = [", ".join(str(host.loss) for host in lost)] if lost else []
        for host in lost:
            host.loss = None
        self._sent = sending
        return "; ".join([*reasons, f"load comes from {', '.join(sending) or 'nowhere'} now"])

    @contextmanager
    def answering(self, names: Sequence[str]) -> Iterator[None]:
        """Once those of these names answer and their clocks are known, keep asking for their time.
        Raises Unreachable, with the names of those that do not answer."""
        self._hosts = {name: RemoteLoad(name, self._say) for name in names}
        self._sent = list(names)
        threading.Thread(target=self._look, daemon=True).start()
        try:
            hosts = self._hosts.values()
            if not wait_until(lambda: all(host.is_known for host in hosts), _START_S):
                silent = ", ".join(host.name for host in hosts if not host.is_known)
                raise Unreachable(f"no answer from {silent}")
            yield
        finally:
            self._ends.set()

    def require_allowed(self, hosts: Sequence[str]) -> None:
        """Raise Refused where a load host does not flood one of these."""
        for host in self._hosts.values():
            refusal = host.refusal(hosts)
            if refusal is not None:
                raise Refused(f"{host.name}: {refusal}")

    def _look(self) -> None:
        while not self._ends.is_set():
            are_known = all(host.is_known for host in self._hosts.values())
            for host in self._hosts.values():
                host.look()
            self._ends.wait(_PING_S if are_known else _PING_S / 10)


@contextmanager
def loads_of(client: Client) -> Iterator[RemoteLoads]:
    """The load hosts, which send as they are told from here; their processes are gone afterwards.
    Raises JobFailed without one, Unreachable where one does not answer."""
    actors = processes(client, workers_of(client, Role.LOAD.value), LOAD)
    loads = RemoteLoads(lambda name, line: channels[name].tell(line))
    channels = {
        name: Channel(actor, partial(loads.hear, name), partial(loads.lose, name))
        for name, actor in actors.items()
    }
    try:
        with loads.answering(tuple(actors)):
            yield loads
    finally:
        end_all(actors.values(), _ENDING_S)

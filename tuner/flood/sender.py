"""The process that floods: `python -m tuner.flood.sender`, steered by lines of JSON.

Its first line of input is a FloodSpec, each later one an Order; it writes one SenderStatus per
line: the tally of what was sent, when, how late, at what cost.
It stops at once and ends when its input does.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter

from tuner.errors import TuneError
from tuner.flood.connection import (
    Connection,
    FileConnection,
    RelpConnection,
    StreamConnection,
    UdpConnection,
    UnixConnection,
)
from tuner.flood.messages import Messages
from tuner.flood.pace import Allowance, OpenLoop, Runs, SendingPace
from tuner.flood.spec import (
    LATE_S,
    Credentials,
    FloodProgress,
    FloodSpec,
    Order,
    Orders,
    Orphaned,
    Punctuality,
    SenderStatus,
    Transport,
    line_of,
    write_all,
)
from tuner.flood.stream import Broken, open_stream

Numbers = tuple[int, int]


class Lateness:
    """Compares when messages went with when they were due; times are monotonic seconds.

    Messages are given as ranges of numbers: the first, and the one after the last.
    """

    def __init__(self, pace: OpenLoop) -> None:
        self._pace = pace
        self._late = 0
        self._worst_s = 0.0

    def stop(self, pace: OpenLoop) -> None:
        """Go on with a pace after whose end nothing is due."""
        self._pace = pace

    def count(self, gone: Numbers, now_s: float) -> None:
        """Note that messages have gone to the kernel."""
        if gone[0] < gone[1]:
            self._late += self._overdue(gone, now_s)
            self._worst_s = max(self._worst_s, now_s - self._pace.intended_s(gone[0]))

    def punctuality(self, waiting: Iterable[Numbers], now_s: float) -> Punctuality:
        """How punctual the flood was so far; `waiting` are messages that have not gone yet."""
        offered = self._pace.due(now_s)
        late, worst_s = self._late, self._worst_s
        now_s = self._pace.clock(now_s)
        for first, end in waiting:
            if first < min(end, offered):
                late += self._overdue((first, end), now_s)
                worst_s = max(worst_s, now_s - self._pace.intended_s(first))
        return Punctuality(
            offered=offered,
            late=late,
            max_late_s=worst_s,
            first=self._pace.first,
            start_s=self._pace.start_s,
        )

    def _overdue(self, numbers: Numbers, now_s: float) -> int:
        first, end = numbers
        return max(0, min(end, self._pace.due(now_s - LATE_S)) - first)


REPORT_S = 0.025
_STDOUT = 1


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


class SenderTally:
    """Counts for one flood, and reports them; times are monotonic seconds given by the caller."""

    def __init__(self) -> None:
        self.sent = 0
        self.obeyed = 0
        self.blocked_s = 0.0
        self.error: str | None = None
        self.is_refused = False
        self.truncated = False
        self.lateness: Lateness | None = None
        self.waiting: Callable[[], Iterable[Numbers]] = tuple
        self._first_s: float | None = None
        self._last_s: float | None = None
        self._cpu_at_start = _cpu_seconds()
        self._reported: tuple[object, ...] | None = None
        self._reported_s = 0.0

    def count(self, messages: int, before_s: float, after_s: float) -> None:
        """Note whole messages that the kernel took between two times."""
        if messages:
            self.sent += messages
            self._last_s = after_s
            if self._first_s is None:
                self._first_s = before_s

    @property
    def last_send_s(self) -> float:
        """When the kernel took a message last; 0 before the first."""
        return self._last_s or 0.0

    def is_reported(self, idle: bool) -> bool:
        """Whether the last report still holds, CPU time aside."""
        return self._reported == self._state(idle)

    def report_if_due(self, now_s: float, idle: bool) -> None:
        """Report what changed: at once when the flood fell idle, else every 25 ms."""
        due = idle or now_s - self._reported_s >= REPORT_S
        if due and not self.is_reported(idle):
            self.report(now_s, idle)

    def report(self, now_s: float, idle: bool, done: bool = False) -> None:
        """Write a status line."""
        late = self.lateness
        progress = FloodProgress(
            sent=self.sent,
            cpu_seconds=_cpu_seconds() - self._cpu_at_start,
            blocked_seconds=self.blocked_s,
            first_send_s=self._first_s,
            last_send_s=self._last_s,
            truncated=self.truncated,
            error=self.error,
            at_s=now_s,
            punctuality=None if late is None else late.punctuality(self.waiting(), now_s),
            is_refused=self.is_refused,
        )
        write_all(_STDOUT, line_of(SenderStatus(progress, self.obeyed, idle, done)))
        self._reported, self._reported_s = self._state(idle), now_s

    def _state(self, idle: bool) -> tuple[object, ...]:
        return (self.sent, self.obeyed, self.blocked_s, idle)


FINISH_S = 5.0
HANG_UP_S = 1.0
BLOCK_BYTES = 128 * 1024
BLOCKS_PER_TURN = 8
_STDIN = 0
_FAILING = select.POLLIN | select.POLLHUP | select.POLLERR | select.POLLNVAL


def connect(transport: Transport, number: int) -> Connection:
    """Open the connection with this number, counted from 1, to its target; raises Broken."""
    target, source = transport.target_of(number), transport.source
    name = f"connection {number} to {target}"
    match transport.kind:
        case "tcp":
            return StreamConnection(open_stream(name, target, None, source))
        case "tls":
            credentials = transport.credentials or Credentials()
            return StreamConnection(open_stream(name, target, credentials, source))
        case "relp":
            return RelpConnection(open_stream(name, target, transport.credentials, source))
        case "udp":
            return UdpConnection(name, target, source)
        case "unix":
            return UnixConnection(name, target)
        case "file":
            return FileConnection(name, target)


def _connection(transports: Sequence[Transport], number: int) -> Connection:
    """One of several connections, counted from 0, which go to each of the transports in turn."""
    turn, route = divmod(number, len(transports))
    connection = connect(transports[route], turn + 1)
    connection.route = route
    return connection


class Sender:
    """The loop of one flood: orders in, blocks out to whichever connections have room."""

    def __init__(self, spec: FloodSpec, orders: Orders, terminated: int) -> None:
        self._total = spec.count
        self._orders = orders
        self._terminated = terminated
        self._messages = Messages(spec)
        self._block_messages = max(1, int(BLOCK_BYTES / self._messages.mean_frame_bytes))
        numbers = range(max(spec.connections, len(spec.transports)))
        connections = [_connection(spec.transports, number) for number in numbers]
        self._connections = {connection.fileno(): connection for connection in connections}
        self._watch = select.poll()
        self._watch.register(orders.descriptor, select.POLLIN)
        self._watch.register(terminated, select.POLLIN)
        for connection in connections:
            if connection.events:
                self._watch.register(connection.fileno(), connection.events)
        self._pace: SendingPace | Runs | OpenLoop = SendingPace()
        self._sent_at_s = 0.0
        self._blocks = 0
        self._stop_by_s: float | None = None
        self._tally = SenderTally()
        self._tally.waiting = self._waiting

    def run(self) -> None:
        """Flood until told to stop, then finish what is begun and hang up."""
        self._tally.report(time.monotonic(), idle=True)
        try:
            while not self._ended():
                self._turn()
        except Broken as broken:
            self._tally.error = str(broken)
        self._tally.truncated = self._any_begun()
        deadline_s = 0.0
        if self._tally.error is None:
            for connection in self._connections.values():
                try:
                    connection.finish()
                except Broken as broken:
                    self._tally.error = self._tally.error or str(broken)
            deadline_s = time.monotonic() + HANG_UP_S
        for connection in self._connections.values():
            try:
                connection.linger(deadline_s)
            except Broken as broken:
                self._tally.error = self._tally.error or str(broken)
            connection.close()
        self._tally.report(time.monotonic(), idle=True, done=True)

    def _ended(self) -> bool:
        if self._stop_by_s is None:
            return False
        return not self._any_begun() or time.monotonic() >= self._stop_by_s

    def _any_begun(self) -> bool:
        return any(connection.begun for connection in self._connections.values())

    def _turn(self) -> None:
        """Wait until something can be done, do it, report."""
        allowance = self._allowance(time.monotonic())
        free, idle = self._free(), self._is_idle(allowance)
        self._tally.report_if_due(time.monotonic(), idle)
        before_s = time.monotonic()
        sent = 0
        for descriptor, event in self._watch.poll(self._timeout_ms(allowance, free, idle)):
            connection = self._connections.get(descriptor)
            if connection is None:
                self._obey(descriptor)
            else:
                sent += self._attend(connection, event)
        now_s = time.monotonic()
        if allowance.messages and not free:
            self._tally.blocked_s += now_s - before_s
        if free:
            sent += self._fill(now_s)
        self._tally.count(sent, now_s, time.monotonic())

    def _allowance(self, now_s: float) -> Allowance:
        if self._stop_by_s is not None:
            return Allowance(0, None)
        # A run ends when its last message has gone, the other paces count from the last look.
        last_s = self._tally.last_send_s if isinstance(self._pace, Runs) else self._sent_at_s
        return self._pace.allowance(self._messages.taken, last_s, now_s)

    def _free(self) -> list[Connection]:
        """The connections that the next message may go to."""
        route = self._messages.route
        return [
            connection
            for connection in self._connections.values()
            if connection.route == route and not connection.begun
        ]

    def _is_idle(self, allowance: Allowance) -> bool:
        waits = allowance.messages or allowance.wait_s is not None
        return not waits and not self._any_begun()

    def _timeout_ms(self, allowance: Allowance, free: list[Connection], idle: bool) -> float | None:
        """How long to wait for orders and receivers; forever only when nothing can change."""
        if idle:
            return None
        if allowance.messages:
            return 0 if free else 1000 * REPORT_S
        if allowance.wait_s is None:
            return 1000 * REPORT_S
        if self._tally.is_reported(idle):
            return 1000 * allowance.wait_s
        return 1000 * min(allowance.wait_s, REPORT_S)

    def _attend(self, connection: Connection, event: int) -> int:
        """Answer an event; returns how many more whole messages went."""
        if event & _FAILING:
            connection.hear()
        if not connection.begun:
            return 0
        sent = self._noted(connection, connection.go_on())
        self._watch.modify(connection.fileno(), connection.events)
        return sent

    def _fill(self, now_s: float) -> int:
        """Send what is allowed now, the longest unused connection first, whole blocks to each."""
        allowed = self._allowance(now_s).messages
        allowed = min(allowed, BLOCKS_PER_TURN * self._block_messages)
        if allowed > 0:
            self._sent_at_s = now_s
        sent = 0
        while allowed > 0 and (free := self._free()):
            connection = min(free, key=attrgetter("last_block"))
            block = self._messages.take(min(allowed, self._block_messages), time.time())
            allowed -= len(block.ends)
            self._blocks += 1
            connection.last_block = self._blocks
            sent += self._noted(connection, connection.send(block))
            if connection.begun:
                self._watch.modify(connection.fileno(), connection.events)
        return sent

    def _obey(self, descriptor: int) -> None:
        if descriptor == self._terminated:
            os.read(descriptor, 64)
            self._steer(Order(stop=True))
            return
        for order in self._orders.come():
            self._steer(order)
            self._tally.obeyed += 1

    def _steer(self, order: Order) -> None:
        now_s = time.monotonic()
        if order.stop:
            self._stop(now_s)
            return
        limit = order.limit if self._total is None else min(order.limit, self._total)
        if order.schedule is not None:
            self._pace = OpenLoop(order.schedule, limit, self._messages.taken, now_s)
            self._tally.lateness = Lateness(self._pace)
            return
        self._tally.lateness = None
        if order.runs is not None:
            self._pace = replace(order.runs, limit=limit)
            return
        pace = self._pace if isinstance(self._pace, SendingPace) else SendingPace()
        self._pace = pace.steered(limit, order.per_second, self._messages.taken, now_s)

    def _stop(self, now_s: float) -> None:
        self._stop_by_s = self._stop_by_s or now_s + FINISH_S
        if isinstance(self._pace, OpenLoop) and self._tally.lateness is not None:
            self._pace = replace(self._pace, until_s=self._pace.clock(now_s))
            self._tally.lateness.stop(self._pace)

    def _noted(self, connection: Connection, sent: int) -> int:
        """Note how late messages are that have just gone on a connection; returns how many."""
        if self._tally.lateness is not None:
            gone = connection.gone
            self._tally.lateness.count((gone - sent, gone), time.monotonic())
        return sent

    def _waiting(self) -> Iterator[Numbers]:
        """The messages, as ranges, that have not gone: of begun blocks, and all later ones."""
        for connection in self._connections.values():
            if connection.begun:
                yield connection.gone, connection.end
        yield self._messages.taken, sys.maxsize


def _terminations() -> int:
    """A descriptor that becomes readable on SIGTERM; SIGINT is for our parent to handle."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.set_wakeup_fd(writing)
    return reading


def main() -> None:
    """Read the specification, connect, flood."""
    terminated = _terminations()
    orders = Orders(_STDIN)
    try:
        spec = orders.spec()
        try:
            sender = Sender(spec, orders, terminated)
        except (Broken, TuneError) as error:
            tally = SenderTally()
            tally.error = str(error)
            tally.is_refused = isinstance(error.__cause__, ConnectionError | TimeoutError)
            tally.report(time.monotonic(), idle=True, done=True)
            return
        sender.run()
    except Orphaned:
        return


if __name__ == "__main__":
    main()

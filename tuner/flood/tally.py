"""The sender's tally: what was sent, when, how late, and what it cost."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterable

from tuner.flood.orders import SenderStatus, line_of, write_all
from tuner.flood.pace import OpenLoop
from tuner.flood.spec import LATE_S, FloodProgress, Punctuality

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
        )
        write_all(_STDOUT, line_of(SenderStatus(progress, self.obeyed, idle, done)))
        self._reported, self._reported_s = self._state(idle), now_s

    def _state(self, idle: bool) -> tuple[object, ...]:
        return (self.sent, self.obeyed, self.blocked_s, idle)

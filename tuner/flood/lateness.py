"""How late the messages of an open-loop flood went out."""

from __future__ import annotations

from collections.abc import Iterable

from tuner.flood.pace import OpenLoop
from tuner.flood.spec import LATE_S, Punctuality

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
        """The account so far; `waiting` are messages that have not gone yet."""
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

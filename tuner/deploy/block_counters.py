"""What impstats and the kernel count on a host, by when it was read here: neither the clock nor the
time zone of the host matters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from tuner.deploy.host_files import CountersTail
from tuner.modules.stats_rounds import Numbered, StatsRound, read_rounds


class _Part(NamedTuple):
    """What came between two readings: nothing of it was written before `begin`."""

    begin: float
    lines: tuple[Numbered, ...]
    udp_drops: int


class Counted(NamedTuple):
    """Rounds of impstats, and the datagrams that the kernel dropped meanwhile."""

    rounds: tuple[StatsRound, ...]
    udp_drops: int


@dataclass
class BlockCounters:
    """Keeps what came, part by part; `dropped` says how many datagrams the kernel has dropped since
    rsyslogd began, and `clock` the time here."""

    tail: CountersTail
    dropped: Callable[[], int]
    clock: Callable[[], float]
    _parts: list[_Part] = field(init=False, default_factory=list)
    _at: float = field(init=False)
    _dropped: int = field(init=False)

    def __post_init__(self) -> None:
        self._at, self._dropped = self.clock(), self.dropped()

    def read_on(self) -> None:
        """Read what came since the last time."""
        at, dropped = self.clock(), self.dropped()
        lines = tuple(self.tail.more(lambda _: None))
        self._parts.append(_Part(self._at, lines, dropped - self._dropped))
        self._at, self._dropped = at, dropped

    def begin_anew(self) -> None:
        """A new rsyslogd counts from 0, and what the one before it wrote is over."""
        self.read_on()
        self._parts, self._dropped = [], 0

    def since(self, begin: float) -> Counted:
        """What was read after the first reading at that time or later; what is older is gone."""
        self._parts = [part for part in self._parts if part.begin >= begin]
        lines = (line for part in self._parts for line in part.lines)
        rounds = (stats for stats in read_rounds(lines) if isinstance(stats, StatsRound))
        return Counted(tuple(rounds), sum(part.udp_drops for part in self._parts))

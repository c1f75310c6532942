"""Which rsyslogd wrote a round: several may write into one file, and their counts then contradict
each other; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tuner.modules.stats_rounds import StatsRound

DISK_PART = "[DA]"
"""How the name of a queue's part on disk ends."""
OF_PROCESS = ("utime", "stime", "maxrss", "minflt", "majflt", "inblock", "oublock", "nvcsw",
              "nivcsw")  # fmt: skip
"""The kernel's counts of a process, which start anew with it only (getrusage(2))."""

# After a round that does not go on from the one before, so many are looked at; those of one process
# follow one another from then on, those of two alternate at least so often.
_LOOK, _CHANGES, _CHANGES_AT_END, _MOST = 24, 6, 4, 4
# Rounds in a row without a change: it was a start.
_STEADY = 8


@dataclass(frozen=True)
class _Sign:
    """What tells the rounds of one process from another's: the kernel's counts, which never fall,
    and its actions and queues, which stay the same; None in an incomplete round."""

    counts: Mapping[str, int]
    objects: frozenset[tuple[str, str]] | None

    def goes_on_from(self, before: _Sign) -> bool:
        """Whether the same process may have written both."""
        is_same = None in (self.objects, before.objects) or self.objects == before.objects
        return is_same and all(
            self.counts.get(name, count) >= count for name, count in before.counts.items()
        )

    @property
    def height(self) -> int:
        """The larger, the later."""
        return sum(self.counts.values())


def told_apart(rounds: Iterable[StatsRound]) -> Iterator[tuple[int, StatsRound]]:
    """Each round with the number of the rsyslogd on its host that wrote it, from 0.

    A round that does not go on from the last one is of a process that has just begun, unless later
    ones go on from both by turns: then two processes write.
    """
    hosts: dict[str, _Writers] = {}
    for stats in rounds:
        yield from hosts.setdefault(stats.host, _Writers()).take(stats)
    for writers in hosts.values():
        yield from writers.end()


def goes_on(before: StatsRound, after: StatsRound) -> bool:
    """Whether one process may have written both, in this order; also where one of them does not
    say."""
    first, second = _sign_of(before), _sign_of(after)
    return first is None or second is None or second.goes_on_from(first)


def follows_closely(first: StatsRound, last: StatsRound, after: StatsRound) -> bool:
    """Whether a round goes on from the last one of a file, by less than grew within that file."""
    begin, end, sign = map(_sign_of, (first, last, after))
    if begin is None or end is None or sign is None:
        return False
    return sign.goes_on_from(end) and sign.height - end.height <= end.height - begin.height


@dataclass
class _Writers:
    """The processes of a host that write so far, and the rounds that are not told apart yet."""

    last: list[_Sign] = field(default_factory=list)
    pending: list[tuple[StatsRound, _Sign]] = field(default_factory=list)

    def take(self, stats: StatsRound) -> Iterator[tuple[int, StatsRound]]:
        """The next round; gives those that are told apart by now."""
        sign = _sign_of(stats)
        if sign is None:
            yield 0, stats
        elif self.pending:
            self.pending.append((stats, sign))
            yield from self._decided()
        elif not self.last:
            self.last.append(sign)
            yield 0, stats
        elif len(self.last) > 1 or sign.goes_on_from(self.last[0]):
            number = _writer_of(self.last, sign)
            self.last[number] = sign
            yield number, stats
        else:
            self.pending.append((stats, sign))

    def end(self) -> Iterator[tuple[int, StatsRound]]:
        """The pending rounds when nothing follows."""
        while self.pending:
            yield from self._decided(is_end=True)

    def _decided(self, is_end: bool = False) -> Iterator[tuple[int, StatsRound]]:
        """The pending rounds, as far as it shows which process wrote them."""
        signs = [sign for _, sign in self.pending]
        numbers = _by_turns(self.last[0], signs)
        if _changes(numbers) >= (_CHANGES_AT_END if is_end else _CHANGES):
            latest = {0: self.last[0], **dict(zip(numbers, signs, strict=True))}
            self.last = [latest[number] for number in range(max(numbers) + 1)]
            yield from zip(numbers, (stats for stats, _ in self.pending), strict=True)
            self.pending = []
        elif is_end or not numbers or len(signs) >= _LOOK or _is_steady(numbers):
            (first, sign), *following = self.pending
            self.pending = []
            self.last = [sign]
            yield 0, first
            for stats, _ in following:
                yield from self.take(stats)


def _by_turns(last: _Sign, signs: Sequence[_Sign]) -> list[int]:
    """Which of the fewest processes wrote each round, the one before being number 0; empty where
    these would be many."""
    ends, numbers = [last], []
    for sign in signs:
        possible = [n for n, end in enumerate(ends) if sign.goes_on_from(end)]
        if not possible and len(ends) == _MOST:
            return []
        number = max(possible, key=lambda n: ends[n].height, default=len(ends))
        ends[number : number + 1] = [sign]
        numbers.append(number)
    return numbers


def _changes(numbers: Sequence[int]) -> int:
    """How often the process changes once all have written, as long as each goes on."""
    if not numbers:
        return 0
    first = numbers.index(max(numbers))
    after, half = numbers[first:], first + (len(numbers) - first) // 2
    if set(numbers[:half]) - set(numbers[half:]):
        return 0
    return sum(number != following for number, following in pairwise(after))


def _is_steady(numbers: Sequence[int]) -> bool:
    return len(numbers) >= _STEADY and len(set(numbers[-_STEADY:])) == 1


def _writer_of(last: Sequence[_Sign], sign: _Sign) -> int:
    """The process that wrote a round: the one it goes on from, else the one with the same actions
    and queues, which has begun anew."""
    possible = (
        [n for n, before in enumerate(last) if sign.goes_on_from(before)]
        or [n for n, before in enumerate(last) if before.objects == sign.objects]
        or [0]
    )
    return max(possible, key=lambda n: last[n].height)


def _sign_of(stats: StatsRound) -> _Sign | None:
    """None where the kernel's counts are missing."""
    usage = next((counted for counted in stats.objects if counted.name == "resource-usage"), None)
    if usage is None or stats.at is None:
        return None
    counts = {name: usage.counters[name] for name in OF_PROCESS if name in usage.counters}
    of_core = frozenset(
        (counted.origin, counted.name)
        for counted in stats.objects
        if counted.origin in ("core.queue", "core.action") and not counted.name.endswith(DISK_PART)
    )
    return _Sign(counts, of_core if stats.is_whole else None)

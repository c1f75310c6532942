"""What counters did over time: a series for each object, from rounds of impstats as they come, in
little memory however many they are."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

from tuner.diagnose.daemons import DISK_PART, OF_PROCESS, told_apart
from tuner.modules.stats_rounds import LEVELS, StatsObject, StatsRound

# Steps are merged in pairs above twice this many: a day of rounds every 10 s keeps them all nearly.
_STEPS = 2048
_MOST_OBJECTS = 1500
_MOST_TIMES = 1000
# What these count is named by events, and may be without end.
_LEFT_OUT = frozenset({"dynstats", "dynstats.bucket", "percentile", "percentile.bucket", "sender"})
# impstats sets neither to 0 (queue.c and action.c construct them without CTR_FLAG_RESETTABLE).
_OF_LIFE = {"core.queue": "maxqsize", "core.action": "suspended.duration"}
_NEVER_RESET = frozenset({"utime", "stime", "minflt", "majflt", "inblock", "oublock", "nvcsw",
                          "nivcsw", "suspended.duration"})  # fmt: skip
_WIDTHS = (2**31, 2**32, 2**63, 2**64)

ObjectKey = tuple[str, str]
"""The origin and the name of an object."""


@dataclass(frozen=True)
class CounterStep:
    """The time from one round to a later one, in seconds since 1970; `has_start` where rsyslogd
    began anew within it."""

    begin: float
    end: float
    has_start: bool = False

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.end - self.begin


@dataclass(frozen=True)
class StatsSeries:
    """An object over all steps: by counter how much it grew in each, or for what goes up and down
    where it stood at the end of each, and the highest within each.  `before` is what its first
    round said: all since rsyslogd began or, where impstats resets counters, in one interval; of a
    level where it stood.  `absent` rounds since its first did not have it, and it was not there in
    the last `unseen` steps: lines of rounds that are messages themselves get lost."""

    origin: str
    name: str
    growth: Mapping[str, tuple[float, ...]]
    level: Mapping[str, tuple[float, ...]]
    peak: Mapping[str, tuple[float, ...]]
    before: Mapping[str, int]
    absent: int = 0
    unseen: int = 0

    def total(self, counter: str) -> int:
        """How much a counter grew from the first round to the last."""
        return round(sum(self.growth.get(counter, ())))

    def in_all(self, counter: str) -> int:
        """All that was counted: counters begin at 0 with rsyslogd, so the first round counts."""
        return self.total(counter) + self.before.get(counter, 0)

    def highest(self, counter: str) -> int:
        """The highest that a level stood at."""
        return round(max((*self.peak.get(counter, ()), self.before.get(counter, 0))))


@dataclass(frozen=True)
class RoundGaps:
    """How rounds came: how many, those with lines missing, the usual seconds between two, how many
    came late, how much time the late ones took beyond that, the longest gap and its end."""

    rounds: int
    cut: int
    interval_s: float
    late: int
    late_s: float
    longest_s: float
    longest_end: float


@dataclass(frozen=True)
class CounterCourse:
    """All that the counters of one rsyslogd did.  `has_resets` where impstats sets them to 0 each
    round; `starts` are when rsyslogd began anew, `clock_sets` when the clock went back;
    `left_out` objects more were there than are kept; `gone` are those that were there before a
    start, by its time, and not from then until the next.  A single round has one step without
    length.  `daemon` is its number where several rsyslogd write into one file, else 0."""

    host: str
    steps: tuple[CounterStep, ...]
    objects: Mapping[ObjectKey, StatsSeries]
    gaps: RoundGaps
    has_resets: bool
    starts: tuple[float, ...]
    clock_sets: tuple[float, ...]
    left_out: int
    gone: Mapping[float, frozenset[ObjectKey]] = field(default_factory=dict)
    daemon: int = 0

    @cached_property
    def seconds(self) -> float:
        """How long the steps are together."""
        return sum(step.seconds for step in self.steps)

    @property
    def is_single(self) -> bool:
        """Whether there is one round alone, which tells totals and no course."""
        return self.gaps.rounds == 1

    @cached_property
    def lives(self) -> tuple[range, ...]:
        """The numbers of the steps of each process, one after the other."""
        starts = [n for n, step in enumerate(self.steps) if n and step.has_start]
        return tuple(range(begin, end) for begin, end in pairwise([0, *starts, len(self.steps)]))

    @cached_property
    def nothing(self) -> tuple[float, ...]:
        """What a counter that is not there counted, step by step."""
        return (0.0,) * len(self.steps)

    @cached_property
    def usage(self) -> StatsSeries | None:
        """What the process used; None where it does not say."""
        return self.objects.get(("impstats", "resource-usage"))

    @cached_property
    def cpu_s(self) -> tuple[float, ...] | None:
        """Seconds of CPU that the process used, step by step."""
        if self.usage is None or "utime" not in self.usage.growth:
            return None
        growth = self.usage.growth
        both = zip(growth["utime"], growth.get("stime", self.nothing), strict=True)
        return tuple(sum(pair) / 1e6 for pair in both)

    def lasted(self, numbers: Iterable[int]) -> float:
        """How many seconds the steps with these numbers are together."""
        return sum(self.steps[number].seconds for number in numbers)

    def of(self, origin: str) -> tuple[StatsSeries, ...]:
        """The objects of an origin."""
        return tuple(one for one in self.objects.values() if one.origin == origin)

    def rates(self, growth: tuple[float, ...]) -> tuple[float, ...]:
        """A growth per second, step by step."""
        pairs = zip(growth, self.steps, strict=True)
        return tuple(value / step.seconds if step.seconds > 0 else 0.0 for value, step in pairs)

    def span(self, numbers: Iterable[int]) -> tuple[float, float]:
        """From when to when the steps with these numbers are, by the clock of the time."""
        every = sorted(numbers)
        return self.steps[every[0]].begin, self.steps[every[-1]].end


class _Track:
    """One counter of one object, step by step."""

    __slots__ = ("begin", "growth", "is_level", "last", "raw")

    def __init__(self, is_level: bool, before: int, last: int) -> None:
        self.is_level = is_level
        self.begin = self.last = last
        # For a level, where it stood; for a count, how much it grew, and what was written, which
        # is how much it grew where impstats resets it.
        self.growth = array("d", bytes(8 * before))
        self.raw = array("d", bytes(8 * before))

    def pad(self, steps: int) -> None:
        """No news in the steps up to that number."""
        missing = steps - len(self.growth)
        if missing > 0:
            kept = float(self.last) if self.is_level else 0.0
            self.growth.extend([kept] * missing)
            self.raw.extend([kept] * missing)

    def take(self, value: int, steps: int) -> bool:
        """The value at the end of step number `steps`, another than before or not 0; whether a
        count began at 0 again."""
        before, self.last = self.last, value
        if not steps:
            return False
        if len(self.growth) != steps:
            self.last = before
            self.pad(steps - 1)
            self.last = value
            self.growth.append(0.0)
            self.raw.append(0.0)
        if self.is_level:
            self.growth[-1] = value
            self.raw[-1] = max(self.raw[-1], value)
            return False
        grown = value - before if value >= before else _after_wrap(before, value)
        self.growth[-1] += grown
        self.raw[-1] += value
        return value < before and grown == value

    def halve(self) -> None:
        """Merge steps in pairs."""
        pairs = list(zip(self.growth[::2], self.growth[1::2], strict=True))
        raws = list(zip(self.raw[::2], self.raw[1::2], strict=True))
        if self.is_level:
            self.growth = array("d", (second for _, second in pairs))
            self.raw = array("d", map(max, raws))
        else:
            self.growth = array("d", map(sum, pairs))
            self.raw = array("d", map(sum, raws))


class _Presence:
    """In which rounds an object came."""

    __slots__ = ("first", "last_at", "rounds")

    def __init__(self, first: int) -> None:
        self.first, self.rounds, self.last_at = first, 0, 0.0


class Recorder:
    """Takes the rounds of one rsyslogd, oldest first, and gives their course."""

    def __init__(self, host: str, is_since_start: bool = True) -> None:
        self._host = host
        self._is_since_start = is_since_start
        self._steps: list[CounterStep] = []
        self._tracks: dict[ObjectKey, dict[str, _Track]] = {}
        self._at: float | None = None
        self._was_whole = False
        self._rounds = self._cut = self._left_out = self._falls = 0
        self._gaps: Counter[int] = Counter()
        self._longest = (0.0, 0.0)
        self._starts: list[float] = []
        self._clock_sets: list[float] = []
        self._gone: dict[float, set[ObjectKey]] = {}
        self._present: dict[ObjectKey, _Presence] = {}

    def take(self, one: StatsRound) -> None:
        """The next round; one without a time tells nothing."""
        if one.at is None:
            return
        self._rounds += 1
        self._cut += not one.is_whole
        is_first = self._at is None
        has_start = not is_first and self._is_start(one.objects)
        if has_start and len(self._starts) < _MOST_TIMES:
            self._starts.append(one.at)
            self._gone[one.at] = set(self._tracks) if one.is_whole else set()
        if self._starts and (missing := self._gone[self._starts[-1]]):
            missing.difference_update((each.origin, each.name) for each in one.objects)
        self._advance(one.at, has_start)
        if has_start:
            for tracks in self._tracks.values():
                for track in tracks.values():
                    track.pad(len(self._steps) - 1)
                    track.last = 0
        falls = self._record(one.objects, has_start)
        self._falls += falls and not has_start
        # A log may begin within a round, which shows by brackets alone.
        self._was_whole = one.is_whole and not is_first

    def _advance(self, at: float, has_start: bool) -> None:
        before, self._at = self._at, at
        if before is None or at == before:
            return
        if at < before:
            if len(self._clock_sets) < _MOST_TIMES:
                self._clock_sets.append(at)
            before = at - (self._interval() or 1)
        elif not has_start:
            self._gaps[int(at - before)] += 1
            self._longest = max(self._longest, (at - before, at))
        if len(self._steps) >= 2 * _STEPS:
            self._halve()
        self._steps.append(CounterStep(before, at, has_start))

    def _halve(self) -> None:
        for tracks in self._tracks.values():
            for track in tracks.values():
                track.pad(len(self._steps))
                track.halve()
        pairs = zip(self._steps[::2], self._steps[1::2], strict=True)
        self._steps = [
            CounterStep(
                min(first.begin, second.begin), second.end, first.has_start or second.has_start
            )
            for first, second in pairs
        ]

    def _is_start(self, objects: Iterable[StatsObject]) -> bool:
        """Whether anything that begins at 0 with the process only is lower than it was."""
        return any(
            old is not None and one.counters.get(name, old.last) < old.last
            for one in objects
            if (tracks := self._tracks.get((one.origin, one.name))) is not None
            for name in _of_life(one)
            for old in (tracks.get(name),)
        )

    def _record(self, objects: Iterable[StatsObject], has_start: bool) -> bool:
        """Whether counts began at 0 again as they do where impstats resets them: those of several
        objects at once, or of the only one that counts."""
        steps, fell, counting = len(self._steps), 0, 0
        for one in objects:
            tracks = self._tracks_of(one)
            if tracks is None:
                continue
            present = self._present.get((one.origin, one.name))
            if present is None:
                present = self._present[one.origin, one.name] = _Presence(self._rounds)
            present.rounds += 1
            present.last_at = self._at or 0.0
            falls = counts = False
            for name, value in one.counters.items():
                track = tracks.get(name)
                if track is None:
                    # New since a whole round or a start, it counts from 0.
                    last = 0 if steps and (self._was_whole or has_start) else value
                    track = tracks[name] = _Track(name in LEVELS, max(0, steps - 1), last)
                if value == track.last and (track.is_level or not value):
                    # Most stand still; `pad` writes that.
                    continue
                if name in _NEVER_RESET:
                    track.take(value, steps)
                else:
                    counts = counts or (track.last > 0 and not track.is_level)
                    falls |= track.take(value, steps)
            fell, counting = fell + falls, counting + counts
        return fell > 0 and (fell > 1 or counting == 1)

    def _tracks_of(self, one: StatsObject) -> dict[str, _Track] | None:
        """The counters of an object so far; None where it is not kept."""
        tracks = self._tracks.get((one.origin, one.name))
        if tracks is None and one.origin not in _LEFT_OUT:
            if len(self._tracks) >= _MOST_OBJECTS:
                self._left_out += 1
                return None
            tracks = self._tracks[one.origin, one.name] = {}
        return tracks

    def _interval(self) -> int:
        """The usual seconds between two rounds: the median."""
        half, seen = sum(self._gaps.values()) / 2, 0
        for seconds, number in sorted(self._gaps.items()):
            seen += number
            if seen >= half:
                return seconds
        return 0

    @property
    def has_rounds(self) -> bool:
        """Whether it took any."""
        return self._at is not None

    def course(self, daemon: int = 0) -> CounterCourse:
        """What was taken so far."""
        if not self._steps and self._at is not None:
            self._steps.append(CounterStep(self._at, self._at))
        interval = self._interval()
        late = {gap: n for gap, n in self._gaps.items() if gap > 1.5 * interval + 1}
        gaps = RoundGaps(
            rounds=self._rounds,
            cut=self._cut,
            interval_s=interval,
            late=sum(late.values()),
            late_s=sum((gap - interval) * n for gap, n in late.items()),
            longest_s=self._longest[0],
            longest_end=self._longest[1],
        )
        has_resets = self._falls > 0 and self._falls * 20 >= self._rounds
        return CounterCourse(
            self._host,
            tuple(self._steps),
            {key: self._series(key, tracks, has_resets) for key, tracks in self._tracks.items()},
            gaps,
            has_resets,
            tuple(self._starts),
            tuple(self._clock_sets),
            self._left_out,
            {at: frozenset(keys) for at, keys in self._gone.items()},
            daemon,
        )

    def _series(self, key: ObjectKey, tracks: Mapping[str, _Track], resets: bool) -> StatsSeries:
        growth, level, peak, before = {}, {}, {}, {}
        for name, track in tracks.items():
            track.pad(len(self._steps))
            if track.is_level:
                level[name], peak[name] = tuple(track.growth), tuple(track.raw)
                before[name] = track.begin
                continue
            is_reset = resets and name not in _NEVER_RESET
            growth[name] = tuple(track.raw if is_reset else track.growth)
            before[name] = track.begin if self._is_since_start else 0
        present = self._present[key]
        absent = self._rounds - present.first + 1 - present.rounds
        unseen = sum(step.begin >= present.last_at for step in self._steps) if absent else 0
        return StatsSeries(*key, growth, level, peak, before, absent, unseen)


def _of_life(one: StatsObject) -> tuple[str, ...]:
    """The counters of an object that begin at 0 with the process only."""
    if one.name == "resource-usage":
        return OF_PROCESS
    # The part on disk is made anew as often as the queue goes there.
    name = _OF_LIFE.get(one.origin)
    return () if name is None or one.name.endswith(DISK_PART) else (name,)


def _after_wrap(before: int, value: int) -> int:
    """How much a count grew that is lower than before: it began at 0 again, or ran out of bits."""
    for width in _WIDTHS:
        if 0.75 * width < before < width and value < 0.25 * width:
            return value + width - before
    return value


def courses(rounds: Iterable[StatsRound], is_since_start: bool = True) -> tuple[CounterCourse, ...]:
    """The course of each rsyslogd: of each host's, and of each that writes into the same file.
    What was counted before the first round is left out where it is not asked for; of rounds
    without a time only the last tells something."""
    recorders: dict[tuple[str, int], Recorder] = {}
    undated: dict[str, StatsRound] = {}
    for daemon, one in told_apart(rounds):
        if one.at is None:
            undated[one.host] = one
            continue
        key = one.host, daemon
        recorders.setdefault(key, Recorder(one.host, is_since_start)).take(one)
    if not recorders:
        for host, one in undated.items():
            recorders[host, 0] = Recorder(host, is_since_start)
            recorders[host, 0].take(replace(one, at=0.0))
    several = {host for host, daemon in recorders if daemon}
    return tuple(
        one.course(daemon + 1 if host in several else 0)
        for (host, daemon), one in recorders.items()
        if one.has_rounds
    )

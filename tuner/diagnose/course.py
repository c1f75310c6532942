"""What counters did over time: a series for each object, from rounds of impstats as they come, in
little memory however many they are."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from statistics import median_low

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
_NEVER_RESET = frozenset(OF_PROCESS) - {"maxrss"} | {"suspended.duration"}
_WIDTHS = (2**31, 2**32, 2**63, 2**64)

ObjectKey = tuple[str, str]
"""The origin and the name of an object."""
TimeSpan = tuple[float, float]
"""From when to when, in seconds since 1970."""


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


class StepValues(dict[str, tuple[float, ...]]):
    """By counter a value for each step; 0 in all of them for a counter that is not there."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self._zeros = (0.0,) * steps

    def __missing__(self, counter: str) -> tuple[float, ...]:
        return self._zeros


@dataclass(frozen=True)
class StatsSeries:
    """An object over all steps: by counter how much it grew in each, or for what goes up and down
    where it stood at the end of each, and the highest within each.  `before` is what its first
    round said: all since rsyslogd began or, where impstats resets counters, in one interval; of a
    level where it stood.  `absent` rounds since its first did not have it, and it was not there in
    the last `unseen` steps: lines of rounds that are messages themselves get lost."""

    origin: str
    name: str
    growth: StepValues
    level: StepValues
    peak: StepValues
    before: Mapping[str, int]
    absent: int = 0
    unseen: int = 0

    @property
    def key(self) -> ObjectKey:
        """Its place among the objects of a course."""
        return self.origin, self.name

    def total(self, counter: str) -> int:
        """How much a counter grew from the first round to the last."""
        return round(sum(self.growth[counter]))

    def in_all(self, *counters: str) -> int:
        """All that was counted: counters begin at 0 with rsyslogd, so the first round counts."""
        return sum(self.total(counter) + self.before.get(counter, 0) for counter in counters)

    def highest(self, counter: str) -> int:
        """The highest that a level stood at."""
        return round(max((*self.peak[counter], self.before.get(counter, 0))))


@dataclass(frozen=True)
class RoundGaps:
    """How rounds came: how many, those with lines missing, the usual seconds between two, how many
    came late, and the longest gap."""

    rounds: int
    cut: int
    interval_s: float
    late: int
    longest_s: float


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
    def restarts(self) -> tuple[int, ...]:
        """The numbers of the steps in which rsyslogd began anew, but for the first, of which
        nothing is known step by step before it."""
        return tuple(n for n, step in enumerate(self.steps) if n and step.has_start)

    @cached_property
    def lives(self) -> tuple[range, ...]:
        """The numbers of the steps of each process, one after the other."""
        return tuple(map(range, (0, *self.restarts), (*self.restarts, len(self.steps))))

    @cached_property
    def usage(self) -> StatsSeries | None:
        """What the process used; None where it does not say."""
        return self.objects.get(("impstats", "resource-usage"))

    @cached_property
    def engine(self) -> StatsSeries | None:
        """What omelasticsearch counts of its engine; None where it does not."""
        return self.objects.get(("omelasticsearch", "omelasticsearch"))

    @cached_property
    def cpu_s(self) -> tuple[float, ...] | None:
        """Seconds of CPU that the process used, step by step."""
        if self.usage is None or "utime" not in self.usage.growth:
            return None
        growth = self.usage.growth
        pairs = zip(growth["utime"], growth["stime"], strict=True)
        return tuple((user_us + system_us) / 1e6 for user_us, system_us in pairs)

    def lasted(self, numbers: Iterable[int]) -> float:
        """How many seconds the steps with these numbers are together."""
        return sum(self.steps[number].seconds for number in numbers)

    def objects_of(self, origin: str) -> tuple[StatsSeries, ...]:
        """The objects of an origin."""
        return tuple(series for series in self.objects.values() if series.origin == origin)

    def rates(self, growth: tuple[float, ...]) -> tuple[float, ...]:
        """A growth per second, step by step."""
        pairs = zip(growth, self.steps, strict=True)
        return tuple(value / step.seconds if step.seconds > 0 else 0.0 for value, step in pairs)

    def span(self, numbers: Iterable[int]) -> TimeSpan:
        """From when to when the steps with these numbers are, by the clock of the time."""
        ordered = sorted(numbers)
        return self.steps[ordered[0]].begin, self.steps[ordered[-1]].end

    def when(self, *growths: tuple[float, ...]) -> TimeSpan:
        """From when to when any of these grew; the time of the first round where all grew
        before."""
        grown = [n for n in range(len(self.steps)) if any(growth[n] for growth in growths)]
        return self.span(grown) if grown else (self.steps[0].begin, self.steps[0].begin)

    def when_counted(self, series: StatsSeries, *counters: str) -> TimeSpan:
        """From when to when any of these counters of an object grew."""
        begin, end = self.when(*map(series.growth.__getitem__, counters))
        is_before = any(series.before.get(counter, 0) for counter in counters)
        return (self.steps[0].begin if is_before else begin), end

    def before_the_log(self, series: StatsSeries, *counters: str) -> str:
        """How much of it the first round counted, of which the log does not say when it was."""
        before = 0 if self.is_single else sum(series.before.get(name, 0) for name in counters)
        return f"; {before:,} of them before the first round of this log" if before else ""


class _Track:
    """One counter of one object, step by step."""

    __slots__ = ("begin", "growth", "is_level", "last", "raw")

    def __init__(self, is_level: bool, steps: int, last: int) -> None:
        self.is_level = is_level
        self.begin = self.last = last
        # For a level, where it stood; for a count, how much it grew, and what was written, which
        # is how much it grew where impstats resets it.
        self.growth = array("d", bytes(8 * steps))
        self.raw = array("d", bytes(8 * steps))

    def pad(self, steps: int) -> None:
        """No news in the steps up to that number."""
        missing = steps - len(self.growth)
        if missing > 0:
            value = float(self.last) if self.is_level else 0.0
            self.growth.extend([value] * missing)
            self.raw.extend([value] * missing)

    def take(self, value: int, steps: int) -> bool:
        """The value at the end of step number `steps`, another than before or not 0; whether a
        count began at 0 again."""
        if steps and len(self.growth) != steps:
            self.pad(steps - 1)
            self.growth.append(0.0)
            self.raw.append(0.0)
        before, self.last = self.last, value
        if not steps:
            return False
        if self.is_level:
            self.growth[-1] = value
            self.raw[-1] = max(self.raw[-1], value)
            return False
        grown = value - before if value >= before else _after_wrap(before, value)
        self.growth[-1] += grown
        self.raw[-1] += value
        return value < before and grown == value

    def halve(self, steps: int) -> None:
        """Merge so many steps in pairs."""
        self.pad(steps)
        first, second = self.growth[::2], self.growth[1::2]
        self.growth = second if self.is_level else array("d", map(float.__add__, first, second))
        merge = max if self.is_level else float.__add__
        self.raw = array("d", map(merge, self.raw[::2], self.raw[1::2]))


class _Recorded:
    """One object so far: its counters, and in which rounds it came."""

    __slots__ = ("first", "last_at", "rounds", "tracks")

    def __init__(self, first: int) -> None:
        self.tracks: dict[str, _Track] = {}
        self.first, self.rounds, self.last_at = first, 0, 0.0


class _CourseRecorder:
    """Takes the rounds of one rsyslogd, oldest first, and gives their course."""

    def __init__(self, is_since_start: bool) -> None:
        self._is_since_start = is_since_start
        self._steps: list[CounterStep] = []
        self._objects: dict[ObjectKey, _Recorded] = {}
        self._at: float | None = None
        self._was_whole = False
        self._rounds = self._cut = self._left_out = self._falls = 0
        self._gaps: Counter[int] = Counter()
        self._starts: list[float] = []
        self._clock_sets: list[float] = []
        self._gone: dict[float, set[ObjectKey]] = {}

    def take(self, stats: StatsRound, at: float) -> None:
        """The next round, and its time."""
        self._rounds += 1
        self._cut += not stats.is_whole
        is_first = self._at is None
        has_start = not is_first and self._is_start(stats.objects)
        if has_start and len(self._starts) < _MOST_TIMES:
            self._starts.append(at)
            self._gone[at] = set(self._objects) if stats.is_whole else set()
        if self._starts and (missing := self._gone[self._starts[-1]]):
            missing.difference_update((counted.origin, counted.name) for counted in stats.objects)
        self._advance(at, has_start)
        if has_start:
            for track in self._tracks():
                track.pad(len(self._steps) - 1)
                track.last = 0
        falls = self._record(stats.objects, at, has_start)
        self._falls += falls and not has_start
        # A log may begin within a round, which shows by brackets alone.
        self._was_whole = stats.is_whole and not is_first

    def _tracks(self) -> Iterator[_Track]:
        return (track for recorded in self._objects.values() for track in recorded.tracks.values())

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
        if len(self._steps) >= 2 * _STEPS:
            self._halve()
        self._steps.append(CounterStep(before, at, has_start))

    def _halve(self) -> None:
        for track in self._tracks():
            track.halve(len(self._steps))
        self._steps = [
            CounterStep(
                min(first.begin, second.begin), second.end, first.has_start or second.has_start
            )
            for first, second in zip(self._steps[::2], self._steps[1::2], strict=True)
        ]

    def _is_start(self, objects: Iterable[StatsObject]) -> bool:
        """Whether anything that begins at 0 with the process only is lower than it was."""
        return any(
            (track := recorded.tracks.get(counter)) is not None
            and counted.counters.get(counter, track.last) < track.last
            for counted in objects
            if (recorded := self._objects.get((counted.origin, counted.name))) is not None
            for counter in _of_life(counted)
        )

    def _record(self, objects: Iterable[StatsObject], at: float, has_start: bool) -> bool:
        """Whether counts began at 0 again as they do where impstats resets them: those of several
        objects at once, or of the only one that counts."""
        steps, fell, counting = len(self._steps), 0, 0
        for counted in objects:
            recorded = self._recorded(counted)
            if recorded is None:
                continue
            recorded.rounds += 1
            recorded.last_at = at
            falls = counts = False
            for name, value in counted.counters.items():
                track = recorded.tracks.get(name)
                if track is None:
                    # New since a whole round or a start, it counts from 0.
                    last = 0 if steps and (self._was_whole or has_start) else value
                    track = recorded.tracks[name] = _Track(name in LEVELS, max(0, steps - 1), last)
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

    def _recorded(self, counted: StatsObject) -> _Recorded | None:
        """An object so far; None where it is not kept."""
        key = counted.origin, counted.name
        recorded = self._objects.get(key)
        if recorded is None and counted.origin not in _LEFT_OUT:
            if len(self._objects) >= _MOST_OBJECTS:
                self._left_out += 1
                return None
            recorded = self._objects[key] = _Recorded(self._rounds)
        return recorded

    def _interval(self) -> int:
        """The usual seconds between two rounds: the median."""
        return median_low(self._gaps.elements()) if self._gaps else 0

    def course(self, host: str, daemon: int) -> CounterCourse:
        """What was taken, of this host and the rsyslogd with this number."""
        if not self._steps and self._at is not None:
            self._steps.append(CounterStep(self._at, self._at))
        interval = self._interval()
        gaps = RoundGaps(
            rounds=self._rounds,
            cut=self._cut,
            interval_s=interval,
            late=sum(n for gap, n in self._gaps.items() if gap > 1.5 * interval + 1),
            longest_s=max(self._gaps, default=0),
        )
        has_resets = self._falls > 0 and self._falls * 20 >= self._rounds
        return CounterCourse(
            host,
            tuple(self._steps),
            {key: self._series(key, of_key, has_resets) for key, of_key in self._objects.items()},
            gaps,
            has_resets,
            tuple(self._starts),
            tuple(self._clock_sets),
            self._left_out,
            {at: frozenset(keys) for at, keys in self._gone.items()},
            daemon,
        )

    def _series(self, key: ObjectKey, recorded: _Recorded, has_resets: bool) -> StatsSeries:
        growth, level, peak = (StepValues(len(self._steps)) for _ in range(3))
        before = {}
        for name, track in recorded.tracks.items():
            track.pad(len(self._steps))
            if track.is_level:
                level[name], peak[name] = tuple(track.growth), tuple(track.raw)
                before[name] = track.begin
            else:
                is_reset = has_resets and name not in _NEVER_RESET
                growth[name] = tuple(track.raw if is_reset else track.growth)
                before[name] = track.begin if self._is_since_start else 0
        absent = self._rounds - recorded.first + 1 - recorded.rounds
        unseen = sum(step.begin >= recorded.last_at for step in self._steps) if absent else 0
        return StatsSeries(*key, growth, level, peak, before, absent, unseen)


def _of_life(counted: StatsObject) -> tuple[str, ...]:
    """The counters of an object that begin at 0 with the process only."""
    if counted.name == "resource-usage":
        return OF_PROCESS
    # The part on disk is made anew as often as the queue goes there.
    counter = _OF_LIFE.get(counted.origin)
    return () if counter is None or counted.name.endswith(DISK_PART) else (counter,)


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
    recorders: defaultdict[tuple[str, int], _CourseRecorder]
    recorders = defaultdict(partial(_CourseRecorder, is_since_start))
    undated: dict[str, StatsRound] = {}
    for daemon, stats in told_apart(rounds):
        if stats.at is None:
            undated[stats.host] = stats
        else:
            recorders[stats.host, daemon].take(stats, stats.at)
    if not recorders:
        for host, stats in undated.items():
            recorders[host, 0].take(stats, 0.0)
    shared = {host for host, daemon in recorders if daemon}
    return tuple(
        recorder.course(host, daemon + 1 if host in shared else 0)
        for (host, daemon), recorder in recorders.items()
    )

"""What impstats writes, in each of its formats, as rounds of objects that count; pure.

It takes a line at a time, so that a file of any size is read in little memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from itertools import chain
from typing import NamedTuple

TAG = "rsyslogd-pstats"
"""What impstats calls itself where its lines are events."""

_CTIME_LENGTH = len("Fri Nov 20 23:57:42 2026")
_AFTER_TAG = re.compile(r"(?:\[\d+\])?(?::| - - -| \S+ \S+ -)? *")
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)?")
_BSD = re.compile(r"([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)")
# A line of another program's: a time, a host, a tag.
_HEADED = re.compile(
    r"(?:<\d+>)?(?:1 )?(?:\d{4}-\d\d-\d\dT\S+|[A-Z][a-z]{2} [ \d]\d [\d:]{8}) \S+ "
)
_LEGACY = re.compile(r"(.*): origin=(\S+)(.*)", re.DOTALL)
# Before 8.7 impstats did not say whose an object is.
_OLD = re.compile(r"[^={}]*:(?: [\w.]+=-?\d{1,20})+ ?")
_PAIR = re.compile(r" (\S+)=(-?\d{1,20})(?= |$)")
# What a log writes of impstats' own with a head of another form.
_OWN = re.compile(r'@cee: ?\{|\{ ?"name": ?"')
# Prometheus's format (8.2506) tells whose counter it is in a comment before the sample.
_HELP = re.compile(r'# HELP (\S+) rsyslog stats: origin="(.*?)" object="(.*)", counter="(.*)"')
# A field of `journalctl -o export`.
_JOURNAL = re.compile(r"(_*[A-Z][A-Z0-9_]*)=(.*)", re.DOTALL)
_HIGHEST = 2**64
_USAGE = ("impstats", "resource-usage")
_DECODE = json.JSONDecoder().raw_decode


class StatsObject(NamedTuple):
    """One object that counts: `core.queue`, `core.action`, a module, by its name; its counters by
    the names that the format json has for them."""

    origin: str
    name: str
    counters: Mapping[str, int]

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from the other objects of a round."""
        return self.origin, self.name


@dataclass(frozen=True)
class StatsRound:
    """All objects as one round of impstats wrote them, at `at` (seconds since 1970, whole ones;
    None where the lines do not say), on `host` where the lines name it.

    They are read one after the other, so they may differ by what happened in between.  A round is
    not `is_whole` when its first or last lines are missing.
    """

    at: float | None
    objects: tuple[StatsObject, ...]
    host: str = ""
    is_whole: bool = True


class Unreadable(Enum):
    """Why a line tells nothing."""

    CUT = "cut off"
    UNKNOWN = "not what impstats writes"
    OTHER = "of another program"
    OLD = "without origin=, as releases before 8.7 write; those of 8.2102 and later are read"


@dataclass(frozen=True)
class UnreadLine:
    """A line that was not read: the file, its number from 1, and why."""

    file: str
    number: int
    why: Unreadable


Numbered = tuple[str, int, str]
"""A file, the number of a line in it, and the line."""


def numbered(text: str) -> Iterator[Numbered]:
    """The lines of a text."""
    return (("", number, line) for number, line in enumerate(text.splitlines(), 1))


def read_rounds(
    lines: Iterable[Numbered], latest: datetime | None = None
) -> Iterator[StatsRound | UnreadLine]:
    """The rounds in those lines, oldest first, and what could not be read, as it comes.

    A round is what stands between BEGIN and END.  Without such brackets it ends where an object
    comes again at another time, or the text ends.  Lines that begin with a date without a year
    are of the last such day up to `latest`.
    """
    heads = _Heads(latest)
    hosts: dict[str, _Host] = {}
    for file, number, text in lines:
        line = heads.read(text)
        if isinstance(line, Unreadable):
            yield UnreadLine(file, number, line)
        elif line is not None:
            if line.host not in hosts:
                hosts[line.host] = _Host(line.host)
            over = hosts[line.host].take(line)
            if over is not None:
                yield over
    for host in hosts.values():
        last = host.end(is_whole=not host.has_brackets)
        if last is not None:
            yield last


def rounds(text: str) -> tuple[StatsRound, ...]:
    """The whole rounds in a text of any format, oldest first."""
    read = read_rounds(numbered(text))
    return tuple(item for item in read if isinstance(item, StatsRound) and item.is_whole)


LEVELS = frozenset(
    {"size", "maxqsize", "maxrss", "openfiles", "maxused", "disk.usage", "segments",
     "workers.current", "requests.time_ms.min", "requests.time_ms.max"}
)  # fmt: skip
"""What does not count: it goes up and down, or is the highest so far."""


class _Bracket(Enum):
    BEGIN = "BEGIN"
    END = "END"


class _Line(NamedTuple):
    """A line that says something: its time and host, and a bracket or the objects on it."""

    at: float | None
    host: str
    content: _Bracket | tuple[StatsObject, ...]


class _Host:
    """The round of a host that is being read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.at: float | None = None
        self.objects: dict[tuple[str, str], dict[str, int]] = {}
        self.is_open = False
        self.has_brackets = False
        self.has_begun = False
        # What comes again in the same second, after all that a round has at least once.
        self.repeated: list[StatsObject] = []

    def take(self, line: _Line) -> StatsRound | None:
        """The next line; gives a round that is over."""
        over = None
        if line.content is _Bracket.BEGIN:
            over = self.end(is_whole=not self.has_brackets and not self.has_begun)
            self.has_brackets = self.has_begun = self.is_open = True
            self.at = line.at
        elif line.content is _Bracket.END:
            over = self.end(is_whole=self.has_begun)
        elif isinstance(line.content, tuple):
            if self.is_open and line.at != self.at and self._comes_again(line.content):
                over = self.end(is_whole=not self.has_brackets)
            if not self.is_open:
                self.at, self.is_open = line.at, True
            elif not self.has_begun and self._is_second(line.content):
                return self._second_round()
            if not self.repeated:
                for counted in line.content:
                    self._add(counted)
        return over

    def _is_second(self, objects: Iterable[StatsObject]) -> bool:
        """Keep what comes again in one second; whether a second round has begun there, as only one
        object of a round tells what the process uses."""
        repeats = tuple(objects)
        if self.repeated or (_USAGE in self.objects and self._comes_again(repeats)):
            self.repeated += repeats
        return any(item.key == _USAGE for item in self.repeated)

    def _second_round(self) -> StatsRound | None:
        at, repeated = self.at, self.repeated
        self.repeated = []
        over = self.end(is_whole=not self.has_brackets)
        self.at, self.is_open = at, True
        for item in repeated:
            self._add(item)
        return over

    def _add(self, item: StatsObject) -> None:
        """An object of the round.  One that comes again is of another round in the same second, or
        a namesake, as imudp before 8.2108 has one for IPv6 that mostly counts nothing
        (rsyslog#4364): more counts."""
        counters = self.objects.setdefault(item.key, {})
        for name, value in item.counters.items():
            is_count = self.at is not None and name not in LEVELS
            counters[name] = max(counters.get(name, 0), value) if is_count else value

    def end(self, is_whole: bool) -> StatsRound | None:
        """The round so far; None where there is none."""
        over = None
        for item in self.repeated:
            self._add(item)
        self.repeated = []
        if self.is_open and (self.objects or self.has_begun):
            objects = (StatsObject(*key, counters) for key, counters in self.objects.items())
            over = StatsRound(self.at, tuple(objects), self.name, is_whole)
        self.objects, self.is_open, self.has_begun = {}, False, False
        return over

    def _comes_again(self, objects: Iterable[StatsObject]) -> bool:
        pairs = ((self.objects.get(item.key), item.counters) for item in objects)
        return any(old is not None and (not new or old.keys() & new.keys()) for old, new in pairs)


@dataclass
class _Heads:
    """What stands before the content of a line; those of a round are alike, so the last is kept."""

    latest: datetime | None
    ctime: tuple[str, float | None] = ("", None)
    head: tuple[str, float | None, str] = ("", None, "")
    journal: float | None = None
    sample: tuple[str, str, str, str] | None = None
    sampled: tuple[float | None, str] = field(default=(None, ""))
    has_ends: bool = False

    def read(self, text: str) -> _Line | Unreadable | None:
        """What a line says; None for one without a word."""
        if self.sample is not None and text.startswith(f"{self.sample[0]} "):
            return self._sampled(text)
        if text[_CTIME_LENGTH : _CTIME_LENGTH + 2] == ": " and self._is_ctime(text):
            return self._content(text[_CTIME_LENGTH + 2 :], self.ctime[1], "")
        head, tag, content = text.partition(TAG)
        if tag and not head.endswith("=") and not head.lstrip().startswith("{"):
            if head != self.head[0]:
                self.head = (head, *self._of_head(head))
            return self._content(content[_end_of_tag(content) :], *self.head[1:])
        return self._of_other_head(text)

    def _of_other_head(self, text: str) -> _Line | Unreadable | None:
        """A line that neither impstats itself nor a common format of logs has begun."""
        field_ = _JOURNAL.fullmatch(text)
        if field_ is not None:
            return self._of_journal(field_[1], field_[2])
        if _HEADED.match(text) is None:
            is_empty = not text.strip() or text.startswith("# TYPE ")
            return None if is_empty else self._content(text, None, "")
        own_start = _OWN.search(text)
        if own_start is None:
            return Unreadable.OTHER
        return self._content(text[own_start.start() :], *self._of_head(text[: own_start.start()]))

    def _is_ctime(self, text: str) -> bool:
        head = text[:_CTIME_LENGTH]
        if head != self.ctime[0]:
            self.ctime = (head, _ctime(head))
        return self.ctime[1] is not None

    def _of_head(self, head: str) -> tuple[float | None, str]:
        """The time and the host in what a log writes before the tag."""
        stamp = _STAMP.search(head) or _BSD.search(head)
        if stamp is None:
            return None, ""
        words = head[stamp.end() :].split()
        return self._time(stamp[0]), words[0] if words else ""

    def _time(self, text: str) -> float | None:
        try:
            if text[0].isdigit():
                return _second(datetime.fromisoformat(text))
            latest = self.latest
            if latest is None:
                return None
            # Only a leap year has every day.
            at = datetime.strptime(f"2000 {text}", "%Y %b %d %H:%M:%S")
            years = (latest.year - back for back in range(5))
            times = (at.replace(year=year) for year in years if at.day < 29 or at.month != 2
                     or year % 4 == 0)  # fmt: skip
            return next(time.timestamp() for time in times if time <= latest)
        except (ValueError, OverflowError, OSError, StopIteration):
            return None

    def _of_journal(self, name: str, value: str) -> _Line | Unreadable | None:
        if name == "__REALTIME_TIMESTAMP" and value.isdecimal() and len(value) < 18:
            self.journal = float(int(value) // 1_000_000)
        return self._content(value, self.journal, "") if name == "MESSAGE" else None

    def _content(self, text: str, at: float | None, host: str) -> _Line | Unreadable | None:
        content = text.removeprefix("@cee:").strip()
        if content in {"BEGIN", "END"}:
            return _Line(at, host, _Bracket(content))
        if content.startswith("{"):
            return _of_json(content, at, host)
        help_ = _HELP.fullmatch(content) if content.startswith("#") else None
        if help_ is not None:
            sample, origin, name, counter = help_.groups()
            self.sample, self.sampled = (sample, origin, name, counter), (at, host)
            return None
        # rsyslogd ends each pair with a space; where all of these are gone, a log took them away.
        has_end = text.endswith(" ")
        self.has_ends = self.has_ends or has_end
        legacy = _LEGACY.fullmatch(content)
        if legacy is None and _OLD.fullmatch(content):
            return Unreadable.OLD
        if legacy is None or (self.has_ends and not has_end):
            return Unreadable.UNKNOWN if at is None else Unreadable.CUT
        counters = {key: int(value) for key, value in _PAIR.findall(legacy[3])}
        return _Line(at, host, (StatsObject(legacy[2], legacy[1], counters),))

    def _sampled(self, text: str) -> _Line | Unreadable:
        _, origin, name, counter = self.sample or ("", "", "", "")
        value = text.rpartition(" ")[2].rstrip()
        if not value.isdecimal() or len(value) > 20:
            return Unreadable.CUT
        return _Line(*self.sampled, (StatsObject(origin, name, {counter: int(value)}),))


def _end_of_tag(content: str) -> int:
    match = _AFTER_TAG.match(content)
    return 0 if match is None else match.end()


def _second(at: datetime) -> float:
    """Seconds since 1970; raises ValueError for a time at which no counters were written, which
    perhaps no time zone can say."""
    if not _FIRST_YEAR <= at.year <= _LAST_YEAR:
        raise ValueError(at.year)
    return float(int(at.timestamp()))


# impstats came in 2010; a clock that was never set says 1970.
_FIRST_YEAR, _LAST_YEAR = 1970, 2999


def _ctime(head: str) -> float | None:
    """`Fri Nov 20 23:57:42 2026`, local time."""
    try:
        return _second(datetime.strptime(head, "%a %b %d %H:%M:%S %Y"))
    except (ValueError, OverflowError, OSError):
        return None


def _of_json(content: str, at: float | None, host: str) -> _Line | Unreadable:
    """The object on a line, or all of a round (zabbix)."""
    try:
        parsed, end = _DECODE(content)
    except (ValueError, RecursionError):
        return Unreadable.CUT
    if end != len(content):
        return Unreadable.CUT
    if "origin" in parsed:
        return _Line(at, host, (_object(parsed),))
    if "__REALTIME_TIMESTAMP" in parsed and isinstance(parsed.get("MESSAGE"), str):
        stamp = str(parsed["__REALTIME_TIMESTAMP"])
        inner = str(parsed["MESSAGE"]).removeprefix("@cee:").strip()
        seconds = float(int(stamp) // 1_000_000) if stamp.isdecimal() and len(stamp) < 18 else None
        return _of_json(inner, seconds, host) if inner.startswith("{") else Unreadable.OTHER
    if isinstance(parsed.get("name"), str) and any(type(value) is int for value in parsed.values()):
        return Unreadable.OLD
    lists = (values for values in parsed.values() if isinstance(values, list))
    objects = tuple(_object(item) for item in chain(*lists) if isinstance(item, dict))
    return _Line(at, host, objects) if objects else Unreadable.UNKNOWN


def _object(parsed: Mapping[str, object]) -> StatsObject:
    """Numbers of dynamic statistics stand one deeper; json-elasticsearch has ! for dots."""
    inner = parsed.get("values")
    members = {**parsed, **inner} if isinstance(inner, dict) and inner else parsed
    counters = {key: value for key, value in members.items() if type(value) is int}
    if counters and not -_HIGHEST < min(counters.values()) <= max(counters.values()) < _HIGHEST:
        counters = {key: value for key, value in counters.items() if -_HIGHEST < value < _HIGHEST}
    if "!" in "".join(counters):
        counters = {key.replace("!", "."): value for key, value in counters.items()}
    return StatsObject(str(parsed.get("origin")), str(parsed.get("name")), counters)

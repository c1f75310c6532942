"""In what two deliveries of the same events differ, document by document and line by line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tuner.validate.varied import EVENTS, number_in

# What a clock says while the two run apart; an id that rsyslog makes.
_APART = timedelta(minutes=10)
_UUID_LENGTH = 32
_SECONDS_LENGTH, _CLOCK_LENGTH = 10, 8
# So much of what two texts have in common is shown.
_BEFORE = 100


@dataclass(frozen=True)
class Arrival:
    """One document as it came: its index, id and pipeline, and its text; or a line, and `place`,
    where it was written or sent to."""

    index: str
    document_id: str | None
    text: str
    pipeline: str | None = None
    place: str = ""

    @property
    def fields(self) -> Mapping[str, object] | None:
        """Its values by dotted name; None where it is no JSON object, or has a key twice, which
        the engine refuses."""
        try:
            value = json.loads(self.text, object_pairs_hook=_each_once)
        except ValueError:
            return None
        return dict(_flat(value, "")) if isinstance(value, dict) else None


@dataclass(frozen=True)
class Delivered:
    """What a configuration makes of events: what arrived, and beside it the servers that it names,
    the sockets that it listens on, None where that could not be seen, and the files and local
    sockets that it reads."""

    arrivals: Sequence[Arrival]
    servers: frozenset[str] = frozenset()
    sockets: frozenset[str] | None = None
    local: frozenset[str] = frozenset()

    @property
    def counted(self) -> str:
        """How much arrived, in words."""
        documents, places = len(self.at("")), {one.place for one in self.arrivals if one.place}
        lines = len(self.arrivals) - documents
        said = [f"{documents} documents, with their indices and ids,"] if documents else []
        where = "1 place" if len(places) == 1 else f"{len(places)} places"
        said += [f"{lines} lines in {where},"] if lines else []
        return " and ".join(said)

    def at(self, place: str) -> list[Arrival]:
        """What arrived at a place; "" is the engine."""
        return [one for one in self.arrivals if one.place == place]


@dataclass(frozen=True)
class Discrepancy:
    """In what the deliveries of some events differ, with one example; `others` came without the
    number of an event."""

    what: str
    events: int
    example: str
    others: int = 0

    def __str__(self) -> str:
        counts = [f"{self.events} of {EVENTS} events"] if self.events else []
        counts += [f"{self.others} without a number"] if self.others else []
        if not counts:
            return f"{self.what} differ: {self.example}"
        return f"{self.what}: different for {' and '.join(counts)}, such as {self.example}"


def discrepancies(original: Delivered, profile: Delivered) -> tuple[Discrepancy, ...]:
    """In what two deliveries of the same events differ."""
    found: dict[str, list[tuple[object, str]]] = {}
    places = {one.place for one in (*original.arrivals, *profile.arrivals)}
    for place in sorted(places):
        pair = _pair if not place else _lines
        for what, key, example in _compared(original.at(place), profile.at(place), place, pair):
            found.setdefault(what, []).append((key, example))
    return (
        *(
            Discrepancy(
                what,
                len({key for key, _ in said if isinstance(key, int)}),
                said[0][1],
                sum(not isinstance(key, int) for key, _ in said),
            )
            for what, said in sorted(found.items())
        ),
        *_only_one_has("servers", original.servers, profile.servers),
        *_only_one_has("listening sockets", original.sockets, profile.sockets),
        *_only_one_has("files and sockets that are read", original.local, profile.local),
    )


def _only_one_has(
    what: str, original: frozenset[str] | None, profile: frozenset[str] | None
) -> Iterator[Discrepancy]:
    """What only one of two sets has; nothing where one is not known."""
    if original is None or profile is None or original == profile:
        return
    sides = {"the original": original - profile, "the profile": profile - original}
    said = (f"{', '.join(sorted(ones))} of {name} alone" for name, ones in sides.items() if ones)
    yield Discrepancy(what, 0, "; ".join(said))


_Comparing = Callable[[Arrival, Arrival], Iterable[tuple[str, str]]]


def _compared(
    original: Sequence[Arrival], profile: Sequence[Arrival], place: str, pair: _Comparing
) -> Iterator[tuple[str, object, str]]:
    ours, theirs = _by_event(profile), _by_event(original)
    for key in sorted(ours.keys() | theirs.keys(), key=str):
        left, right = theirs.get(key, []), ours.get(key, [])
        name = f"event {key}" if isinstance(key, int) else "an event"
        if len(left) != len(right):
            counts = f"{len(left)} of the original, {len(right)} of the profile"
            yield place or "documents", key, f"{name}: {counts}"
        for one, other in zip(left, right, strict=False):
            for what, example in pair(one, other):
                yield what, key, f"{name}: {example}"


def _by_event(arrivals: Sequence[Arrival]) -> dict[object, list[Arrival]]:
    """The documents of each event, in an order that does not depend on when they came."""
    found: dict[object, list[Arrival]] = {}
    for one in arrivals:
        number = number_in(one.text)
        found.setdefault(one.index if number is None else number, []).append(one)
    # By each input an event came at another second.
    return {
        key: sorted(ones, key=lambda one: (one.index, _without_now(one.text)))
        for key, ones in found.items()
    }


def _pair(one: Arrival, other: Arrival) -> Iterator[tuple[str, str]]:
    """In what two documents of one event differ."""
    if one.index != other.index:
        yield "_index", f"{one.index} and {other.index}"
    if not _same_id(one.document_id, other.document_id):
        yield "_id", f"{one.document_id} and {other.document_id}"
    if one.pipeline != other.pipeline:
        yield "pipeline", f"{one.pipeline} and {other.pipeline}"
    left, right = one.fields, other.fields
    if left is None or right is None:
        if _without_now(one.text) != _without_now(other.text):
            yield "JSON", _side_by_side(one.text, other.text)
        return
    yield from _members(left, right)


def _members(left: Mapping[str, object], right: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """In what the values of two documents differ."""
    for name in sorted(left.keys() | right.keys()):
        if not _same(left.get(name, _MISSING), right.get(name, _MISSING)):
            values = [json.dumps(side[name]) if name in side else "-" for side in (left, right)]
            yield name, " and ".join(value[:200] for value in values)


def _lines(one: Arrival, other: Arrival) -> Iterator[tuple[str, str]]:
    """In what two lines of one event differ."""
    left, right = one.fields, other.fields
    if left is not None and right is not None:
        yield from ((one.place, f"{name} {example}") for name, example in _members(left, right))
    elif _without_now(one.text) != _without_now(other.text):
        yield one.place, _side_by_side(one.text, other.text)


def _side_by_side(one: str, other: str) -> str:
    """Two texts, from a little before they differ on."""
    sides = [_without_now(one), _without_now(other)]
    pairs = enumerate(zip(*sides, strict=False))
    differs = next((at for at, (left, right) in pairs if left != right), min(map(len, sides)))
    begin = max(0, differs - _BEFORE)
    return " and ".join(("..." if begin else "") + side[begin:][:200] for side in sides)


# Times as rsyslog writes them: RFC 3339, RFC 3164, for PostgreSQL, for MySQL, as seconds, and that
# of the day alone, which templates put together with a date of their own.
TIME = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
    r"|\b\d{14}\b|\b\d{10}\b|\b\d\d:\d\d:\d\d(?:\.\d+)?\b"
)
_FORMATS = ("%Y %b %d %H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y%m%d%H%M%S")


def _without_now(text: str) -> str:
    """A text with the times at which it came to rsyslogd all alike, each in its own format."""
    now = datetime.now(UTC)
    return TIME.sub(lambda found: _shape(found[0]) if is_now(found[0], now) else found[0], text)


def _shape(time: str) -> str:
    return re.sub("[A-Z][a-z]{2}", "Mon", re.sub(r"\d", "0", time.replace("  ", " 0")))


def is_now(text: str, now: datetime) -> bool:
    """Whether a time is that of a clock then, while two events come."""
    now = now.astimezone()
    if len(text) == _SECONDS_LENGTH and text.isdecimal():
        return abs(int(text) - now.timestamp()) < _APART.total_seconds()
    with suppress(ValueError):
        if "T" in text:
            return abs(datetime.fromisoformat(text) - now) < _APART
    dated = text if text[0].isdecimal() else f"{now.year} {text}"
    if text[2] == ":":
        dated = f"{now:%Y-%m-%d} {text[:_CLOCK_LENGTH]}"
    for written in _FORMATS:
        with suppress(ValueError):
            time = datetime.strptime(dated, written).replace(tzinfo=now.tzinfo)
            return abs(time - now) < _APART
    return False


_MISSING = object()


def _same_id(one: str | None, other: str | None) -> bool:
    """Equal, or both made for the event."""
    both = one is not None and other is not None
    return one == other or (both and len(str(one)) == len(str(other)) == _UUID_LENGTH)


def _same(one: object, other: object) -> bool:
    """Equal, or the time at which the event came to each."""
    if one == other and type(one) is type(other):
        return True
    times = [_moment(one), _moment(other)]
    now = datetime.now(UTC)
    if all(time is not None and abs(time - now) < _APART for time in times):
        return True
    is_time = type(one) is type(other) and isinstance(one, str | int)
    return is_time and _without_now(str(one)) == _without_now(str(other))


def _moment(value: object) -> datetime | None:
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return time if time is not None and time.tzinfo is not None else None


def _each_once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    if len(members := dict(pairs)) < len(pairs):
        raise ValueError("a key stands twice in an object")
    return members


def _flat(value: Mapping[str, object], path: str) -> Iterator[tuple[str, object]]:
    for key, inner in value.items():
        name = f"{path}.{key}" if path else key
        if isinstance(inner, dict) and inner:
            yield from _flat(inner, name)
        else:
            yield name, inner

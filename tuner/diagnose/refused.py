"""Refused documents in groups: one of each kind and field, with its number and its time; what came
of the events, and what it was by its shape.  Memory is bounded however many there are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from tuner.diagnose.finding import EventEffect
from tuner.diagnose.refusal import Keeper, NoRefusal, Refusal, Stored, Told
from tuner.diagnose.refusal_kind import (
    UNKNOWN,
    Fate,
    NamedRefusal,
    masked,
    named,
    shape,
    value_of,
)

_MOST_GROUPS, _MOST_NAMES, _MOST_DOCUMENTS, _MOST_UNREAD = 500, 5, 3, 20
_LONGEST_DOCUMENT = 2000
# The time of an event is what its document says: error files have none of their own.
_TIME = re.compile(
    r'"(?:@timestamp|timestamp|time|date|timereported|timegenerated)"\s*:\s*"'
    r'(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[^"]*)"'
)


@dataclass
class RefusedGroup:
    """Documents that were refused for one reason: how many, of which indices, kept by whom, when by
    their own times (empty where they have none), the shapes of the values and the first documents;
    `in_whole` of them because all of their request was refused.  `words` are the engine's, with
    what they quote masked."""

    named: NamedRefusal
    words: str
    count: int = 0
    in_whole: int = 0
    first: str = ""
    last: str = ""
    indices: list[str] = field(default_factory=list)
    shapes: list[str] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)
    keepers: set[Keeper] = field(default_factory=set)
    statuses: set[int] = field(default_factory=set)
    places: list[tuple[str, int]] = field(default_factory=list)

    def take(self, refusal: Refusal) -> None:
        """One more of them."""
        self.count += 1
        self.in_whole += refusal.is_whole
        self.keepers.add(refusal.keeper)
        self.statuses.add(refusal.status)
        _add(self.indices, refusal.index, _MOST_NAMES)
        if len(self.places) < _MOST_NAMES:
            self.places.append((refusal.file, refusal.line))
        value = value_of(refusal.text)
        if value is not None:
            _add(self.shapes, shape(value), _MOST_NAMES)
        document = refusal.document or ""
        if document and len(self.documents) < _MOST_DOCUMENTS:
            self.documents.append(document[:_LONGEST_DOCUMENT])
        time = _TIME.search(document)
        if time is not None:
            self.first = min(self.first or time[1], time[1])
            self.last = max(self.last, time[1])

    @property
    def keeper(self) -> Keeper:
        """Who kept them, the one that tells most of what rsyslog did."""
        return next(keeper for keeper in Keeper if keeper in self.keepers)

    @property
    def effect(self) -> EventEffect | None:
        """What became of the events; None for those that are stored."""
        fate = self.named.kind.fate
        if fate is Fate.STORED:
            return None
        if self.keeper is Keeper.ENGINE_LOG:
            return EventEffect.AT_RISK
        is_late = fate is Fate.BUSY and self.keeper in {Keeper.RETRY_RULESET, Keeper.OMHTTP}
        return EventEffect.LATE if is_late else EventEffect.LOST

    @property
    def way_out(self) -> str:
        """The way out of its kind for who kept them; empty where none is known."""
        kind = self.named.kind
        return kind.way_out_retried if self.keeper is Keeper.RETRY_RULESET else kind.way_out

    @property
    def gravity(self) -> tuple[int, int]:
        """What sorts groups: lost for good first, then by their number."""
        return list(Fate).index(self.named.kind.fate), -self.count


@dataclass(frozen=True)
class Refusals:
    """All that some files tell: the groups, gravest first, how many documents of the same bulks
    were stored, how many belong to groups beyond those that are kept, and lines that told
    nothing."""

    groups: tuple[RefusedGroup, ...]
    stored: int
    others: int
    cut: int
    unread: int
    first_unread: tuple[tuple[str, int], ...]

    @property
    def count(self) -> int:
        """How many documents were refused, and are not stored already."""
        refused = [group for group in self.groups if group.named.kind.fate is not Fate.STORED]
        return sum(group.count for group in refused) + self.others

    @property
    def twice(self) -> int:
        """How many were stored already when they came."""
        return sum(g.count for g in self.groups if g.named.kind.fate is Fate.STORED)


def grouped(told: Iterable[Told]) -> Refusals:
    """The groups of what was read."""
    groups: dict[tuple[str, str, str], RefusedGroup] = {}
    stored = others = cut = unread = 0
    places: list[tuple[str, int]] = []
    for item in told:
        match item:
            case Stored(number):
                stored += number
            case NoRefusal(file, line, is_cut):
                cut, unread = cut + is_cut, unread + (not is_cut)
                if len(places) < _MOST_UNREAD:
                    places.append((file, line))
            case Refusal():
                group = _group_of(groups, item)
                if group is None:
                    others += 1
                else:
                    group.take(item)
    ordered = sorted(groups.values(), key=lambda group: group.gravity)
    return Refusals(tuple(ordered), stored, others, cut, unread, tuple(places))


def _group_of(
    groups: dict[tuple[str, str, str], RefusedGroup], refusal: Refusal
) -> RefusedGroup | None:
    found = named(refusal)
    words = _words(refusal) if found.kind is UNKNOWN else ""
    key = (found.kind.name, found.field, words)
    if key not in groups:
        if len(groups) >= _MOST_GROUPS:
            return None
        # Masking is slow: of a kind that is known it is done once.
        groups[key] = RefusedGroup(found, words or _words(refusal))
    return groups[key]


def _words(refusal: Refusal) -> str:
    """What the engine says at last, masked."""
    last = refusal.errors[-1][1] if refusal.errors else ""
    return masked(last, refusal.document or "")[:300]


def _add(names: list[str], name: str, most: int) -> None:
    if name and name not in names and len(names) < most:
        names.append(name)

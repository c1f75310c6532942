"""A document or a line as it arrived, and which times in it are those of a clock then."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

_APART = timedelta(minutes=10)
_SECONDS_LENGTH, _CLOCK_LENGTH = 10, 8


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


# Times as rsyslog writes them: RFC 3339, RFC 3164, for PostgreSQL, for MySQL, as seconds, and that
# of the day alone, which templates put together with a date of their own.
TIME = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
    r"|\b\d{14}\b|\b\d{10}\b|\b\d\d:\d\d:\d\d(?:\.\d+)?\b"
)
_FORMATS = ("%Y %b %d %H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y%m%d%H%M%S")


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

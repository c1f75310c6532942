"""What stands before a message's body: priority, time, origin, and the identity of the event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from tuner.flood.bodies import TEXTS, Dice
from tuner.modules.input import Format

NUMBER_DIGITS = 12
STAMP_BYTES = 32
"""A time with microseconds and offset."""

_HEADS = TEXTS["heads"]
_ROOM_FOR_DATA = 192


@dataclass(frozen=True)
class Head:
    """A head with blanks for the time and zeros for the number, and where these stand."""

    text: str
    stamp_at: int
    number_at: int


class HeadFields(NamedTuple):
    """What a head says of where a message comes from; `-` and None are not said."""

    priority: int
    host: str
    program: str
    process: int | str | None
    msgid: str = "-"
    data: str = "-"


@dataclass(frozen=True)
class Style:
    """How a format writes heads (`pattern`) and times (in so many bytes), where it has any, and the
    longest of the heads that we invent."""

    pattern: str
    stamp: Callable[[datetime], str] | None
    stamp_bytes: int
    longest_head: int

    def head(self, origin: HeadFields, time: str) -> str:
        """A head up to the body."""
        program, process = origin.program, origin.process
        tag = program if process is None else f"{program}[{process}]"
        fields = origin._replace(process=process or "-")._asdict()
        return self.pattern.format(**fields, time=time, tag=tag)

    def stamp_at(self, origin: HeadFields) -> int:
        """Where the time stands in a head."""
        return len(self.pattern.partition("{time}")[0].format(priority=origin.priority))

    def origin(self, dice: Dice, length: int) -> HeadFields:
        """An origin that we invent for a message of so many bytes; every other one that has room
        for structured data carries some."""
        if self.stamp is None:
            return HeadFields(0, "-", "-", None)
        priority = 8 * dice.pick(_HEADS["facilities"]) + dice.pick(_HEADS["severities"])
        process = 100 + dice.below(65_000)
        host = dice.pick(_HEADS["hosts"]) if "{host}" in self.pattern else "-"
        program = dice.pick(_HEADS["programs"])
        if "{data}" not in self.pattern:
            return HeadFields(priority, host, program, process)
        kind, data = dice.pick(_HEADS["msgids"]), "-"
        if dice.below(2) and length >= _ROOM_FOR_DATA:
            address = f"10.{dice.below(256)}.{dice.below(256)}.{1 + dice.below(254)}"
            data = f'[origin ip="{address}" software="{program}"]'
        return HeadFields(priority, host, program, process, kind, data)


class Numbering:
    """Where messages have their numbers: in the body, behind what names the flood.

    The numbers of a block of a thousand have the same text before their last three digits.
    """

    high_bytes = 9

    def __init__(self, run_id: str) -> None:
        self._identity = f"run={run_id} seq="

    def head(self, style: Style, origin: HeadFields, /) -> Head:
        """A head with room for the number."""
        before = f"{style.head(origin, ' ' * style.stamp_bytes)}{self._identity}"
        return Head(f"{before}{'0' * NUMBER_DIGITS} ", style.stamp_at(origin), len(before))

    def high(self, block: int) -> bytes:
        """What the numbers of a block have in common."""
        return b"%0*d" % (self.high_bytes, block)


class StampNumbering(Numbering):
    """Numbers as microseconds of the time in the head, from a second on: no byte of the body is
    ours.  Both RFC 3164 as rsyslog reads it and RFC 5424 take such a time.

    It begins with a multiple of 1,000 s, so that the last nine digits of the microseconds since
    1970 are the number.
    """

    high_bytes = 23

    def __init__(self, begins_s: int) -> None:
        self._begins = datetime.fromtimestamp(begins_s, UTC)

    def head(self, style: Style, origin: HeadFields, /) -> Head:
        """A head whose time is the number, in UTC."""
        at = style.stamp_at(origin)
        return Head(style.head(origin, f"{self.high(0).decode()}000+00:00"), at, at)

    def high(self, block: int) -> bytes:
        """The time of a block, up to the millisecond."""
        at = self._begins + timedelta(milliseconds=block)
        return at.isoformat(timespec="milliseconds")[: self.high_bytes].encode()


class LineNumbering(StampNumbering):
    """The same microseconds since 1970 as digits before a line, which has no head."""

    high_bytes = 13

    def head(self, _style: Style, _origin: HeadFields, /) -> Head:
        """The number and a blank, which stand before a line."""
        return Head(f"{self.high(0).decode()}000 ", 0, 0)

    def high(self, block: int) -> bytes:
        """The digits of a block."""
        return b"%d" % (1000 * int(self._begins.timestamp()) + block)


def stamp_3164(at: datetime) -> str:
    """Write a time the way of RFC 3164: the day padded with a space."""
    return f"{at:%b} {at.day:2} {at:%H:%M:%S}"


def stamp_5424(at: datetime) -> str:
    """Write a time the way of RFC 5424, with microseconds and offset."""
    return at.isoformat(timespec="microseconds")


STYLES: dict[Format, Style] = {
    "rfc3164": Style("<{priority}>{time} {host} {tag}: ", stamp_3164, 15, 84),
    "rfc5424": Style(
        "<{priority}>1 {time} {host} {program} {process} {msgid} {data} ",
        stamp_5424,
        STAMP_BYTES,
        102,
    ),
    "local": Style("<{priority}>{time} {tag}: ", stamp_3164, 15, 75),
    "bare": Style("", None, 0, 30),
}

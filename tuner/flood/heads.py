"""What stands before a message's body: priority, time, origin, and the identity of the event."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from tuner.flood.bodies import Dice
from tuner.modules.input import Format

NUMBER_DIGITS = 12
STAMP_BYTES = 32
"""A time with microseconds and offset."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_HOSTS = ("web-01", "web-02", "web-03", "db-01", "db-02", "mail", "gw-fra-1", "gw-ams-1", "kube-07")
_PROGRAMS = ("sshd", "nginx", "postgres", "kernel", "cron", "systemd", "haproxy", "dockerd", "app")
_KINDS = ("-", "-", "ACCES", "LOGIN", "QUERY", "STATE")
_FACILITIES = (1, 3, 3, 4, 9, 10, 16, 17, 18)
_SEVERITIES = (3, 4, 4, 5, 5, 6, 6, 6, 6, 6, 6, 7)
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
    """How a format writes heads (`pattern`) and times (seconds since 1970, in so many bytes), where
    it has any, and the longest of the heads that we invent."""

    pattern: str
    stamp: Callable[[float], bytes] | None
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
        priority = 8 * dice.pick(_FACILITIES) + dice.pick(_SEVERITIES)
        process = 100 + dice.below(65_000)
        host = dice.pick(_HOSTS) if "{host}" in self.pattern else "-"
        program = dice.pick(_PROGRAMS)
        if "{data}" not in self.pattern:
            return HeadFields(priority, host, program, process)
        kind, data = dice.pick(_KINDS), "-"
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

    def stamp(self, style: Style) -> Callable[[float], bytes] | None:
        """How times are written; None where a head has none, or it is the number."""
        return style.stamp


class StampNumbering(Numbering):
    """Numbers as microseconds of the time in the head, from a second on: no byte of the body is
    ours.  Both RFC 3164 as rsyslog reads it and RFC 5424 take such a time.

    It begins with a multiple of 1,000 s, so that the last nine digits of the microseconds since
    1970 are the number.
    """

    high_bytes = 23

    def __init__(self, begins_s: int) -> None:
        self._begins_s = begins_s

    def head(self, style: Style, origin: HeadFields, /) -> Head:
        """A head whose time is the number, in UTC."""
        at = style.stamp_at(origin)
        return Head(style.head(origin, f"{self.high(0).decode()}000+00:00"), at, at)

    def high(self, block: int) -> bytes:
        """The time of a block, up to the millisecond."""
        second, millis = divmod(block, 1000)
        return b"%s.%03d" % (_utc(self._begins_s + second), millis)

    def stamp(self, style: Style) -> None:
        """None: the time is the number."""


class LineNumbering(StampNumbering):
    """The same microseconds since 1970 as digits before a line, which has no head."""

    high_bytes = 13

    def head(self, _style: Style, _origin: HeadFields, /) -> Head:
        """The number and a blank, which stand before a line."""
        return Head(f"{self.high(0).decode()}000 ", 0, 0)

    def high(self, block: int) -> bytes:
        """The digits of a block."""
        second, millis = divmod(block, 1000)
        return b"%d%03d" % (self._begins_s + second, millis)


def stamp_3164(epoch_s: float) -> bytes:
    """Write a time the way of RFC 3164: local, 15 bytes, the day padded with a space."""
    return _second_3164(int(epoch_s))


def stamp_5424(epoch_s: float) -> bytes:
    """Write a time the way of RFC 5424: local, 32 bytes, with microseconds and offset."""
    second, micros = divmod(int(epoch_s * 1_000_000), 1_000_000)
    clock, offset = _second_5424(second)
    return b"%s.%06d%s" % (clock, micros, offset)


@lru_cache(maxsize=4)
def _second_3164(second: int) -> bytes:
    now = time.localtime(second)
    clock = f"{now.tm_hour:02}:{now.tm_min:02}:{now.tm_sec:02}"
    return f"{_MONTHS[now.tm_mon - 1]} {now.tm_mday:2} {clock}".encode()


@lru_cache(maxsize=4)
def _utc(second: int) -> bytes:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second)).encode()


@lru_cache(maxsize=4)
def _second_5424(second: int) -> tuple[bytes, bytes]:
    """The time up to the second, and the offset from UTC."""
    now = time.localtime(second)
    hours, minutes = divmod(abs(now.tm_gmtoff) // 60, 60)
    sign = "-" if now.tm_gmtoff < 0 else "+"
    day = f"{now.tm_year:04}-{now.tm_mon:02}-{now.tm_mday:02}"
    clock = f"{day}T{now.tm_hour:02}:{now.tm_min:02}:{now.tm_sec:02}"
    return clock.encode(), f"{sign}{hours:02}:{minutes:02}".encode()


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

"""What stands before a message's body: priority, time, origin, and the identity of the event."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from tuner.flood.bodies import Dice
from tuner.modules.input import Format

NUMBER_DIGITS = 12
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


@dataclass(frozen=True)
class Style:
    """How a format writes heads (for a message of so many bytes) and times (seconds since 1970),
    where it has any."""

    head: Callable[[Dice, str, int], Head]
    stamp: Callable[[float], bytes] | None
    stamp_bytes: int
    longest_head: int


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
def _second_5424(second: int) -> tuple[bytes, bytes]:
    """The time up to the second, and the offset from UTC."""
    now = time.localtime(second)
    hours, minutes = divmod(abs(now.tm_gmtoff) // 60, 60)
    sign = "-" if now.tm_gmtoff < 0 else "+"
    day = f"{now.tm_year:04}-{now.tm_mon:02}-{now.tm_mday:02}"
    clock = f"{day}T{now.tm_hour:02}:{now.tm_min:02}:{now.tm_sec:02}"
    return clock.encode(), f"{sign}{hours:02}:{minutes:02}".encode()


def _head_3164(dice: Dice, run_id: str, _length: int) -> Head:
    priority = _priority(dice)
    process = 100 + dice.below(65_000)
    origin = f"{dice.pick(_HOSTS)} {dice.pick(_PROGRAMS)}[{process}]:"
    before = f"{priority}{' ' * 15} {origin} "
    return _with_identity(before, len(priority), run_id)


def _head_5424(dice: Dice, run_id: str, length: int) -> Head:
    """Every other message that has room for it carries structured data."""
    priority = f"{_priority(dice)}1 "
    process = 100 + dice.below(65_000)
    host, program, kind = dice.pick(_HOSTS), dice.pick(_PROGRAMS), dice.pick(_KINDS)
    data = "-"
    if dice.below(2) and length >= _ROOM_FOR_DATA:
        address = f"10.{dice.below(256)}.{dice.below(256)}.{1 + dice.below(254)}"
        data = f'[origin ip="{address}" software="{program}"]'
    before = f"{priority}{' ' * 32} {host} {program} {process} {kind} {data} "
    return _with_identity(before, len(priority), run_id)


def _head_local(dice: Dice, run_id: str, _length: int) -> Head:
    priority = _priority(dice)
    before = f"{priority}{' ' * 15} {dice.pick(_PROGRAMS)}[{100 + dice.below(65_000)}]: "
    return _with_identity(before, len(priority), run_id)


def _head_bare(_dice: Dice, run_id: str, _length: int) -> Head:
    return _with_identity("", 0, run_id)


def _priority(dice: Dice) -> str:
    facility = _FACILITIES[dice.below(len(_FACILITIES))]
    severity = _SEVERITIES[dice.below(len(_SEVERITIES))]
    return f"<{8 * facility + severity}>"


def _with_identity(before: str, stamp_at: int, run_id: str) -> Head:
    identity = f"run={run_id} seq="
    text = f"{before}{identity}{'0' * NUMBER_DIGITS} "
    return Head(text, stamp_at, len(before) + len(identity))


STYLES: dict[Format, Style] = {
    "rfc3164": Style(_head_3164, stamp_3164, 15, 84),
    "rfc5424": Style(_head_5424, stamp_5424, 32, 102),
    "local": Style(_head_local, stamp_3164, 15, 75),
    "bare": Style(_head_bare, None, 0, 30),
}

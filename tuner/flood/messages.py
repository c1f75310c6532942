"""Messages rendered ahead: a pool of a thousand, with numbers and times patched in place.

Message i of the pool always carries a sequence number that ends in the three digits i, so one
pass over the pool patches little more than one digit per message, and a time once a second.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.flood.bodies import Dice, body

POOL = 1000
SPREAD = 0.25
AWKWARD = 30
_LONGEST_HEADER = 84
_DRAWS = 1 << 16
_STAMP_BYTES = 15
_PASS_DIGITS = 9
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_HOSTS = ("web-01", "web-02", "web-03", "db-01", "db-02", "mail", "gw-fra-1", "gw-ams-1", "kube-07")
_PROGRAMS = ("sshd", "nginx", "postgres", "kernel", "cron", "systemd", "haproxy", "dockerd", "app")
_FACILITIES = (1, 3, 3, 4, 9, 10, 16, 17, 18)
_SEVERITIES = (3, 4, 4, 5, 5, 6, 6, 6, 6, 6, 6, 7)


def stamp(epoch_s: int) -> bytes:
    """Write a time the way of RFC 3164: local, 15 bytes, the day padded with a space."""
    now = time.localtime(epoch_s)
    clock = f"{now.tm_hour:02}:{now.tm_min:02}:{now.tm_sec:02}"
    return f"{_MONTHS[now.tm_mon - 1]} {now.tm_mday:2} {clock}".encode()


@dataclass(frozen=True)
class Block:
    """Whole messages to go to one connection; `ends` are the offsets just past each.

    `data` is the pool itself and valid only until the next block is taken.
    """

    data: memoryview
    ends: NDArray[np.int64]


class Messages:
    """An endless, seeded run of messages, numbered from 0."""

    def __init__(self, seed: int, run_id: str, mean_bytes: int) -> None:
        lines, stamps, numbers = _pool(seed, run_id, mean_bytes)
        sizes = np.array([len(line) for line in lines], dtype=np.int64)
        self._ends = np.cumsum(sizes)
        self._starts = self._ends - sizes
        self._stamps = self._starts + np.array(stamps)
        self._numbers = self._starts + np.array(numbers)
        self._buffer = bytearray(b"".join(lines))
        self._bytes = np.frombuffer(self._buffer, dtype=np.uint8)
        self._view = memoryview(self._buffer)
        self._pass = b"0" * _PASS_DIGITS
        self._second = -1
        self._stamp = b" " * _STAMP_BYTES
        self.taken = 0

    def take(self, most: int, epoch_s: int) -> Block:
        """Render the next messages, at least one and at most `most`, stamped with a time."""
        first = self.taken % POOL
        last = min(first + most, POOL) - 1
        if first == 0:
            digits = b"%0*d" % (_PASS_DIGITS, self.taken // POOL)
            self._patch(self._numbers, self._pass, digits)
            self._pass = digits
        if epoch_s != self._second:
            written = stamp(epoch_s)
            self._patch(self._stamps, self._stamp, written)
            self._second, self._stamp = epoch_s, written
        self.taken += last - first + 1
        start, end = int(self._starts[first]), int(self._ends[last])
        return Block(self._view[start:end], self._ends[first : last + 1] - start)

    def _patch(self, places: NDArray[np.int64], old: bytes, new: bytes) -> None:
        for offset, (before, after) in enumerate(zip(old, new, strict=True)):
            if before != after:
                self._bytes[places + offset] = after


def _lengths(dice: Dice, mean_bytes: int) -> list[int]:
    """Spread lengths evenly around the mean, each above it with its mirror below."""
    spread = min(SPREAD * mean_bytes, mean_bytes - _LONGEST_HEADER)
    half = POOL // 2
    steps = [round(spread * (step + 1) / half) for step in range(half)]
    lengths = [mean_bytes + step for step in steps] + [mean_bytes - step for step in steps]
    return _shuffled(dice, lengths)


def _shuffled(dice: Dice, values: list[int]) -> list[int]:
    shuffled = list(values)
    for last in range(len(shuffled) - 1, 0, -1):
        other = dice.below(last + 1)
        shuffled[last], shuffled[other] = shuffled[other], shuffled[last]
    return shuffled


def _pool(seed: int, run_id: str, mean_bytes: int) -> tuple[list[bytes], list[int], list[int]]:
    """Write the pool: its lines, and where in each the time and the number stand."""
    dice = Dice(seed, _DRAWS)
    lengths = _lengths(dice, mean_bytes)
    awkward = set(_shuffled(dice, list(range(POOL)))[:AWKWARD])
    lines, stamps, numbers = [], [], []
    for place, length in enumerate(lengths):
        facility = _FACILITIES[dice.below(len(_FACILITIES))]
        severity = _SEVERITIES[dice.below(len(_SEVERITIES))]
        priority = f"<{8 * facility + severity}>"
        process = 100 + dice.below(65_000)
        origin = f"{dice.pick(_HOSTS)} {dice.pick(_PROGRAMS)}[{process}]:"
        number = f"{place:0{_PASS_DIGITS + 3}}"
        head = f"{priority}{' ' * _STAMP_BYTES} {origin} run={run_id} seq={number} "
        text = head + body(dice, length - len(head), awkward=place in awkward)
        lines.append(f"{text}\n".encode())
        stamps.append(len(priority))
        numbers.append(head.index(" seq=") + len(" seq="))
    return lines, stamps, numbers

"""The sequence numbers of a flood's events, which several senders take in blocks by turns, and how
documents carry them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

BLOCK = 1000
"""How many consecutive numbers a sender uses; the blocks between two of its own belong to the other
senders."""
NAMED = 10
"""How many lost or duplicated events a delivery check names."""

FIELD = "rsyslog_tune_seq"
"""The field with the number, which documents of a measurement carry."""

MAPPING = {"type": "long", "index": False}
"""The mapping of FIELD: doc values only, the least that can be aggregated and sorted."""

FIRST_OUTPUT = 10
"""The first two digits of a number are the output, counted from FIRST_OUTPUT because a JSON number
cannot begin with zero.  MICRO_DIGITS more digits follow: the last ones of the event's time in
microseconds since 1970.  A histogram, which computes with floats, holds that many digits exactly.
"""

MICRO_DIGITS = 12
STAMPED = re.compile(rb'"%b": ?"?((\d\d)\d{%d})' % (FIELD.encode(), MICRO_DIGITS))
"""Matches FIELD in a document; the groups are the number and its output."""

RUN_MICROS = 1_000 * 1_000_000
"""The times of a run begin at a multiple of a thousand seconds; the run's name is the last three
digits of that multiple."""


def first_number(run: str, output: int) -> int:
    """The number that the first event of a run has in the documents of an output."""
    return int(f"{FIRST_OUTPUT + output}{'0' * MICRO_DIGITS}") + int(run) * RUN_MICROS


def number_of(event: int, sender: int, senders: int) -> int:
    """The number of an event, which is the `event`th of its sender; all count from 0."""
    block, place = divmod(event, BLOCK)
    return (block * senders + sender) * BLOCK + place


def event_of(number: int, senders: int) -> tuple[int, int]:
    """The sender of the event with that number, and its place among the sender's events."""
    block, place = divmod(number, BLOCK)
    turn, sender = divmod(block, senders)
    return sender, turn * BLOCK + place


@dataclass(frozen=True)
class SentEvents:
    """How many events each sender of a flood has sent, in the order in which they take turns."""

    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        """All events."""
        return sum(self.counts)

    @property
    def end(self) -> int:
        """The highest number plus one."""
        ends = (
            number_of(count - 1, sender, len(self.counts)) + 1
            for sender, count in enumerate(self.counts)
            if count
        )
        return max(ends, default=0)

    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The numbers of the events as ordered ranges, each with its first number and its end."""
        joined: list[tuple[int, int]] = []
        for first, end in self._blocks():
            adjoins = bool(joined) and joined[-1][1] == first
            joined.append((joined.pop()[0] if adjoins else first, end))
        return tuple(joined)

    def _blocks(self) -> Iterator[tuple[int, int]]:
        senders = len(self.counts)
        for block in range(-(-self.end // BLOCK)):
            turn, sender = divmod(block, senders)
            used = min(BLOCK, self.counts[sender] - turn * BLOCK)
            if used > 0:
                yield block * BLOCK, block * BLOCK + used

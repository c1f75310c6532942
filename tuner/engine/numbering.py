"""Which numbers the events of a flood bear, blocks in turn where several senders number them, and
how documents carry them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

BLOCK = 1000
"""Events that a sender numbers one after the other; what lies between two of its blocks belongs to
the others."""
NAMED = 10
"""How many lost or doubled events an account names."""

FIELD = "rsyslog_tune_seq"
"""The field that documents carry while they are measured."""

MAPPING = {"type": "long", "index": False}
"""Its mapping: doc values only, the least that can be aggregated and sorted."""

FIRST_OUTPUT = 10
"""Two digits begin a number that a lab adds to documents: the output, from this one on, as JSON has
no numbers that begin with a zero.  Then come the last digits of the microseconds since 1970 that
the event has: so many that a histogram, which reckons with floats, has each number exactly."""

MICRO_DIGITS = 12
STAMPED = re.compile(rb'"%b": ?"?((\d\d)\d{%d})' % (FIELD.encode(), MICRO_DIGITS))
"""A number in a document, and the output in it."""

RUN_MICROS = 1_000 * 1_000_000
"""A run begins with a multiple of a thousand seconds, and is called by the last three digits of the
thousands."""


def first_number(run: str, output: int) -> int:
    """The number of the first event of a run in the documents of an output."""
    return int(f"{FIRST_OUTPUT + output}{'0' * MICRO_DIGITS}") + int(run) * RUN_MICROS


def number_of(event: int, sender: int, senders: int) -> int:
    """The number of an event, the `event`th of its sender; both count from 0."""
    block, place = divmod(event, BLOCK)
    return (block * senders + sender) * BLOCK + place


def event_of(number: int, senders: int) -> tuple[int, int]:
    """The sender of the event with that number, and which of its events it is."""
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
        """The number after the highest."""
        ends = (
            number_of(count - 1, sender, len(self.counts)) + 1
            for sender, count in enumerate(self.counts)
            if count
        )
        return max(ends, default=0)

    def ranges(self) -> tuple[tuple[int, int], ...]:
        """Their numbers, as ranges in order: the first, and the one after the last."""
        joined: list[tuple[int, int]] = []
        for first, end in self._blocks():
            adjoins = bool(joined) and joined[-1][1] == first
            joined.append((joined.pop()[0] if adjoins else first, end))
        return tuple(joined)

    def _blocks(self) -> Iterator[tuple[int, int]]:
        senders = len(self.counts)
        for block in range(-(-self.end // BLOCK)):
            turn, sender = divmod(block, senders)
            held = min(BLOCK, self.counts[sender] - turn * BLOCK)
            if held > 0:
                yield block * BLOCK, block * BLOCK + held

"""The sink's delivery check: which events arrived, by the identity a flood wrote into them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tuner.engine.delivery import (
    ArrivedRun,
    DeliveryCheck,
    Expectation,
    check_arrivals,
    joined,
)
from tuner.engine.numbering import FIELD, SentEvents

Numbers = NDArray[np.int64]
Counts = NDArray[np.uint16]

# What a flood writes into its messages: where in it the run and the number stand.
_IDENTITY = re.compile(rb"(run=[0-9a-f]{8} seq=\d{12})")
_IN_IDENTITY = slice(4, 12), slice(17, 29)
# What a lab adds to documents: the output, and the last digits of the microseconds since 1970, of
# which nine are the number (StampNumbering begins with a multiple of a thousand seconds).
_STAMPED = re.compile(b'"%b": ?"?(\\d{14})' % FIELD.encode())
_IN_STAMPED = slice(0, 5), slice(5, 14)
_MOST = 1 << 29


def identities(documents: Sequence[bytes]) -> dict[bytes, Numbers]:
    """The sequence numbers in the documents, by run; the first identity of each document counts.

    A document without one is left out, and so is a number that no flood reaches.
    """
    for pattern, (run_at, number_at) in ((_STAMPED, _IN_STAMPED), (_IDENTITY, _IN_IDENTITY)):
        matched = [match[1] for match in map(pattern.search, documents) if match is not None]
        if matched:
            return _by_run(matched, run_at, number_at)
    return {}


def _by_run(matched: Sequence[bytes], run_at: slice, number_at: slice) -> dict[bytes, Numbers]:
    rows = np.frombuffer(b"".join(matched), dtype=np.uint8).reshape(-1, len(matched[0]))
    digits = rows[:, number_at]
    powers = 10 ** np.arange(digits.shape[1] - 1, -1, -1, dtype=np.int64)
    numbers: Numbers = (digits - ord("0")).astype(np.int64) @ powers
    real = numbers < _MOST
    names = np.ascontiguousarray(rows[:, run_at])
    runs = names.view(f"S{names.shape[1]}").ravel()
    return {
        bytes(run): numbers[real & (runs == run)]
        for run in ([runs[0]] if bool((runs == runs[0]).all()) else np.unique(runs))
    }


class Tally:
    """How often each sequence number of one run arrived."""

    def __init__(self) -> None:
        self.counts: Counts = np.zeros(1 << 16, dtype=np.uint16)

    def add(self, numbers: Numbers) -> None:
        """Count arrivals."""
        if len(numbers) == 0:
            return
        needed = int(np.max(numbers)) + 1
        if needed > len(self.counts):
            grown = np.zeros(max(needed, 2 * len(self.counts)), dtype=np.uint16)
            grown[: len(self.counts)] = self.counts
            self.counts = grown
        np.add.at(self.counts, numbers, 1)

    @property
    def sent(self) -> int:
        """How many were sent at least: the highest number that arrived, plus one."""
        arrived = np.flatnonzero(self.counts)
        return int(arrived[-1]) + 1 if len(arrived) else 0

    def blocks(self, width: int) -> dict[int, int]:
        """How many different numbers arrived, by the first of each block of `width`."""
        arrived = self.counts[: self.sent] > 0
        if len(arrived) == 0:
            return {}
        firsts = np.arange(0, len(arrived), width)
        totals = np.add.reduceat(arrived.astype(np.int64), firsts)
        return {int(first): int(total) for first, total in zip(firsts, totals, strict=True)}


def check_tallies(
    tallies: Sequence[Sequence[Tally]], sent: SentEvents, expectation: Expectation
) -> DeliveryCheck:
    """Check the tallies of each output against what is expected of it."""
    return joined(
        check_arrivals(arrived(mine, sent), sent, expectation.of_events(output, sent))
        for output, mine in enumerate(tallies)
    )


def arrived(tallies: Iterable[Tally], sent: SentEvents) -> Numbers:
    """How often each number below `sent.end` came."""
    times = np.zeros(sent.end, dtype=np.int64)
    for tally in tallies:
        counted = tally.counts[: sent.end]
        times[: len(counted)] += counted
    return times


def arrived_run(run: bytes, tally: Tally) -> ArrivedRun:
    """What arrived of a run, with its highest number for the last one sent."""
    sent = SentEvents((tally.sent,))
    check = check_arrivals(arrived([tally], sent), sent)
    return ArrivedRun(run.decode(), sent.total - check.lost, check)

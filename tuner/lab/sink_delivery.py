"""The sink's delivery check: which events arrived, by the identity a flood wrote into them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.engine.delivery import check_arrivals
from tuner.engine.numbering import SentEvents

Numbers = NDArray[np.int64]
Counts = NDArray[np.uint16]

_IDENTITY = re.compile(rb"run=[0-9a-f]{8} seq=\d{12}")
_IDENTITY_BYTES = 29
_RUN = slice(4, 12)
_NUMBER = slice(17, 29)
_POWERS = 10 ** np.arange(11, -1, -1, dtype=np.int64)
_MOST = 1 << 29


def identities(documents: Sequence[bytes]) -> dict[bytes, Numbers]:
    """The sequence numbers in the documents, by run; the first identity of each document counts.

    A document without one is left out, and so is a number that no flood reaches.
    """
    matched = [match[0] for match in map(_IDENTITY.search, documents) if match is not None]
    if not matched:
        return {}
    rows = np.frombuffer(b"".join(matched), dtype=np.uint8).reshape(-1, _IDENTITY_BYTES)
    numbers: Numbers = (rows[:, _NUMBER] - ord("0")).astype(np.int64) @ _POWERS
    runs = np.ascontiguousarray(rows[:, _RUN]).view("S8").ravel()
    real = numbers < _MOST
    return {
        bytes(run): numbers[real & (runs == run)]
        for run in ([runs[0]] if bool((runs == runs[0]).all()) else np.unique(runs))
    }


class Tally:
    """How often each sequence number of one run arrived."""

    def __init__(self) -> None:
        self.counts: Counts = np.zeros(1 << 16, dtype=np.uint16)
        self.arrivals = 0

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
        self.arrivals += len(numbers)

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


@dataclass(frozen=True)
class TallyCheck:
    """What became of the events of one run; lists name the first ten numbers.

    `indexed` counts their arrivals, `foreign` all other documents.
    """

    indexed: int
    distinct: int
    lost: int
    duplicated: int
    missing: tuple[int, ...]
    doubled: tuple[int, ...]
    foreign: int


def check_tallies(tallies: Iterable[Tally], documents: int, sent: SentEvents) -> TallyCheck:
    """Check the tallies of one run against what was sent; `documents` is all that arrived."""
    arrived = np.zeros(sent.end, dtype=np.int64)
    for tally in tallies:
        counted = tally.counts[: sent.end]
        arrived[: len(counted)] += counted
    check = check_arrivals(arrived, sent)
    distinct = sent.total - check.lost
    indexed = distinct + check.duplicated
    return TallyCheck(
        **vars(check), indexed=indexed, distinct=distinct, foreign=documents - indexed
    )

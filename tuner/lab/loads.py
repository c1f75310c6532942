"""Machines that make the load of a lab, where that does not come from the lab's own."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol, Self

from tuner.host.usage import CoreTime, GrowingCounts, core_time, cores
from tuner.lab.probe import Pieces, Probe


class SenderProcess(Protocol):
    """The process of a sender, here or elsewhere, told and heard by lines."""

    @property
    def stdout(self) -> Iterable[bytes]:
        """What it says, until it ends."""

    def tell(self, line: bytes, /) -> None:
        """Say a line to it; nothing happens where it has ended."""

    def wait(self, timeout_s: float, /) -> bool:
        """Wait for its end; False when `timeout_s` seconds pass first."""

    def complaint(self) -> str:
        """Why it ended."""

    def end(self) -> None:
        """End it at once."""

    def close(self) -> None:
        """Give back what it took here; nobody may be listening to it any more."""


@dataclass(frozen=True)
class ClockOffset:
    """What to add to a time of the other machine for one of ours, and by how much that may be
    wrong at most, in seconds."""

    offset_s: float = 0.0
    error_s: float = 0.0


@dataclass(frozen=True)
class MachineCounts(GrowingCounts):
    """What a machine counted up to `at_s` of its own clock; times grow only."""

    at_s: float
    cores: float
    machine: CoreTime
    probe: Pieces | None

    def since(self, before: Self) -> Self:
        """What it counted since `before`; `at_s` of that is how long it took, in seconds."""
        return replace(super().since(before), cores=self.cores)


def counts_of(probe: Probe | None) -> MachineCounts:
    """What this machine counted up to now."""
    pieces = None if probe is None else probe.pieces()
    return MachineCounts(time.monotonic(), cores(), core_time(), pieces)


@dataclass(frozen=True)
class LoadCounts(GrowingCounts):
    """What a sender and the machine that it is on have counted."""

    host: MachineCounts
    sender_cpu_s: float
    sender_blocked_s: float


class LoadHost(Protocol):
    """A machine that load comes from."""

    @property
    def name(self) -> str:
        """What it is called."""

    def sender(self) -> SenderProcess:
        """Start a sender there."""

    def clock(self) -> ClockOffset:
        """How its clock stands to ours."""

    def counts(self) -> MachineCounts:
        """What it has counted, as it said last."""

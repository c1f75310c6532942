"""Accounting where the engine is our sink, by identity, or tells counters only; and the faults that
the sink was told to have."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.engine.client import EngineClient
from tuner.engine.path import at, number_at


@dataclass(frozen=True)
class DeliveryCheck:
    """How many events of a flood arrived never, and how many arrivals were repetitions.

    `missing` and `doubled` name the first ten of each by their sequence numbers.
    """

    lost: int
    duplicated: int
    missing: tuple[int, ...]
    doubled: tuple[int, ...]


def check_by_sink(client: EngineClient, pattern: str, sent: int) -> DeliveryCheck:
    """What became of the events 0..sent-1, by their sequence numbers."""
    answer = client.get(f"/_sink/{pattern}/account?sent={sent}")
    return check_of(answer)


def check_by_counters(sent: int, indexed: int, found: int) -> DeliveryCheck:
    """What became of `sent` events whose documents carry no number, in the ceiling tier: `indexed`
    is the engine's index_total, `found` its _count.

    Where the two disagree the worse counts.  A loss that a repetition makes up for is not seen.
    """
    return DeliveryCheck(
        lost=max(0, sent - min(indexed, found)),
        duplicated=max(0, max(indexed, found) - sent),
        missing=(),
        doubled=(),
    )


@dataclass(frozen=True)
class FaultCount:
    """One fault at work: how many documents it met, and how many the sink counted of them."""

    fault: str
    documents: int
    stored: int


def fault_counts(client: EngineClient) -> tuple[FaultCount, ...]:
    """What the sink did wrong so far, as it was told to."""
    found = client.get("/_sink/faults")["strikes"]
    return tuple(
        FaultCount(str(at(one, "fault")), number_at(one, "documents"), number_at(one, "stored"))
        for one in (found if isinstance(found, list) else [])
    )


@dataclass(frozen=True)
class ArrivedRun:
    """What arrived of one flood: how many different events, and their account.

    How much was sent is not known here: the highest number counts as the last event.
    """

    run_id: str
    events: int
    account: DeliveryCheck


@dataclass(frozen=True)
class Arrived:
    """What arrived in one index of the sink: all documents, and each flood by its identity."""

    index: str
    documents: int
    runs: tuple[ArrivedRun, ...]


def arrived(client: EngineClient) -> tuple[Arrived, ...]:
    """Everything that the sink counted, by index."""
    found = client.get("/_sink/books")["indices"]
    return tuple(
        Arrived(
            index=str(at(one, "index")),
            documents=number_at(one, "documents"),
            runs=_runs(at(one, "runs")),
        )
        for one in (found if isinstance(found, list) else [])
    )


def _runs(found: object) -> tuple[ArrivedRun, ...]:
    members = found.items() if isinstance(found, dict) else ()
    return tuple(
        ArrivedRun(str(run_id), number_at(one, "distinct"), check_of(one))
        for run_id, one in members
    )


def check_of(answer: object) -> DeliveryCheck:
    """Read an account that the sink wrote."""
    return DeliveryCheck(
        lost=number_at(answer, "lost"),
        duplicated=number_at(answer, "duplicated"),
        missing=_numbers(at(answer, "missing")),
        doubled=_numbers(at(answer, "doubled")),
    )


def _numbers(found: object) -> tuple[int, ...]:
    items = found if isinstance(found, list) else []
    return tuple(item for item in items if isinstance(item, int))

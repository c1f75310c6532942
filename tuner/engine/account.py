"""Accounting by identity, where the engine is our sink."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.engine.client import EngineClient
from tuner.engine.path import number_at


@dataclass(frozen=True)
class Account:
    """How many events of a flood arrived never, and how many arrivals were repetitions."""

    lost: int
    duplicated: int


def account(client: EngineClient, pattern: str, sent: int) -> Account:
    """What became of the events 0..sent-1, by their sequence numbers."""
    answer = client.get(f"/_sink/{pattern}/account?sent={sent}")
    return Account(lost=number_at(answer, "lost"), duplicated=number_at(answer, "duplicated"))

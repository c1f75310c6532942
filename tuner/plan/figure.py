"""A figure that a plan is made from, with where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Origin(StrEnum):
    """How a figure is known."""

    MEASURED = "measured"
    GIVEN = "given"
    ASSUMED = "assumed"


@dataclass(frozen=True)
class Figure:
    """A value, how it is known, and in which run, by which option or for which reason."""

    value: float
    origin: Origin
    why: str


def given(value: float | None, option: str) -> Figure | None:
    """What an option says; None when it was not used."""
    return None if value is None else Figure(value, Origin.GIVEN, f"by {option}")


def assumed(value: float, why: str) -> Figure:
    """What nobody measured or said."""
    return Figure(value, Origin.ASSUMED, why)


def measured(value: float | None, where: str) -> Figure | None:
    """What was measured; None when it was not."""
    return None if value is None else Figure(value, Origin.MEASURED, where)

"""What a rule about one rsyslog module may look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from tuner.engines.release import Release

S = TypeVar("S")


@dataclass(frozen=True)
class InProfile(Generic[S]):
    """A section of a module, and what the rest of its profile says that such rules depend on.

    Paths of complaints begin at the section.
    """

    section: S
    release: Release
    durable: bool
    rate: int | Literal["max"]
    work_directory: str | None

"""A study: all trials of one search, as data that a report can be made from alone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tuner.measure.measurement import Measurement, Outcome, TrialPlan
from tuner.profile.knobs import Level

SCHEMA = 2

Changes = tuple[tuple[str, Level], ...]
"""What differs from the profile as written: paths with their values, sorted by path."""

BASELINE: Changes = ()


class Phase(Enum):
    """What a trial was for; only `CONFIRM` supports a claim."""

    WARM_UP = "warm-up"
    SEARCH = "search"
    CONFIRM = "confirm"


@dataclass(frozen=True)
class Header:
    """What a search was asked to do, and where it ran.

    `profile_layers` holds the names and texts of the layers that the profile extends.
    """

    schema: int
    tool: str
    started: str
    command: str
    profile_path: str
    profile_text: str
    budget_s: float
    seed: int
    engine: str
    rsyslog: str
    machine: str
    substitutions: tuple[str, ...]
    profile_layers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Trial:
    """One trial: settings and outcome.  `at_s` counts from the start of the command; `pair`
    numbers the pairs of the confirmation."""

    number: int
    phase: Phase
    changes: Changes
    why: str
    plan: TrialPlan
    outcome: Outcome
    at_s: float
    pair: int | None = None

    @property
    def measurement(self) -> Measurement | None:
        """The measurement, or None when the trial failed."""
        return self.outcome if isinstance(self.outcome, Measurement) else None


class Ending(Enum):
    """How a search ended."""

    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True)
class Study:
    """A header and the trials so far."""

    header: Header
    trials: tuple[Trial, ...]
    ending: Ending

    def of(self, phase: Phase) -> tuple[Trial, ...]:
        """The trials of one phase."""
        return tuple(trial for trial in self.trials if trial.phase is phase)

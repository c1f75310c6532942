"""A study: all trials of one search, as data that a report can be made from alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from enum import Enum

from tuner.lab.engine import stores
from tuner.measure.measurement import (
    Failure,
    FailureKind,
    Measurement,
    Outcome,
    PacedMeasurement,
    Result,
    TrialPlan,
)
from tuner.profile.model import Guardrails
from tuner.profile.objective import FigureBound, Objective
from tuner.schema.units import size_bytes
from tuner.space.knob import Knob, Level, level_text

SCHEMA = 8

Changes = tuple[tuple[str, Level], ...]
"""What differs from the profile as written: paths with their values, sorted by path."""

Shares = tuple[tuple[str, float], ...]
"""How many documents an event gives to each output, by its name."""

BASELINE: Changes = ()

OUTAGE_S = 10.0
"""How long the engine hangs, in seconds, where a search is to drain what then waits."""

HERE = ""
"""The name of the machine of a search that has only the one it was started on."""


class Phase(Enum):
    """What a trial was for; only `CONFIRM` supports a claim.

    `FINAL` measures good points again, to choose among them, `EFFECTS` takes the winner apart, to
    see what each of its changes gives.  `CHECK` runs both sides of the confirmation at a fixed
    rate.  `RECIPE` compares the winner in fresh pairs with the recipe that the climb went beyond,
    `FRONT` other points of the front of two figures with the profile as written.
    """

    WARM_UP = "warm-up"
    CALIBRATE = "calibrate"
    SEARCH = "search"
    FINAL = "final"
    EFFECTS = "effects"
    CHECK = "check"
    CONFIRM = "confirm"
    RECIPE = "recipe"
    FRONT = "front"


RECIPE = "recipe: "
"""What the reason of a trial begins with that experts would have tried."""

SCORED = frozenset({Phase.CALIBRATE, Phase.SEARCH, Phase.FINAL, Phase.EFFECTS})
"""The phases whose trials a search learns from."""

PAIRED = frozenset({Phase.CONFIRM, Phase.RECIPE, Phase.FRONT})
"""The phases of fresh pairs."""


@dataclass(frozen=True)
class Limits:
    """What a recommendation keeps: `freshness_p99_s` from when an event was due until a search
    finds it, judged at a fixed rate, and the memory of rsyslogd in bytes (None: what it likes).

    A trial that needs more memory fails; freshness is judged here.
    """

    freshness_p99_s: float
    rss_bytes: int | None = None

    @classmethod
    def of(cls, guardrails: Guardrails) -> Limits:
        """The limits that a profile sets."""
        rss = guardrails.rss_bytes
        return cls(guardrails.freshness_p99_s, None if rss is None else size_bytes(rss))

    def margins(self, outcome: Outcome) -> tuple[tuple[str, float], ...]:
        """Logarithms of limit over value, by the name of the guardrail, of what a trial tells of;
        negative where it is breached."""
        used = outcome.shipper_rss_bytes
        if self.rss_bytes is None or used is None:
            return ()
        return (("rss_bytes", math.log(self.rss_bytes / max(1, used))),)

    def breach(self, measurement: PacedMeasurement) -> str | None:
        """Why a run at a fixed rate is not fresh enough; None when it is, or cannot be seen."""
        if measurement.freshness_s is None or measurement.freshness_s.p99 <= self.freshness_p99_s:
            return None
        return (
            f"freshness: p99 {measurement.freshness_s.p99:.3g} s, freshness_p99_s allows "
            f"{self.freshness_p99_s:g} s"
        )


@dataclass(frozen=True)
class Options:
    """What a search was asked for on the command line, beside its profile, budget and seed.

    `engine` is the kind of lab, `url` an engine that runs already; the `objective` is what it makes
    better, where that asks for a rate with `rate` events a second, if it is given, and for an
    outage of the engine with one of `outage_s`; `actions` are the outputs that it is to tune; with
    `effects` the winner is taken apart before it is confirmed; `allow` names the guarantees that
    were opened; with `repairs` what loses events under the profile's own tier is changed too.
    `at_least` is what a gain must keep of other figures, and `front` another figure of which points
    are confirmed that trade it for what is made better.
    Where the baseline noise is above `refuse_noise`, as a share, the search ends.
    """

    engine: str
    url: str | None = None
    effects: bool = True
    allow: tuple[str, ...] = ()
    repairs: bool = True
    refuse_noise: float | None = None
    actions: tuple[str, ...] = ()
    objective: Objective = Objective.EPS
    rate: float | None = None
    outage_s: float = OUTAGE_S
    at_least: tuple[FigureBound, ...] = ()
    front: Objective | None = None


@dataclass(frozen=True)
class Fingerprint:
    """What rates depend on beside the settings that are searched: the trials of one search agree
    in all of it.  The `heap`, of a profile as written, is empty where it is not known."""

    rsyslog: str
    engine: str
    hardware: str
    workload: str
    heap: str = ""

    def differences(self, now: Fingerprint) -> tuple[str, ...]:
        """What is otherwise now, a phrase for each."""
        return tuple(f"{name} was {a}, is {b}" for name, a, b in self.apart(now))

    def apart(self, other: Fingerprint) -> tuple[tuple[str, str, str], ...]:
        """What differs, by its name, with both values."""
        names = [attribute.name for attribute in fields(self)]
        values = [(name, getattr(self, name), getattr(other, name)) for name in names]
        return tuple((name, a, b) for name, a, b in values if a != b)


@dataclass(frozen=True)
class LabFacts:
    """What a lab is: its engine, its machine, what it changes in the profile, the settings that can
    be searched in it, and what its rates depend on.

    `shares` are the documents that an event gives to each output of the first profile, by its name.
    `untested` is what the traffic does not reach of the profiles; `beside` is what the lab changes
    in the others that are measured there, `restarts` and
    `fixes_node` are those of a `LabEngine`; `cores` is None where the engine has others.
    """

    engine: str
    machine: str
    substitutions: tuple[str, ...]
    turned: tuple[Axis, ...]
    fingerprint: Fingerprint
    beside: tuple[tuple[str, ...], ...] = ()
    untested: tuple[str, ...] = ()
    shares: Shares = ()
    restarts: bool = False
    fixes_node: bool = False
    cores: float | None = None


@dataclass(frozen=True)
class Axis:
    """One knob of the space that was searched: its path, its levels and which the profile has."""

    path: str
    levels: tuple[Level, ...]
    current: Level

    @classmethod
    def of(cls, knob: Knob) -> Axis:
        """What a study keeps of a knob."""
        return cls(knob.path, knob.levels, knob.current)


@dataclass(frozen=True)
class Earlier:
    """A point that an earlier search, in that run directory, ended with."""

    run: str
    changes: Changes


@dataclass(frozen=True)
class Header:
    """What a search was asked to do, and where it ran.

    `profile_layers` holds the names and texts of the layers that the profile extends, and
    `profile_base` those of the files of its base (`SourceFile`), without secrets
    (`secrets.LEFT_OUT`); `limits` its guardrails, and `earlier` what earlier searches recommended,
    to be measured first.  `libraries` are those whose versions decide what it measures next, and
    `shares` are the documents that an event gives to each output, by its name.
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
    profile_base: tuple[tuple[str, str], ...] | None = None
    earlier: tuple[Earlier, ...] = ()
    libraries: tuple[str, ...] = ()
    untested: tuple[str, ...] = ()
    shares: Shares = ()
    limits: Limits = field(kw_only=True)
    options: Options = field(kw_only=True)
    fingerprint: Fingerprint = field(kw_only=True)
    space: tuple[Axis, ...] = field(kw_only=True)

    @property
    def stores(self) -> bool:
        """Whether the engine stored what it was sent."""
        return stores(self.engine)


@dataclass(frozen=True)
class Session:
    """One command that worked on a search: the first, or one that resumed it.

    `run_id` names what it creates in the engine; it took over `taken_over` trials, and at `at_s`
    seconds of the budget it was ready to measure.  `machines` are those that it measures on.
    """

    started: str
    pid: int
    run_id: str
    taken_over: int = 0
    at_s: float = 0.0
    machines: tuple[str, ...] = (HERE,)


@dataclass(frozen=True)
class Asked:
    """A trial that a search asks of a machine.  `pair` numbers the pairs of the confirmation; with
    `per_second` it runs at that fixed rate.  A `repaired` one is of the profile with its repairs,
    as the baseline.  Two that differ in `why` alone are the same."""

    number: int
    phase: Phase
    changes: Changes
    why: str = field(compare=False)
    plan: TrialPlan
    pair: int | None = None
    per_second: float | None = None
    repaired: bool = False
    machine: str = HERE

    @property
    def name(self) -> str:
        """The trial's name in its lab, where a warm-up is -1."""
        return f"t{self.number + 1}"

    def __str__(self) -> str:
        changes = ", ".join(f"{path} = {level_text(level)}" for path, level in self.changes)
        baseline = "with its repairs" if self.repaired else "as written"
        where = f" on {self.machine}" if self.machine else ""
        return f"trial {self.number} ({self.phase.value}{where}: {changes or baseline})"


@dataclass(frozen=True)
class Trial:
    """One trial: settings and outcome, as asked for.  `at_s` and `ended_s` count from the start
    of the command, those of earlier sessions included."""

    number: int
    phase: Phase
    changes: Changes
    why: str
    plan: TrialPlan
    outcome: Result
    at_s: float
    pair: int | None = None
    per_second: float | None = None
    ended_s: float = 0.0
    repaired: bool = False
    machine: str = HERE

    @classmethod
    def of(cls, asked: Asked, outcome: Result, at_s: float, ended_s: float) -> Trial:
        """What became of a trial that was asked for."""
        return cls(**vars(asked), outcome=outcome, at_s=at_s, ended_s=ended_s)

    @property
    def asked(self) -> Asked:
        """What was asked for."""
        return Asked(
            **{attribute.name: getattr(self, attribute.name) for attribute in fields(Asked)}
        )

    @property
    def measurement(self) -> Measurement | None:
        """The measurement, or None when the trial failed."""
        return self.outcome if isinstance(self.outcome, Measurement) else None

    @property
    def lost_as_written(self) -> bool:
        """Whether the profile as written lost or doubled events in it."""
        is_written = self.changes == BASELINE and not self.repaired
        failure = self.outcome
        return is_written and isinstance(failure, Failure) and failure.kind is FailureKind.DELIVERY

    @property
    def is_transient(self) -> bool:
        """Whether the trial failed, and the machine may be the cause rather than the settings; an
        engine that the profile as written does not keep running is such a case."""
        if not isinstance(self.outcome, Failure):
            return False
        is_down = self.outcome.kind is FailureKind.ENGINE_DOWN
        return self.outcome.is_transient or (is_down and self.changes == BASELINE)


@dataclass(frozen=True)
class Note:
    """Something that a reader of the search should know; `at_s` as that of trials."""

    text: str
    at_s: float


Step = Trial | Note
"""What a search yields on its way."""


class Ending(Enum):
    """How a search ended."""

    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True)
class Study:
    """A header, the trials so far, the notes along the way, and the commands that did it.

    The engine's warm-up at the start of a session that resumed is among the trials.  `reason` is
    why a search failed, empty for one that did not.
    """

    header: Header
    trials: tuple[Trial, ...]
    ending: Ending
    notes: tuple[Note, ...] = ()
    sessions: tuple[Session, ...] = ()
    reason: str = ""

    def of(self, phase: Phase) -> tuple[Trial, ...]:
        """The trials of one phase."""
        return tuple(trial for trial in self.trials if trial.phase is phase)


@dataclass(frozen=True)
class Record:
    """A study with what its search needs to continue: how many seconds of its budget are used, the
    points of trials that were `lost` with their machines, and the `deadly` ones, which are not
    measured again: while they were, it ended twice in a row."""

    study: Study
    spent_s: float = 0.0
    lost: tuple[Changes, ...] = ()
    deadly: frozenset[Changes] = frozenset()

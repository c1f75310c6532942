"""What a trial gives: a measurement, or a failure with its reason; and where its time went."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from enum import Enum

from tuner.engine.numbering import NAMED
from tuner.lab.written import WrittenFile
from tuner.measure.bottleneck import Diagnosis
from tuner.measure.speed import Speed
from tuner.measure.stages import Effective
from tuner.profile.objective import Objective
from tuner.reading import table


@dataclass(frozen=True)
class Spent:
    """The seconds of one trial, by what they went into.

    `start_s` until traffic flows: the index created, rsyslogd started, an idle engine awaited.
    `drain_s` goes from the end of the window until everything sent is indexed, `settle_s` is
    refresh, flush, merges and the account, `stop_s` ends rsyslogd and removes what there was.
    Before all that, `restart_s` restarts an engine with other node settings and makes it warm.
    """

    restart_s: float = 0.0
    start_s: float = 0.0
    warm_up_s: float = 0.0
    window_s: float = 0.0
    drain_s: float = 0.0
    settle_s: float = 0.0
    stop_s: float = 0.0

    @property
    def total_s(self) -> float:
        """Total seconds."""
        return float(sum(getattr(self, part.name) for part in fields(self)))


class TrialPart(Enum):
    """A part of a trial, by the field of `Spent` that holds its seconds."""

    START = "start_s"
    WARM_UP = "warm_up_s"
    WINDOW = "window_s"
    DRAIN = "drain_s"
    SETTLE = "settle_s"
    STOP = "stop_s"


class StageClock:
    """Tells of each stage of a trial that began at `since_s`, and counts its seconds."""

    def __init__(
        self,
        tell: Callable[[str], None],
        since_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tell = tell
        self._clock = clock
        self._part = TrialPart.START
        self._since_s = since_s
        self._seconds = dict.fromkeys(TrialPart, 0.0)

    def begin(
        self, part: TrialPart, stage: str | None = None, *, at_s: float | None = None
    ) -> None:
        """The part before ends, now or as the clock said at `at_s`; a `stage` is shown."""
        now_s = self._clock() if at_s is None else at_s
        self._seconds[self._part] += now_s - self._since_s
        self._part, self._since_s = part, now_s
        if stage is not None:
            self._tell(stage)

    @contextlib.contextmanager
    def stopping(self) -> Iterator[None]:
        """What follows the end of this, however it comes, is part of stopping."""
        try:
            yield
        finally:
            self.begin(TrialPart.STOP)

    def spent(self) -> Spent:
        """The seconds up to now."""
        self.begin(self._part)
        return Spent(**{part.value: seconds for part, seconds in self._seconds.items()})


@dataclass(frozen=True)
class TrialPlan:
    """How long a trial lasts, in seconds.

    A window that is not steady is made longer by `extension_s`, once.  It is cut short once it is
    clear that its rate stays below `loses_below` events per second or, with `until_flat`, once the
    engine is warm.  With `awaits_counters` the
    trial goes on until rsyslog's own counters tell of all that was delivered, and merges get longer
    to end.  With `reads_files` it reads what outputs wrote into files, once rsyslogd has ended.
    At a fixed rate it `overloads`: half as much again in the window, as `OverloadPlan` says.  It
    shows what the `objective` counts, with `offered` events a second where that asks for a rate.
    Before the window the engine hangs for `outage_s`, and the window ends once what then waited is
    indexed.
    """

    warm_up_s: float
    window_s: float
    extension_s: float = 0.0
    loses_below: float | None = None
    awaits_counters: bool = False
    reads_files: bool = False
    until_flat: bool = False
    overloads: bool = False
    objective: Objective = Objective.EPS
    offered: float | None = None
    outage_s: float = 0.0


_LEAST_FIGURE = 1e-3

COUNTED = "counted, not identified"
"""What is said of events whose documents have no numbers to tell them apart by."""


@dataclass(frozen=True)
class Delivery:
    """Every event accounted for, after the drain.

    `indexed` is the engine's own counter, `found` what a search counts after a refresh.
    Where events are told apart, `missing` and `doubled` name the first of them by number; else
    they are counted and not `identified`, and one lost beside one doubled looks like none.
    """

    sent: int
    indexed: int
    found: int
    lost: int
    duplicated: int
    missing: tuple[int, ...] = ()
    doubled: tuple[int, ...] = ()
    identified: bool = True

    @property
    def exact(self) -> bool:
        """Whether each event sent is in the engine once."""
        balanced = self.sent == self.indexed == self.found
        return balanced and self.lost == 0 and self.duplicated == 0

    def __str__(self) -> str:
        text = (
            f"{self.sent} sent, {self.indexed} indexed, {self.found} found: "
            f"{self.lost} lost, {self.duplicated} duplicated"
        )
        text += "" if self.identified else f" ({COUNTED})"
        for name, numbers in (("missing", self.missing), ("doubled", self.doubled)):
            if numbers:
                more = ", ..." if len(numbers) == NAMED else ""
                text += f"; {name}: {', '.join(map(str, numbers))}{more}"
        return text


DISTURBED = 0.2
"""The share of the machine that others may use.  Runs of the same settings differed by more than
two while others took 36 to 71 % of two cores."""


class Consequence(Enum):
    """What a doubt about the runs of pairs does to their comparison, the gravest first."""

    QUESTIONS = "puts the claim in question"
    WIDENS = "widens the interval"
    INFORMS = "for information"


_DOUBTS = table("measure/doubts.toml")


class DoubtKind(Enum):
    """Why a measurement should be trusted less."""

    UNSTEADY = "unsteady"
    SENDER_LIMITED = "sender-limited"
    SHORT_WINDOW = "short window"
    FEW_SAMPLES = "few samples"
    PACE_MISSED = "pace missed"
    DISTURBED = "disturbed"
    CARRIED_OVER = "carried over"
    COUNTERS_DISAGREE = "counters disagree"
    CLOCK = "clock trouble"
    UNMERGED = "unmerged"
    CONTENT_DIFFERS = "content differs"

    @property
    def consequence(self) -> Consequence:
        """What it does to a comparison of such runs."""
        return Consequence[str(_DOUBTS[self.value]["consequence"]).upper()]

    @property
    def meaning(self) -> str:
        """What it means."""
        return self.advice.partition(":")[0]

    @property
    def advice(self) -> str:
        """What it means and what to do about it."""
        return str(_DOUBTS[self.value]["advice"])


@dataclass(frozen=True)
class Doubt:
    """One doubt with the figure behind it."""

    kind: DoubtKind
    figure: str

    def __str__(self) -> str:
        return f"{self.kind.value} ({self.figure})"


@dataclass(frozen=True, kw_only=True)
class RunFigures:
    """What saturated and fixed-rate runs have in common: indexed events per second over the
    window (`eps`), the account of every event, CPU in microseconds per event, the peak memory of
    rsyslogd, and why the figures should be trusted less than they look; `spent` itemises the time
    that the run took.  `speed` is how fast the machine was over the window, by the probe; None
    where there was none."""

    eps: float
    delivery: Delivery
    shipper_cpu_us: float
    engine_cpu_us: float
    shipper_rss_bytes: int
    doubts: tuple[Doubt, ...]
    total_s: float = 0.0
    spent: Spent | None = None
    speed: Speed | None = None


@dataclass(frozen=True, kw_only=True)
class Measurement(RunFigures):
    """What a flood achieved.

    `eps` is the rise of the engine's counter over the window with its batch-means standard error,
    `eps_paid` the rate at which the work that was put off past the window would be done as well
    (see `tuner.measure.summary`).  `eps_durable` counts from the first event sent to the end of the
    refresh and flush that follow the drain, `eps_merged` to the end of the merges (None when they
    did not end).  `deferred_cpu_us` is the engine's CPU for work that it put off.  `store_bytes` is
    the size of the primaries after all that; `files` tells of the files that outputs wrote, where
    they were read.  The engine indexed so many `copies` of each document.  It was measured for the
    `objective`; `fresh_p99_s` is when 99 % of the events were searchable, counted from when each
    was due, where it was measured for that.
    """

    eps_se: float
    eps_paid: float
    eps_durable: float
    eps_merged: float | None
    window_s: float
    drain_s: float
    deferred_cpu_us: float
    flood_cpu_us: float
    rejected: int
    segments: int
    store_bytes: int
    verdict: Diagnosis | None = None
    effective: Effective | None = None
    files: tuple[WrittenFile, ...] = ()
    copies: int = 1
    objective: Objective = Objective.EPS
    fresh_p99_s: float | None = None

    @property
    def figure(self) -> float:
        """What the objective counts."""
        return self.figure_of(self.objective)

    def figure_of(self, objective: Objective) -> float:
        """What an objective counts, which may be another one than it was measured for."""
        return float(getattr(self, objective.facts.figure))

    @property
    def score(self) -> float:
        """The same, the higher the better; CPU is counted in ticks, so that it may be 0."""
        return self.objective.facts.turned(max(self.figure, _LEAST_FIGURE))

    @property
    def scored_speed(self) -> Speed | None:
        """How fast the machine was, where that changes the score."""
        return self.speed if self.objective.facts.by_speed else None

    @property
    def cpu_paid_us(self) -> float:
        """The CPU of rsyslogd and the engine per event, with the work that it put off."""
        return self.shipper_cpu_us + self.engine_cpu_paid_us

    @property
    def engine_cpu_paid_us(self) -> float:
        """The engine's CPU per event, with the work that it put off."""
        return self.engine_cpu_us + self.deferred_cpu_us

    @property
    def store_bytes_per_event(self) -> float:
        """Bytes on disk for each event."""
        return self.store_bytes / max(1, self.delivery.indexed)


@dataclass(frozen=True)
class Percentiles:
    """Half, 95 %, 99 % and all of the values are at most so large; each may be wrong by `error_s`
    where two clocks were compared for it."""

    p50: float
    p95: float
    p99: float
    max: float
    error_s: float = 0.0


@dataclass(frozen=True)
class TracePoint:
    """A point of the trace of an open-loop trial: seconds since its start, and messages due, sent
    and indexed by then."""

    at_s: float
    due: int
    sent: int
    indexed: int

    @property
    def behind(self) -> int:
        """Events that were due and are not indexed, wherever they are."""
        return self.due - self.indexed


@dataclass(frozen=True, kw_only=True)
class PacedMeasurement(RunFigures):
    """What became of traffic by a schedule.

    `offered_per_second`, `eps` and `growth_per_second` (of events due and not indexed) are means
    over the judged part.  `freshness_s` counts from when an event was due until a search found it,
    None where that cannot be seen.  `blocked_s` is the time in which every socket was full,
    `spool_bytes` the most that disk queues had on disk.
    """

    offered_per_second: float
    growth_per_second: float
    sent: int
    late: int
    max_late_s: float
    pace_kept: bool
    blocked_s: float
    freshness_s: Percentiles | None
    spool_bytes: int
    effective: Effective
    trace: tuple[TracePoint, ...]

    @property
    def uses_disk(self) -> bool:
        """Whether a disk-assisted queue had to write to disk."""
        return any(queue.most_on_disk for queue in self.effective.queues)


def others_used(runs: Sequence[Measurement]) -> float:
    """The largest share of this machine that others used beside a run."""
    return max((run.verdict.others_cpu for run in runs if run.verdict is not None), default=0.0)


class FailureKind(Enum):
    """Why a trial has no number."""

    PROFILE = "the profile is not valid"
    RSYSLOGD = "rsyslogd"
    DELIVERY = "delivery incomplete"
    STALLED = "no progress"
    ENGINE = "engine"
    ENGINE_DOWN = "engine down"
    GUARDRAIL = "guardrail breached"
    FLOOD = "flood"


@dataclass(frozen=True)
class Failure:
    """A trial that failed: invalid, never slow.

    `delivery` is the account, `verdict` what limited the pipeline and `shipper_rss_bytes` the most
    memory that rsyslogd used, where the trial came so far; `spent` itemises the time that it took.
    One that `lost_engine` ended with the engine, which was started again.
    """

    kind: FailureKind
    reason: str
    sent: int = 0
    indexed: int = 0
    total_s: float = 0.0
    delivery: Delivery | None = None
    verdict: Diagnosis | None = None
    shipper_rss_bytes: int | None = None
    spent: Spent | None = None
    lost_engine: bool = False

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.reason}"

    @classmethod
    def of(cls, kind: FailureKind, reason: str, delivery: Delivery) -> Failure:
        """A failure of a trial that was accounted for."""
        return cls(kind, reason, delivery.sent, delivery.indexed, delivery=delivery)

    @property
    def is_transient(self) -> bool:
        """Whether the machine may be the cause rather than the settings: a repeat may succeed."""
        return self.kind in _TRANSIENT


_TRANSIENT = frozenset({FailureKind.STALLED, FailureKind.FLOOD, FailureKind.ENGINE})

Outcome = Measurement | Failure
Result = Measurement | PacedMeasurement | Failure
"""What a run gives, as fast as it goes or at a rate."""

"""What a diagnosis says: findings with their evidence, what they mean for events, and a way out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from tuner.diagnose.course import CounterCourse, TimeSpan
from tuner.reading import table
from tuner.schema.numerals import counted


class EventEffect(Enum):
    """What a cause does to events, gravest first."""

    LOST = "lost"
    LATE = "late"
    AT_RISK = "at risk"

    @property
    def rank(self) -> int:
        """Its place among all, the gravest is 0."""
        return list(EventEffect).index(self)


class Certainty(Enum):
    """How sure a cause is: the counters prove it, leave hardly another, or one of several."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


class Cause(Enum):
    """What can be wrong, as the counters show it."""

    QUEUE_FULL = "queue full: events discarded"
    LESS_SEVERE = "events discarded by severity"
    NOT_WRITTEN = "queue files cannot be written"
    LEFT_IN_FILES = "queue files that are not read"
    LEFT_IN_MEMORY = "restart with events in memory"
    GIVEN_UP = "output gives up on events"
    REFUSED_BULKS = "engine refuses bulks"
    REFUSED_DOCUMENTS = "engine refuses documents"
    RATE_LIMIT = "rate limit drops events"
    UDP_BUFFER = "UDP receive buffer overflows"
    NOT_ALLOWED = "senders not allowed"
    SENT_AGAIN = "events sent again one by one"
    UNREACHABLE = "receiver not reachable"
    STANDS_STILL = "queue stands still"
    SLOW_OUTPUT = "output slower than input"
    SLOW_WORKERS = "workers of a queue slower than input"
    SLOW_NAMES = "names of senders or an output are slow"
    DIRECT_OUTPUT = "slow output without a queue of its own"
    DISK_QUEUE = "disk queue slower than input"
    SENDERS_SLOWED = "senders slowed down"
    BACKLOG = "events wait in a queue"
    ON_DISK = "events wait on disk"
    FEW_WORKERS = "workers that never start"
    SMALL_BATCHES = "batches smaller than configured"
    DYNAFILES = "dynaFile cache too small"
    REBINDS = "output reconnects all the time"
    RESTARTS = "rsyslogd starts again and again"
    MEMORY = "memory that grows"
    IDLE_INPUT = "input idle although senders are connected"
    STOPPED_FILE = "file that imfile stopped at"
    OPEN_FILES = "open files at their limit"
    COUNTERS_DELAYED = "counters delayed or lost"


@dataclass(frozen=True)
class Events:
    """How many events, at least and at most; None where the counters do not say."""

    least: int | None = None
    most: int | None = None

    @property
    def text(self) -> str:
        """`6,165 events`, `at least 40 events`, `6 to 348 events`; empty where it is not known."""
        least, most = self.least or 0, self.most
        if most is None:
            return f"at least {counted(least, 'event')}" if least else ""
        if least == most:
            return counted(most, "event")
        return f"{least:,} to {most:,} events" if least else f"up to {counted(most, 'event')}"


@dataclass(frozen=True)
class WayOut:
    """What to do: in words, with the parameter to change where there is one, as the configuration
    names it, and the lint rule that explains it."""

    text: str
    parameter: str = ""
    code: str = ""


@dataclass(frozen=True)
class ProductionFinding:
    """One thing that is wrong: where, from when to when (seconds since 1970), how many events, the
    figures that show it, why it happens, what it means, and what to do."""

    cause: Cause
    where: str
    effect: EventEffect
    events: Events
    span: TimeSpan
    evidence: str
    why: str
    meaning: str
    way_out: WayOut
    certainty: Certainty
    host: str = ""

    @property
    def headline(self) -> str:
        """What is wrong and where, what it does to how many events, and how sure that is."""
        effect = f"{self.events.text} {self.effect.value}".lstrip()
        return f"{self.cause.value}: {self.where} ({effect}; {self.certainty.value})"

    def as_certain_as(self, certainty: Certainty) -> ProductionFinding:
        """The same, as sure as that."""
        return replace(self, certainty=certainty)


def finding(
    cause: Cause,
    where: str,
    span: TimeSpan,
    evidence: str,
    events: Events | None = None,
    case: str = "",
    **values: object,
) -> ProductionFinding:
    """A finding in the words that findings.toml has for the cause, or for this case of it, with
    these values in them."""
    general = table("diagnose/findings.toml")[cause.name.lower()]
    words = general | general.get(case, {})
    why, meaning, way_out, parameter = (
        words.get(key, "").format(**values) for key in ("why", "meaning", "way_out", "parameter")
    )
    return ProductionFinding(
        cause,
        where,
        EventEffect(words["effect"]),
        events or Events(),
        span,
        evidence,
        why,
        meaning,
        WayOut(way_out, parameter, words.get("code", "")),
        Certainty(words.get("certainty", "certain")),
    )


def exactly(course: CounterCourse, lost: int) -> Events:
    """As many as were counted one by one; at least so many where rsyslogd began anew, as what a
    process counted after its last round is nowhere."""
    return Events(lost, None if course.starts else lost)

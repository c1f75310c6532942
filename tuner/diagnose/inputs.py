"""What comes in: events by input, sessions that are open, and what is wrong there; datagrams that
only the kernel of the host saw among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from tuner.diagnose.course import CounterCourse, StatsSeries
from tuner.diagnose.finding import Cause, Events, ProductionFinding, finding
from tuner.diagnose.queues import QueueCourse, runs_where

# How rsyslog calls modules that are inputs.
_INPUT = "im"
# imfile has an object for each file, in 8.2606 and later; it counts empty lines, of which it makes
# no events (enqLine() of imfile.c).
_LINES = "lines.processed"
# imbeats has a name of its own for what it submits.
_EVENTS = ("submitted", "events.submitted", _LINES)
# Each worker of an input holds up to 1024 events back before it hands them over
# (CONF_NUM_MULTISUB); imptcp has 3 and imtcp 5 (wrkrMax, and the one that accepts).
_HELD_BACK, _HELD_SHARE = 5 * 1024, 0.02
# What a worker of imudp reads at once is 32 (batchSize), or some more where it is set.
_DATAGRAMS = 128
# An input that is silent so long, in so many steps, after it was busy in nearly all of as much
# time, and missed so many events by what came before.
_SILENT_S, _SILENT_STEPS, _MISSED = 300.0, 5, 1000
_BUSY_PART = 0.95


@dataclass(frozen=True)
class InputCourse:
    """What came in by one input, or from one file of imfile: events step by step."""

    series: StatsSeries
    counter: str

    @property
    def name(self) -> str:
        """What the counters call it."""
        return self.series.name

    @property
    def origin(self) -> str:
        """Its module."""
        return self.series.origin

    @property
    def events(self) -> tuple[float, ...]:
        """How many came, step by step."""
        return self.series.growth[self.counter]

    @property
    def counted(self) -> int:
        """How many came since rsyslogd began."""
        return self.series.in_all(self.counter)


def inputs_of(course: CounterCourse) -> tuple[InputCourse, ...]:
    """The inputs that count the events they submit."""
    return tuple(
        InputCourse(series, counter)
        for series in course.objects.values()
        for counter in _EVENTS
        if series.origin.startswith(_INPUT) and counter in series.growth
    )


def open_sessions(course: CounterCourse, series: StatsSeries) -> tuple[float, ...]:
    """How many sessions an input had open after each step, as far as its counters show: those that
    were open before the log began show when they close, or by counts that nothing resets.  Empty
    where it counts none."""
    growth = series.growth
    if "sessions.opened" not in growth or "sessions.closed" not in growth:
        return ()
    before = {} if course.has_resets else series.before
    first = float(before.get("sessions.opened", 0) - before.get("sessions.closed", 0))
    changes = zip(growth["sessions.opened"], growth["sessions.closed"], course.steps, strict=True)
    held = list(accumulate(
        changes,
        lambda now, change: (0.0 if change[2].has_start else now) + change[0] - change[1],
        initial=first,
    ))  # fmt: skip
    missed = min(0.0, *held)
    return tuple(count - missed for count in held[1:])


def input_findings(
    course: CounterCourse, queues: Sequence[QueueCourse], dropped: int
) -> Iterator[ProductionFinding]:
    """All that the counters say of inputs, with all queues; `dropped` events were thrown away by
    counters that say so themselves."""
    inputs = inputs_of(course)
    exact = [source for source in inputs if source.counter != _LINES]
    entries = [queue for queue in queues if queue.action is None]
    if exact and entries:
        yield from _before_queues(course, exact, entries, dropped)
    yield from _not_submitted(course)
    for source in inputs:
        yield from _silent(course, source, inputs, entries)


def _under_way(course: CounterCourse, held_back: int, *counts: tuple[float, ...]) -> int:
    """How many events may be on their way from one count to another when a round reads both: none
    where nothing came in the last step; what a process held at its end is counted nowhere."""
    is_quiet = not course.is_single and not any(growth[-1] for growth in counts)
    return held_back * (len(course.starts) + (not is_quiet))


def _before_queues(
    course: CounterCourse,
    inputs: Sequence[InputCourse],
    entries: Sequence[QueueCourse],
    dropped: int,
) -> Iterator[ProductionFinding]:
    """Events that inputs counted and no queue ever saw: a rate limit drops them in between, and
    imuxsock of 8.2302 counts them nowhere else.

    All counts begin at 0 with rsyslogd, and what queues count has come by an input, or is
    rsyslogd's own: so many are missing at least.
    """
    if course.has_resets and any(queue.series.absent for queue in entries):
        # What the lines said that are not there is in no later one.
        return
    came = tuple(map(sum, zip(*(source.events for source in inputs), strict=True)))
    counted = sum(source.counted for source in inputs)
    queued = sum(queue.series.in_all("enqueued") for queue in entries)
    missing = counted - queued - dropped
    unseen = max(queue.series.unseen for queue in entries)
    queued_by_step = (queue.series.growth["enqueued"] for queue in entries)
    slack = _under_way(course, _HELD_BACK, came, *queued_by_step)
    slack += round(sum(came[len(came) - unseen :]))
    if missing <= max(slack, _HELD_SHARE * counted):
        return
    yield finding(
        Cause.RATE_LIMIT,
        ", ".join(source.name for source in inputs[:3]),
        course.when(came),
        f"inputs counted {counted:,} events, and the queues behind them {queued:,}",
        Events(missing - slack),
        case="before_queues",
    )


def _not_submitted(course: CounterCourse) -> Iterator[ProductionFinding]:
    """Datagrams that imudp received and did not submit (processPacket() of imudp.c): its rate limit
    dropped them, or their sender is not allowed, of which `disallowed` counts only the first in a
    row."""
    objects = course.objects_of("imudp")
    received, submitted, disallowed = (
        sum(series.in_all(counter) for series in objects)
        for counter in ("msgs.received", "submitted", "disallowed")
    )
    listeners = ", ".join(series.name for series in objects if "submitted" in series.growth)
    if not received or not listeners:
        return
    growths = [
        series.growth[counter] for series in objects for counter in ("msgs.received", "submitted")
    ]
    workers = sum("msgs.received" in series.growth for series in objects)
    missing, slack = received - submitted, _under_way(course, workers * _DATAGRAMS, *growths)
    if disallowed:
        most = max(missing, disallowed)
        refusing = [series for series in objects if "disallowed" in series.growth]
        yield finding(
            Cause.NOT_ALLOWED,
            ", ".join(series.name for series in refusing),
            course.when(*(series.growth["disallowed"] for series in refusing)),
            f"disallowed counted {disallowed:,} events, the first of each sender in a row; "
            f"{most:,} were received and not submitted",
            Events(disallowed, most),
        )
    elif missing > slack:
        yield finding(
            Cause.RATE_LIMIT,
            listeners,
            course.when(*growths),
            f"imudp received {received:,} datagrams (msgs.received) and submitted {submitted:,}",
            Events(missing - slack, missing),
            case="imudp",
        )


def _silent(
    course: CounterCourse,
    source: InputCourse,
    inputs: Sequence[InputCourse],
    entries: Sequence[QueueCourse],
) -> Iterator[ProductionFinding]:
    """An input that was always busy and stopped, although its senders are still connected; or a
    file that imfile reads no more, while other inputs go on.  Where events waited in a queue of
    inputs meanwhile, that held it up."""
    steps = _silence(course, source.events)
    if not steps or any({*steps} & {*queue.late_steps} for queue in entries):
        return
    before = range(steps[0])
    rate = sum(source.events[n] for n in before) / course.lasted(before)
    evidence = (
        f"{source.name} had no event for {course.lasted(steps):,.0f} s, before {rate:,.0f} a second"
    )
    if source.origin == "imfile":
        others = (other for other in inputs if other is not source)
        if any(other.events[n] for other in others for n in steps):
            evidence += "; other inputs went on"
            yield finding(Cause.STOPPED_FILE, source.name, course.span(steps), evidence)
        return
    sessions = open_sessions(course, source.series)
    still_open = min((sessions[n] for n in steps), default=0.0) if sessions else 0.0
    if still_open > 0:
        evidence += f", while {still_open:,.0f} sessions were open"
        received = source.series.growth["bytes.received"]
        arrived = sum(received[n] for n in steps)
        if arrived:
            evidence += f"; {arrived:,.0f} bytes came"
        case = "framing" if arrived else ""
        yield finding(Cause.IDLE_INPUT, source.name, course.span(steps), evidence, case=case)


def _silence(course: CounterCourse, events: Sequence[float]) -> Sequence[int]:
    """The numbers of the steps of the longest silence after an input was always busy; empty where
    it is not long enough, or not unusual."""
    steps = max(runs_where([not count for count in events]), key=course.lasted, default=[])
    silent_s = course.lasted(steps)
    if len(steps) < _SILENT_STEPS or silent_s < _SILENT_S:
        return ()
    first = next((n for n, count in enumerate(events) if count), steps[0])
    busy = range(first, steps[0])
    before_s = course.lasted(busy)
    if before_s < silent_s and before_s < 10 * _SILENT_S:
        return ()
    if course.lasted(n for n in busy if events[n]) < _BUSY_PART * before_s:
        return ()
    missed = sum(events[n] for n in busy) / before_s * silent_s
    return steps if missed >= _MISSED else ()


@dataclass(frozen=True)
class KernelCounts:
    """What the kernel counted from `begin` to `end` (seconds since 1970): datagrams that it dropped
    before imudp read them, by port; and how many files and sockets rsyslogd may have open, None for
    any number."""

    begin: float
    end: float
    udp_drops: Mapping[int, int] = field(default_factory=dict)
    file_limit: int | None = None

    def since(self, first: KernelCounts) -> KernelCounts:
        """What was counted since then; sockets that are newer count from 0."""
        before = first.udp_drops
        drops = {
            port: count - before.get(port, 0) if count >= before.get(port, 0) else count
            for port, count in self.udp_drops.items()
        }
        return KernelCounts(first.end, self.end, drops, self.file_limit)


def kernel_findings(counts: KernelCounts) -> Iterator[ProductionFinding]:
    """Datagrams that a receive buffer had no room for."""
    for port, dropped in counts.udp_drops.items():
        if dropped:
            yield finding(
                Cause.UDP_BUFFER,
                f"UDP port {port}",
                (counts.begin, counts.end),
                f"/proc/net/udp counts {dropped:,} drops of the sockets on port {port}",
                Events(dropped, dropped),
            )

"""What counters say of rsyslogd itself: what it discards, limits, how it runs, and how its counters
came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tuner.diagnose.course import CounterCourse, StatsSeries
from tuner.diagnose.finding import (
    Cause,
    Certainty,
    EventEffect,
    Events,
    ProductionFinding,
    WayOut,
    nonzero,
)
from tuner.diagnose.queues import QueueCourse


class _Drop(NamedTuple):
    """A counter of events that an input or output throws away."""

    origin: str
    counter: str
    cause: Cause
    why: str
    way: WayOut


_LIMIT = "more came than its rate limit lets through"
_DROPS = (
    _Drop("imuxsock", "ratelimit.discarded", Cause.RATE_LIMIT, _LIMIT,
          WayOut("raise the burst or set the interval to 0", "rateLimit.burst", "RT224")),
    _Drop("imjournal", "ratelimit_discarded_in_interval", Cause.RATE_LIMIT, _LIMIT,
          WayOut("raise the burst or set the interval to 0", "rateLimit.burst", "RT224")),
    _Drop("core.action", "ratelimit.dropped", Cause.RATE_LIMIT, _LIMIT,
          WayOut("raise or remove the limit", "action.ratelimit.name", "RT236")),
    _Drop("imudp", "disallowed", Cause.NOT_ALLOWED,
          "they came from senders that $AllowedSender does not name",
          WayOut("add the senders, or find out who they are", "$AllowedSender")),
)  # fmt: skip
# Starts that are a loop, not maintenance: so many, on average so often.
_STARTS, _START_EVERY_S = 3, 3600.0
# dynaFile: an event in so many finds its file closed, and so many must be looked up.
_MISSED, _REQUESTS = 0.1, 100
# Soft limits that distributions and systemd units set; within this of one.
_FILE_LIMITS = (1024, 4096, 16384)
_NEAR_FILES = 4
_LATE_ROUNDS = 0.05
_INPUTS = ("imtcp", "imptcp", "imudp", "imrelp", "imfile", "imuxsock", "imjournal", "imkafka")
# Inputs hold up to 1024 events back before they hand them over.
_HELD_BACK, _HELD_SHARE = 2048, 0.02


def inputs_of(course: CounterCourse) -> tuple[StatsSeries, ...]:
    """The inputs that count the events they submit."""
    every = (one for origin in _INPUTS for one in course.of(origin))
    return tuple(one for one in every if "submitted" in one.growth)


def collector_findings(
    course: CounterCourse, every: Sequence[QueueCourse]
) -> Iterator[ProductionFinding]:
    """All that the counters say of rsyslogd itself, with all its queues."""
    for one in every:
        yield from _full(course, one)
        yield from _less_severe(course, one)
    for drop in _DROPS:
        for series in course.of(drop.origin):
            yield from _dropped(course, series, drop)
    yield from _before_queues(course, every)
    for series in course.of("omfile"):
        yield from _dynafiles(course, series)
    yield from _restarts(course, every)
    yield from _open_files(course)
    yield from _delayed(course)


def _full(course: CounterCourse, one: QueueCourse) -> Iterator[ProductionFinding]:
    lost = one.series.total("discarded.full")
    if not lost:
        return
    waits = one.series.total("full")
    of = f"for action {one.action}" if one.action is not None else "from inputs"
    timeout = None if one.settings is None else one.settings.queue.timeout_enqueue
    limit = "" if timeout is None else f" of {timeout:,} ms"
    why = f"no room came within queue.timeoutEnqueue{limit}"
    if waits == lost and timeout is None:
        why += ", which is 0 or close to it: not one event got in later"
    room = f" of {one.room:,}" if one.room else ""
    yield ProductionFinding(
        Cause.QUEUE_FULL,
        one.name,
        EventEffect.LOST,
        Events(lost, lost),
        nonzero(course, one.discarded),
        f"discarded.full counted {lost:,} of {waits:,} times that {one.name} was full; it held up "
        f"to {one.highest:,}{room} events",
        f"events {of} found the queue full, and {why}",
        "these events are lost; nothing else has them",
        WayOut(
            "86400000 makes what feeds the queue wait instead of discarding; what is behind the "
            "queue must become faster, or the queue larger, or disk-assisted (queue.filename)",
            one.parameter("timeoutEnqueue"), "RT113" if one.action is not None else "RT233",
        ),
    )  # fmt: skip


def _less_severe(course: CounterCourse, one: QueueCourse) -> Iterator[ProductionFinding]:
    lost = one.series.total("discarded.nf")
    if not lost:
        return
    yield ProductionFinding(
        Cause.LESS_SEVERE,
        one.name,
        EventEffect.LOST,
        Events(lost, lost),
        nonzero(course, one.series.growth["discarded.nf"]),
        f"discarded.nf counted {lost:,} events; {one.name} held up to {one.highest:,}",
        "above discardMark the queue throws away what is no more severe than discardSeverity, as "
        "it is configured to",
        "these events are lost; more severe ones were kept",
        WayOut(
            "set discardSeverity to 8, which discards none, and remove the cause of the backlog",
            one.parameter("discardSeverity"), "RT114",
        ),
    )  # fmt: skip


def _dropped(
    course: CounterCourse, series: StatsSeries, drop: _Drop
) -> Iterator[ProductionFinding]:
    lost = series.total(drop.counter)
    if lost:
        yield ProductionFinding(
            drop.cause,
            series.name,
            EventEffect.LOST,
            Events(lost, lost),
            nonzero(course, series.growth[drop.counter]),
            f"{drop.counter} counted {lost:,} events"
            + (f", {series.total('submitted'):,} got through" if series.total("submitted") else ""),
            drop.why,
            "these events are lost",
            drop.way,
        )


def _before_queues(
    course: CounterCourse, every: Sequence[QueueCourse]
) -> Iterator[ProductionFinding]:
    """Events that inputs counted and no queue ever saw: a rate limit drops them in between, and
    imuxsock of 8.2302 counts them nowhere else."""
    inputs = inputs_of(course)
    entries = [one for one in every if one.action is None]
    if not inputs or not entries:
        return
    came = [sum(one.growth["submitted"][n] for one in inputs) for n in range(len(course.steps))]
    queued = sum(one.series.total("enqueued") for one in entries)
    told = sum(one.total(drop.counter) for drop in _DROPS for one in course.of(drop.origin))
    missing = round(sum(came)) - queued - told
    if missing <= max(_HELD_BACK, _HELD_SHARE * sum(came)):
        return
    is_quiet = not came[0] and not came[-1]
    names = ", ".join(one.name for one in inputs[:3])
    yield ProductionFinding(
        Cause.RATE_LIMIT,
        names,
        EventEffect.LOST,
        Events(missing if is_quiet else missing - _HELD_BACK, missing),
        nonzero(course, tuple(came)),
        f"inputs counted {sum(came):,.0f} events, and the queues behind them {queued:,}",
        "a rate limit of the input drops events after they are counted; or a ruleset has a Direct "
        "queue, which counts nothing",
        "these events are lost, unless a Direct queue took them",
        WayOut(
            "raise the burst, or set the interval to 0, which lets all through",
            "rateLimit.burst", "RT224",
        ),
        Certainty.LIKELY,
    )  # fmt: skip


def _dynafiles(course: CounterCourse, series: StatsSeries) -> Iterator[ProductionFinding]:
    """More files at a time than the cache of dynaFile holds."""
    requests = series.total("requests")
    missed, evicted = series.total("missed"), series.total("evicted")
    if requests < _REQUESTS or missed < _MISSED * requests or not evicted:
        return
    held = series.highest("maxused")
    yield ProductionFinding(
        Cause.DYNAFILES,
        series.name,
        EventEffect.AT_RISK,
        Events(),
        nonzero(course, series.growth["missed"]),
        f"{missed:,} of {requests:,} events found their file closed ({missed / requests:.0%}); "
        f"{evicted:,} files were closed to make room, {held:,} fit",
        "events alternate between more files than dynaFileCacheSize keeps open",
        "each miss closes one file and opens another: the output is many times slower",
        WayOut("set it above the number of files in use at a time", "dynaFileCacheSize", "RT262"),
    )


def _restarts(course: CounterCourse, every: Sequence[QueueCourse]) -> Iterator[ProductionFinding]:
    number = len(course.starts)
    if number < _STARTS or course.seconds / number > _START_EVERY_S:
        return
    steps = [n for n, step in enumerate(course.steps) if step.has_start and n]
    held = sum(one.size[n - 1] for one in every for n in steps)
    yield ProductionFinding(
        Cause.RESTARTS,
        "rsyslogd",
        EventEffect.AT_RISK,
        Events(0, round(held)) if held else Events(),
        (course.starts[0], course.starts[-1]),
        f"rsyslogd began anew {number:,} times, every {course.seconds / number:,.0f} s; its queues "
        f"held {held:,.0f} events just before, in all",
        "it crashes, is killed, or something restarts it: the counters do not say which",
        "what stands in queues in memory when it is killed is lost; senders connect again",
        WayOut(
            "see `journalctl -u rsyslog` and the kernel's log (out of memory) at these times",
            "queue.timeoutShutdown",
            "RT115",
        ),
    )


def _open_files(course: CounterCourse) -> Iterator[ProductionFinding]:
    usage = course.objects.get(("impstats", "resource-usage"))
    most = 0 if usage is None else usage.highest("openfiles")
    limit = next((one for one in _FILE_LIMITS if one - _NEAR_FILES <= most <= one), None)
    if usage is None or limit is None:
        return
    steps = [n for n, held in enumerate(usage.peak["openfiles"]) if held >= limit - _NEAR_FILES]
    yield ProductionFinding(
        Cause.OPEN_FILES,
        "rsyslogd",
        EventEffect.AT_RISK,
        Events(),
        course.span(steps),
        f"{most:,} files and sockets were open, and {limit:,} is a usual limit",
        "every connection and every file of omfile takes one; at the limit new ones fail",
        "senders cannot connect, and files cannot be opened",
        WayOut("raise LimitNOFILE of the service, or global maxOpenFiles", "$MaxOpenFiles"),
        Certainty.POSSIBLE,
    )


def _delayed(course: CounterCourse) -> Iterator[ProductionFinding]:
    """Rounds that came late or in part: impstats itself had to wait."""
    gaps = course.gaps
    is_late = gaps.late >= 3 and gaps.late > _LATE_ROUNDS * gaps.rounds
    is_cut = gaps.cut >= 3 and gaps.cut > _LATE_ROUNDS * gaps.rounds
    if not is_late and not is_cut:
        return
    begin, end = course.steps[0].begin, course.steps[-1].end
    yield ProductionFinding(
        Cause.COUNTERS_DELAYED,
        "impstats",
        EventEffect.AT_RISK,
        Events(),
        (begin, end),
        f"{gaps.late:,} of {gaps.rounds:,} rounds came late (every {gaps.interval_s:,.0f} s is "
        f"usual, the longest gap was {gaps.longest_s:,.0f} s), {gaps.cut:,} are incomplete",
        "counters that are events wait in the queue that they describe, and are dropped when it "
        "is full; or rsyslogd had no CPU time",
        "figures are missing when they are needed most",
        WayOut("write the counters to a file (log.file), not as events", "log.syslog", "RT141"),
        Certainty.LIKELY,
    )

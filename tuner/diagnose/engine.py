"""What counters say of the engine and the outputs to it: refused, not reachable, sent again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.diagnose.course import CounterCourse, StatsSeries
from tuner.diagnose.finding import (
    Cause,
    Certainty,
    EventEffect,
    Events,
    ProductionFinding,
    WayOut,
    before_the_log,
    counted_when,
    nonzero,
)
from tuner.diagnose.given_up import FAILURES, given_up, refused_posts, taken, to_engine
from tuner.diagnose.queues import QueueCourse
from tuner.diagnose.settings import ENGINE_OUTPUT, Settings, called
from tuner.modules.refused_bulks import WAITS_ON_ERRORS
from tuner.schema.numerals import times
from tuner.script.counted import queue_of_action

_REBINDS_S = 10.0
# Batches that are this part of what is configured, while more events wait; fewer say nothing.
_SMALL, _BATCHES = 0.1, 10


def engine_findings(
    course: CounterCourse, settings: Settings, every: Sequence[QueueCourse]
) -> Iterator[ProductionFinding]:
    """All that the counters say of outputs and of the engine, with all queues."""
    engine = course.objects.get((ENGINE_OUTPUT, ENGINE_OUTPUT))
    for action in course.of("core.action"):
        yield from given_up(course, settings, action, every, engine)
    yield from _unreachable(course, settings, every)
    yield from _small_batches(course, every)
    for series in course.of("omhttp"):
        yield from refused_posts(course, series)
    for series in course.of("omfwd"):
        yield from _reconnects(
            course, series, "num.connects",
            "rebindInterval is small, or the receiver closes connections",
            WayOut("set it so that a connection lives for minutes, or to 0", "rebindInterval"),
        )  # fmt: skip
    if engine is None:
        return
    yield from _refused_bulks(course, settings, engine, every)
    yield from _refused_documents(course, engine)
    yield from _sent_again(course, settings, engine, every)
    yield from _reconnects(
        course, engine, "rebinds",
        "rebindinterval counts requests, and it is small",
        WayOut("set it so that a connection lives for minutes, or to -1", "rebindinterval"),
    )  # fmt: skip


def _refused_bulks(
    course: CounterCourse, settings: Settings, engine: StatsSeries, every: Sequence[QueueCourse]
) -> Iterator[ProductionFinding]:
    """F1: whole bulks that the engine refused, or documents in them, without `retryfailures`."""
    bulks = engine.in_all("failed.es")
    if not bulks:
        return
    growth = engine.growth["failed.es"]
    steps = [n for n, grown in enumerate(growth) if grown]
    submitted = engine.growth.get("submitted", growth)
    # What was submitted in these steps and just before is all that those bulks can have held, and
    # none of them more than ever stood in a queue at once.
    around = {n + by for n in steps for by in (-1, 0) if n + by >= 0}
    sent = round(sum(submitted[n] for n in around))
    if engine.before.get("failed.es") or 0 in steps:
        sent += engine.before.get("submitted", 0)
    largest = max((max(one.highest, one.highest_on_disk) for one in every), default=sent)
    sending = [n for n, output in settings.outputs.items() if output.module == ENGINE_OUTPUT]
    queues = [settings.queues.get(queue_of_action(name)) for name in sending]
    batches = [largest if one is None else one.queue.dequeue_batch_size or 0 for one in queues]
    most = min(sent, bulks * min(largest, max(batches, default=largest)))
    waits = settings.release is not None and settings.release >= WAITS_ON_ERRORS
    since = "; of this release only 400, 404 and 413 do that" if waits else ""
    files = [one.errorfile for one in settings.outputs.values()
             if one.module == ENGINE_OUTPUT and one.errorfile]  # fmt: skip
    reason = (
        f"read {', '.join(files)}: it has what was refused, and the engine's reason; then"
        if files
        else "see the reason in errorfile, or set it first where it is not set, and"
    )
    yield ProductionFinding(
        Cause.REFUSED_BULKS,
        ENGINE_OUTPUT,
        EventEffect.LOST,
        Events(bulks, max(bulks, most)),
        counted_when(course, engine, "failed.es"),
        f"failed.es counted {bulks:,} bulks with an error; {most:,} events at most were in them"
        f"{before_the_log(course, engine, 'failed.es')}",
        "the engine answered with an error for the whole bulk (429, 413, 400, 503) or for "
        f"documents in it, and rsyslog drops what is refused{since}; 409 for a document that is "
        "there already is no loss",
        "what was refused is not in the engine; rsyslog counts neither the events nor the reason"
        + (", the error file has both" if files else ""),
        WayOut(
            f"{reason} set retryfailures with a ruleset to send again what was refused for the "
            "time being; whole bulks are dropped by every release before 8.2606",
            "retryfailures", "RT240",
        ),
        Certainty.LIKELY,
    )  # fmt: skip


def _refused_documents(course: CounterCourse, engine: StatsSeries) -> Iterator[ProductionFinding]:
    """With `retryfailures`, rsyslog counts what the engine answered for each document."""
    kinds = ("response.badargument", "response.bad", "response.other")
    counts = {name: engine.in_all(name) for name in kinds if engine.in_all(name)}
    if counts:
        yield ProductionFinding(
            Cause.REFUSED_DOCUMENTS,
            ENGINE_OUTPUT,
            EventEffect.LOST,
            Events(0, sum(counts.values())),
            counted_when(course, engine, *counts),
            ", ".join(f"{name} {count:,}" for name, count in counts.items())
            + before_the_log(course, engine, *counts),
            "the engine will never take these documents: a field does not fit the mapping, or the "
            "JSON is not valid",
            "they are lost unless the retry ruleset writes them to a file",
            WayOut(
                "read one of them and its error in the file of the retry ruleset; fix mapping or "
                "template", "retryfailures", "RT240",
            ),
        )  # fmt: skip
    rejected = engine.in_all("response.bulkrejection")
    if rejected:
        yield ProductionFinding(
            Cause.REFUSED_DOCUMENTS,
            ENGINE_OUTPUT,
            EventEffect.LATE,
            Events(rejected),
            counted_when(course, engine, "response.bulkrejection"),
            f"response.bulkrejection {rejected:,}",
            "the engine answered 429: more came than it could index",
            "these documents go through the retry ruleset, which must send them again",
            WayOut(
                "fewer or smaller bulks at once, or more indexing capacity", "queue.workerThreads",
                "RT215",
            ),
        )  # fmt: skip


def _unreachable(
    course: CounterCourse, settings: Settings, every: Sequence[QueueCourse]
) -> Iterator[ProductionFinding]:
    """Requests to the engine that failed, and outputs that rsyslog suspended."""
    engine = course.objects.get((ENGINE_OUTPUT, ENGINE_OUTPUT))
    failures = {} if engine is None else {name: engine.in_all(name) for name in FAILURES}
    told = {name: count for name, count in failures.items() if count}
    suspended = [one for one in course.of("core.action") if one.in_all("suspended")]
    if told and engine is not None:
        names = to_engine(course, settings) or []
        own = [one for one in suspended if one.name in names]
        yield _away(course, engine, list(told), own, _stopped(course, names, every))
        suspended = [one for one in suspended if one not in own]
    for one in suspended:
        yield _away(course, one, [], [one], "")


def _stopped(course: CounterCourse, names: Sequence[str], every: Sequence[QueueCourse]) -> str:
    """What stands still with outputs that wait and have no queue of their own."""
    queued = {one.action for one in every}
    direct = [name for name in names if name not in queued]
    waits = [one for one in every if one.action is None and one.late_steps]
    if not direct or not waits:
        return ""
    beside = [
        one.name
        for one in course.of("core.action")
        if one.name not in names and one.in_all("processed")
    ]
    also = f", and so do the outputs beside it: {', '.join(beside[:3])}" if beside else ""
    held = max(round(max(one.size)) for one in waits)
    return (
        f"; {called(direct[0])} has no queue of its own, so they wait in {waits[0].name}, which "
        f"held up to {held:,}{also}"
    )


def _away(
    course: CounterCourse,
    where: StatsSeries,
    told: Sequence[str],
    suspended: Sequence[StatsSeries],
    stopped: str,
) -> ProductionFinding:
    """A receiver that could not be reached."""
    evidence = [
        *(f"{name} {where.in_all(name):,}" for name in told),
        *(
            f"{one.name} was suspended {times(one.in_all('suspended'))}, for "
            f"{one.in_all('suspended.duration'):,} s by its own count"
            for one in suspended
        ),
    ]
    gives_up = any(one.in_all("failed") for one in suspended)
    waits = "events wait until the receiver is back, or are given up" if gives_up else (
        "events wait until the receiver is back"
    )  # fmt: skip
    again = "; failed batches are sent again one event at a time" if told else ""
    spans = [counted_when(course, where, *told)] if told else []
    spans += [counted_when(course, one, "suspended") for one in suspended]
    return ProductionFinding(
        Cause.UNREACHABLE,
        where.name if told else called(where.name),
        EventEffect.LATE,
        Events(),
        (min(begin for begin, _ in spans), max(end for _, end in spans)),
        ", ".join(evidence),
        "no connection, a reset, a timeout, or an answer that is not the receiver's; in 8.2606 and "
        "later also one that refuses a whole bulk (429, 5xx)"
        if told
        else "the output reported a failure, and rsyslog waits before it tries again",
        f"{waits}{again}{stopped}",
        WayOut(
            "give it a queue of its own (LinkedList with a filename), so that only its own events "
            "wait while its receiver is away",
            "queue.type",
        )
        if stopped
        else WayOut(
            "look at the receiver and what is between (proxy, firewall, certificates) at that time",
            "action.resumeInterval",
        ),
    )


def _sent_again(
    course: CounterCourse, settings: Settings, engine: StatsSeries, every: Sequence[QueueCourse]
) -> Iterator[ProductionFinding]:
    """F3: more was submitted than was ever given to the outputs."""
    names = to_engine(course, settings)
    if names is None or course.starts or not names:
        return
    given, _ = taken(course, names, every)
    again = engine.in_all("submitted") - given
    failed = engine.in_all("failed.http") + engine.in_all("failed.httprequests")
    if again <= 0 or not failed:
        return
    # What a queue found in its files at the start is submitted, and was given to another process.
    has_files = any(one.action in names and (one.is_disk_assisted or one.is_on_disk or (
        one.settings is None)) for one in every)  # fmt: skip
    growths = [engine.growth[name] for name in FAILURES if name in engine.growth]
    yield ProductionFinding(
        Cause.SENT_AGAIN,
        ENGINE_OUTPUT,
        EventEffect.LATE,
        Events(again),
        nonzero(course, *growths),
        f"{engine.in_all('submitted'):,} documents were submitted for {given:,} events since "
        f"rsyslogd began, so {again:,} at least were sent again"
        + (", or were in the files of a queue before" if has_files else ""),
        "after a failed request rsyslog sends the batch again, one event to a request",
        "one event to a request is slow, and its worker does nothing else meanwhile; what the "
        "engine had stored before the connection broke is there twice, and no counter says how "
        "much that is",
        WayOut(
            "give documents an id of their own (bulkid with dynbulkid), so that a second one "
            "replaces the first; smaller batches make a failure cheaper",
            "bulkid", "RT216",
        ),
        Certainty.LIKELY if has_files else Certainty.CERTAIN,
    )  # fmt: skip


def _reconnects(
    course: CounterCourse, series: StatsSeries, counter: str, why: str, way: WayOut
) -> Iterator[ProductionFinding]:
    """Connections that are made anew all the time."""
    times = series.total(counter)
    if times < 10 or course.seconds / times > _REBINDS_S:
        return
    yield ProductionFinding(
        Cause.REBINDS,
        series.name,
        EventEffect.AT_RISK,
        Events(),
        nonzero(course, series.growth[counter]),
        f"{counter} counted {times:,} in {course.seconds:,.0f} s",
        f"{why}: the connection is closed and opened anew all the time",
        "each new connection costs time, with TLS a lot of it; nothing is lost by it",
        way,
    )


def _small_batches(
    course: CounterCourse, every: Sequence[QueueCourse]
) -> Iterator[ProductionFinding]:
    """Small batches while events wait; 8.2602 and later count batches."""
    for one in every:
        action = None if one.action is None else course.objects["core.action", one.action]
        if action is None or one.settings is None or not one.late_steps:
            continue
        batches = action.growth.get("batchesprocessed")
        wanted = one.settings.queue.dequeue_batch_size or 0
        if batches is None:
            continue
        sent = sum(batches[n] for n in one.late_steps)
        mean = sum(one.left[n] for n in one.late_steps) / max(sent, 1)
        if sent >= _BATCHES and mean < _SMALL * wanted:
            yield ProductionFinding(
                Cause.SMALL_BATCHES,
                one.name,
                EventEffect.LATE,
                Events(),
                course.span(one.late_steps),
                f"{mean:,.0f} events to a batch on average while events waited; "
                f"dequeueBatchSize is {wanted:,}",
                "batches are sent again one event at a time after failures, or several workers "
                "share what little there is",
                "each request costs the engine as much as a full one",
                WayOut(
                    "fewer workers, or a minDequeueBatchSize with its timeout",
                    one.parameter("minDequeueBatchSize"), "RT104",
                ),
                Certainty.LIKELY,
            )  # fmt: skip

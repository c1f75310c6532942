"""What counters say of the engine and the outputs to it: refused, not reachable, given up, sent
again."""

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
    nonzero,
)
from tuner.diagnose.queues import QueueCourse
from tuner.diagnose.settings import ENGINE_OUTPUT, Settings
from tuner.modules.refused_bulks import WAITS_ON_ERRORS

_FAILURES = ("failed.http", "failed.httprequests", "failed.checkConn")
# With action.resumeRetryCount -1 no output counts as suspended; it is resumed again and again
# (actionDoRetry() of action.c).
_AWAY = (
    (ENGINE_OUTPUT, _FAILURES),
    ("omhttp", ("request.fail",)),
    ("core.action", ("suspended", "failed", "resumed")),
)
# After failures, a retry a moment later still belongs to them.
_AROUND = 1
_REBINDS_S = 10.0
# Batches that are this part of what is configured, while more events wait; fewer say nothing.
_SMALL, _BATCHES = 0.1, 10


def is_away(course: CounterCourse) -> tuple[bool, ...]:
    """For each step, whether the engine was not reached, or an output was suspended; a moment
    before and after belong to it."""
    growths = [
        one.growth[name]
        for origin, names in _AWAY
        for one in course.of(origin)
        for name in names
        if name in one.growth
    ]
    fails = [any(growth[n] for growth in growths) for n in range(len(course.steps))]
    around = range(-_AROUND, _AROUND + 1)
    return tuple(
        any(fails[n + by] for by in around if 0 <= n + by < len(fails)) for n in range(len(fails))
    )


def engine_findings(
    course: CounterCourse, settings: Settings, every: Sequence[QueueCourse]
) -> Iterator[ProductionFinding]:
    """All that the counters say of outputs and of the engine, with all queues."""
    engine = course.objects.get((ENGINE_OUTPUT, ENGINE_OUTPUT))
    for action in course.of("core.action"):
        yield from _given_up(course, settings, action, every, engine)
    yield from _unreachable(course, settings)
    yield from _small_batches(course, every)
    for series in course.of("omhttp"):
        yield from _refused_posts(course, series)
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


def _to_engine(course: CounterCourse, settings: Settings) -> list[str] | None:
    """The actions that send to the engine; None where that is not known."""
    names = [one.name for one in course.of("core.action")]
    if settings.outputs:
        outputs = settings.outputs
        return [n for n in names if n in outputs and outputs[n].module == ENGINE_OUTPUT]
    busy = [one.name for one in course.of("core.action") if one.total("processed")]
    named = [name for name in busy if ENGINE_OUTPUT in name]
    return named or (busy if len(busy) == 1 else None)


def _taken(
    course: CounterCourse, names: Sequence[str], every: Sequence[QueueCourse]
) -> tuple[int, int]:
    """How many events these actions were given and kept, and how many of them still wait."""
    queues = {one.action: one for one in every if one.action is not None}
    given = waiting = 0
    for name in names:
        queue = queues.get(name)
        if queue is None:
            given += course.objects["core.action", name].total("processed")
        else:
            given += round(sum(queue.came))
            waiting += round(queue.size[-1])
    return given, waiting


def _given_up(
    course: CounterCourse,
    settings: Settings,
    action: StatsSeries,
    every: Sequence[QueueCourse],
    engine: StatsSeries | None,
) -> Iterator[ProductionFinding]:
    """An action that dropped batches after its last retry."""
    failed = action.total("failed")
    if not failed:
        return
    lost, evidence = None, f"{action.name} failed {counted(failed)} (batches, not events)"
    to_engine = _to_engine(course, settings)
    is_known = engine is not None and engine.total("submitted") > 0 and not course.starts
    if engine is not None and is_known and to_engine == [action.name]:
        given, waiting = _taken(course, to_engine, every)
        never = given - waiting - engine.total("submitted")
        if never > 0:
            lost = never
            evidence += (
                f"; of {given:,} events it took, {waiting:,} still wait and only "
                f"{engine.total('submitted'):,} were ever handed to {ENGINE_OUTPUT}"
            )
    output = settings.outputs.get(action.name)
    retries = "" if output is None else f"; action.resumeRetryCount is {output.retry_count}"
    yield ProductionFinding(
        Cause.GIVEN_UP,
        action.name,
        EventEffect.LOST,
        Events(max(failed, lost or 0)),
        nonzero(course, action.growth["failed"]),
        evidence,
        f"the output failed, and after its last retry rsyslog drops the batch{retries} "
        "(rsyslog's default is 0 retries)",
        "the events are lost; action.errorfile, where it is set, has them",
        WayOut(
            "keep trying: events then wait in the queue until the receiver is back",
            "action.resumeRetryCount", "RT208",
        ),
    )  # fmt: skip


def _refused_posts(course: CounterCourse, series: StatsSeries) -> Iterator[ProductionFinding]:
    """What omhttp did not deliver while no output waited to try again: it tells rsyslogd of no
    failure, and nothing sends it again but the retry ruleset (checkResult() of omhttp.c)."""
    failed = series.growth.get("messages.fail", course.nothing)
    again = series.growth.get("messages.retry", course.nothing)
    dropped = tuple(
        0.0 if away else max(0.0, fails - retried)
        for fails, retried, away in zip(failed, again, is_away(course), strict=True)
    )
    lost = round(sum(dropped))
    if not lost:
        return
    yield ProductionFinding(
        Cause.GIVEN_UP,
        series.name,
        EventEffect.LOST,
        Events(lost),
        nonzero(course, dropped),
        f"messages.fail counted {series.total('messages.fail'):,} events and messages.retry "
        f"{series.total('messages.retry'):,}; {lost:,} failed while no output waited to try "
        "again and were not sent again",
        "the server, or a proxy before it, answered 3xx or 4xx; or 5xx to a batch without a "
        "retry.ruleset, which older releases drop",
        "the events are lost; errorfile, where it is set, has them",
        WayOut(
            "set errorfile to see the reason; for batches retry and a retry.ruleset send again "
            "what was refused for the time being",
            "errorfile", "RT291",
        ),
        Certainty.LIKELY,
    )  # fmt: skip


def _refused_bulks(
    course: CounterCourse, settings: Settings, engine: StatsSeries, every: Sequence[QueueCourse]
) -> Iterator[ProductionFinding]:
    """F1: whole bulks that the engine refused, or documents in them, without `retryfailures`."""
    bulks = engine.total("failed.es")
    if not bulks:
        return
    growth = engine.growth["failed.es"]
    steps = [n for n, grown in enumerate(growth) if grown]
    submitted = engine.growth.get("submitted", growth)
    # What was submitted in these steps and just before is all that those bulks can have held, and
    # none of them more than ever stood in a queue at once.
    around = {n + by for n in steps for by in (-1, 0) if n + by >= 0}
    sent = round(sum(submitted[n] for n in around))
    largest = max((one.highest for one in every), default=sent)
    batches = [
        queue.queue.dequeue_batch_size or 0
        for name, queue in settings.queues.items()
        if (output := settings.outputs.get(name.removesuffix(" queue"))) is not None
        and output.module == ENGINE_OUTPUT
    ]
    most = min(sent, bulks * min(largest, max(batches, default=largest)))
    waits = settings.release is not None and settings.release >= WAITS_ON_ERRORS
    since = "; of this release only 400, 404 and 413 do that" if waits else ""
    yield ProductionFinding(
        Cause.REFUSED_BULKS,
        ENGINE_OUTPUT,
        EventEffect.LOST,
        Events(bulks, max(bulks, most)),
        course.span(steps),
        f"failed.es counted {bulks:,} bulks with an error; {most:,} events at most were in them",
        "the engine answered with an error for the whole bulk (429, 413, 400, 503) or for "
        f"documents in it, and rsyslog drops what is refused{since}",
        "what was refused is lost; rsyslog counts neither the events nor the reason",
        WayOut(
            "set errorfile to see the reason, and retryfailures with a ruleset to send again what "
            "was refused for the time being; whole bulks are dropped by every release before "
            "8.2606",
            "retryfailures", "RT240",
        ),
        Certainty.CERTAIN,
    )  # fmt: skip


def _refused_documents(course: CounterCourse, engine: StatsSeries) -> Iterator[ProductionFinding]:
    """With `retryfailures`, rsyslog counts what the engine answered for each document."""
    kinds = ("response.badargument", "response.bad", "response.other")
    counts = {name: engine.total(name) for name in kinds if engine.total(name)}
    if counts:
        yield ProductionFinding(
            Cause.REFUSED_DOCUMENTS,
            ENGINE_OUTPUT,
            EventEffect.LOST,
            Events(0, sum(counts.values())),
            nonzero(course, *(engine.growth[name] for name in counts)),
            ", ".join(f"{name} {count:,}" for name, count in counts.items()),
            "the engine will never take these documents: a field does not fit the mapping, or the "
            "JSON is not valid",
            "they are lost unless the retry ruleset writes them to a file",
            WayOut(
                "read one of them and its error in the file of the retry ruleset; fix mapping or "
                "template", "retryfailures", "RT240",
            ),
        )  # fmt: skip
    rejected = engine.total("response.bulkrejection")
    if rejected:
        yield ProductionFinding(
            Cause.REFUSED_DOCUMENTS,
            ENGINE_OUTPUT,
            EventEffect.LATE,
            Events(rejected),
            nonzero(course, engine.growth["response.bulkrejection"]),
            f"response.bulkrejection {rejected:,}",
            "the engine answered 429: more came than it could index",
            "these documents go through the retry ruleset, which must send them again",
            WayOut(
                "fewer or smaller bulks at once, or more indexing capacity", "queue.workerThreads",
                "RT215",
            ),
        )  # fmt: skip


def _unreachable(course: CounterCourse, settings: Settings) -> Iterator[ProductionFinding]:
    """Requests to the engine that failed, and outputs that rsyslog suspended."""
    engine = course.objects.get((ENGINE_OUTPUT, ENGINE_OUTPUT))
    failures = {} if engine is None else {name: engine.total(name) for name in _FAILURES}
    told = [f"{name} {count:,}" for name, count in failures.items() if count]
    suspended = [one for one in course.of("core.action") if one.total("suspended")]
    if told and engine is not None:
        names = _to_engine(course, settings) or []
        own = [one for one in suspended if one.name in names]
        growths = [engine.growth[name] for name, count in failures.items() if count]
        yield _away(course, ENGINE_OUTPUT, told, own, growths)
        suspended = [one for one in suspended if one not in own]
    for one in suspended:
        yield _away(course, one.name, [], [one], [])


def _away(
    course: CounterCourse,
    where: str,
    told: Sequence[str],
    suspended: Sequence[StatsSeries],
    growths: Sequence[tuple[float, ...]],
) -> ProductionFinding:
    """A receiver that could not be reached."""
    evidence = [
        *told,
        *(
            f"{one.name} was suspended {counted(one.total('suspended'))}, for "
            f"{one.total('suspended.duration'):,} s in all"
            for one in suspended
        ),
    ]
    again = "; failed batches are sent again one event at a time" if told else ""
    return ProductionFinding(
        Cause.UNREACHABLE,
        where,
        EventEffect.LATE,
        Events(),
        nonzero(course, *growths, *(one.growth["suspended"] for one in suspended)),
        ", ".join(evidence),
        "no connection, a reset, a timeout, or an answer that is not the receiver's; in 8.2606 and "
        "later also one that refuses a whole bulk (429, 5xx)"
        if told
        else "the output reported a failure, and rsyslog waits before it tries again",
        f"events wait until the receiver is back{again}",
        WayOut(
            "look at the receiver and what is between (proxy, firewall, certificates) at that time",
            "action.resumeInterval",
        ),
    )


def counted(times: int) -> str:
    """`once`, `3 times`."""
    return "once" if times == 1 else f"{times:,} times"


def _sent_again(
    course: CounterCourse, settings: Settings, engine: StatsSeries, every: Sequence[QueueCourse]
) -> Iterator[ProductionFinding]:
    """F3: more was submitted than was ever given to the outputs."""
    names = _to_engine(course, settings)
    if names is None or course.starts or not names:
        return
    given, _ = _taken(course, names, every)
    again = engine.total("submitted") - given
    # What stood in the queues when the log began was given before.
    again -= sum(one.highest for one in every if one.action in names and _began_full(one))
    failed = engine.total("failed.http") + engine.total("failed.httprequests")
    if again <= 0 or not failed:
        return
    growths = [engine.growth[name] for name in _FAILURES if name in engine.growth]
    yield ProductionFinding(
        Cause.SENT_AGAIN,
        ENGINE_OUTPUT,
        EventEffect.LATE,
        Events(again),
        nonzero(course, *growths),
        f"{engine.total('submitted'):,} documents were submitted for {given:,} events, so "
        f"{again:,} at least were sent again",
        "after a failed request rsyslog sends the batch again, one event to a request",
        "one event to a request is slow, and its worker does nothing else meanwhile; what the "
        "engine had stored before the connection broke is there twice, and no counter says how "
        "much that is",
        WayOut(
            "give documents an id of their own (bulkid with dynbulkid), so that a second one "
            "replaces the first; smaller batches make a failure cheaper",
            "bulkid", "RT216",
        ),
    )  # fmt: skip


def _began_full(one: QueueCourse) -> bool:
    return bool(one.size) and one.size[0] > 0


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

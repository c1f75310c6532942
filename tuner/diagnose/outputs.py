"""What counters say of outputs and of the engine: refused, given up, not reachable, sent again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from tuner.diagnose.course import CounterCourse, StatsSeries
from tuner.diagnose.finding import Cause, Certainty, Events, ProductionFinding, finding
from tuner.diagnose.queues import QueueCourse
from tuner.diagnose.settings import ENGINE_OUTPUT, Settings, called
from tuner.modules.omelasticsearch import WAITS_ON_ERRORS
from tuner.schema.numerals import times
from tuner.script.counted import queue_of_action

_REBINDS_S = 10.0
# Batches that are this part of what is configured, while more events wait; fewer say nothing.
_SMALL, _BATCHES = 0.1, 10
# What omelasticsearch counts of requests that had no answer.
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


def is_away(course: CounterCourse) -> tuple[bool, ...]:
    """For each step, whether the engine was not reached, or an output was suspended; a moment
    before and after belong to it, and all the time in which nothing is submitted to the engine:
    between two attempts, and while one hangs, nothing is counted."""
    growths = [
        series.growth[counter]
        for origin, counters in _AWAY
        for series in course.objects_of(origin)
        for counter in counters
    ]
    fails = [any(growth[n] for growth in growths) for n in range(len(course.steps))]
    away = [any(fails[max(0, n - _AROUND) : n + _AROUND + 1]) for n in range(len(fails))]
    engine = course.engine
    if engine is not None and any(map(engine.total, _FAILURES)):
        submitted = engine.growth["submitted"]
        for order in (range(len(away)), range(len(away) - 1, -1, -1)):
            for before, n in pairwise(order):
                away[n] = away[n] or (away[before] and not submitted[n])
    return tuple(away)


def output_findings(
    course: CounterCourse, settings: Settings, queues: Sequence[QueueCourse]
) -> Iterator[ProductionFinding]:
    """All that the counters say of outputs and of the engine, with all queues."""
    return _Outputs(course, settings, queues).findings()


@dataclass(frozen=True)
class _Outputs:
    """The outputs of one rsyslogd, with what is known of them."""

    course: CounterCourse
    settings: Settings
    queues: Sequence[QueueCourse]

    @cached_property
    def actions(self) -> tuple[StatsSeries, ...]:
        """What is counted of each output."""
        return self.course.objects_of("core.action")

    @cached_property
    def to_engine(self) -> list[str] | None:
        """The actions that send to the engine; None where that is not known."""
        outputs = self.settings.outputs
        if outputs:
            names = (action.name for action in self.actions if action.name in outputs)
            return [name for name in names if outputs[name].module == ENGINE_OUTPUT]
        busy = [action.name for action in self.actions if action.total("processed")]
        named = [name for name in busy if ENGINE_OUTPUT in name]
        return named or (busy if len(busy) == 1 else None)

    def taken(self, names: Sequence[str]) -> tuple[int, int]:
        """How many events these actions were given and kept since rsyslogd began, and how many of
        them still wait."""
        queues = {queue.action: queue for queue in self.queues}
        given = waiting = 0
        for name in names:
            queue = queues.get(name)
            if queue is None:
                given += self.course.objects["core.action", name].in_all("processed")
            else:
                given += queue.came_in_all
                waiting += round(queue.size[-1])
        return given, waiting

    def findings(self) -> Iterator[ProductionFinding]:
        """All of them."""
        course, engine = self.course, self.course.engine
        for action in self.actions:
            yield from self._given_up(action)
        yield from self._unreachable()
        for queue in self.queues:
            yield from _small_batches(course, queue)
        for series in course.objects_of("omhttp"):
            yield from _refused_posts(course, series)
        for series in course.objects_of("omfwd"):
            yield from _reconnects(course, series, "num.connects")
        if engine is None:
            return
        yield from self._refused_bulks(engine)
        yield from _refused_documents(course, engine)
        yield from self._sent_again(engine)
        yield from _reconnects(course, engine, "rebinds")

    def _given_up(self, action: StatsSeries) -> Iterator[ProductionFinding]:
        """An action that dropped batches after its last retry.

        `failed` counts a batch that is dropped, in which there is one event at least
        (actionWriteErrorFile() of action.c), and of an action without a queue also each event that
        comes while it is suspended (doSubmitToActionQ()), which then is in such a batch as well:
        half of that number were dropped at least, and never more than came.
        """
        course, engine, failed = self.course, self.course.engine, action.in_all("failed")
        if not failed:
            return
        is_direct = all(queue.action != action.name for queue in self.queues)
        given, waiting = self.taken([action.name])
        units = "events and batches" if is_direct else "batches, not events"
        evidence = f"{action.name} failed {times(failed)} ({units})"
        if is_direct:
            evidence += f" of {given:,} events that came to it"
        least, certainty = -(-failed // 2) if is_direct else failed, Certainty.LIKELY
        submitted = 0 if engine is None or course.starts else engine.in_all("submitted")
        if submitted and self.to_engine == [action.name] and given - waiting > submitted:
            least, certainty = max(least, given - waiting - submitted), Certainty.CERTAIN
            evidence += (
                f"; of {given:,} events it took, {waiting:,} still wait and only {submitted:,} "
                f"were ever handed to {ENGINE_OUTPUT}"
            )
        output = self.settings.outputs.get(action.name)
        if output is None and is_direct and self._may_be_taken_over(action):
            least, certainty = 0, Certainty.POSSIBLE
        has_stand_in = output is not None and output.has_stand_in and is_direct
        most = given - waiting
        bounds = Events(min(least, most) or None, most) if most > 0 else Events(least or None)
        case = "direct" if is_direct else ""
        yield finding(
            Cause.GIVEN_UP,
            called(action.name),
            course.when_counted(action, "failed"),
            evidence + course.before_the_log(action, "failed"),
            Events(None, most) if has_stand_in else bounds,
            case="stand_in" if has_stand_in else case,
            retries="" if output is None else f"; action.resumeRetryCount is {output.retry_count}",
        ).as_certain_as(certainty)

    def _may_be_taken_over(self, action: StatsSeries) -> bool:
        """Whether another output that had no more events may have taken what this one could not:
        action.execOnlyWhenPreviousIsSuspended, which only settings tell."""
        given = action.in_all("processed")
        others = (other for other in self.actions if other is not action)
        return any(0 < other.in_all("processed") <= given for other in others)

    def _unreachable(self) -> Iterator[ProductionFinding]:
        """Requests to the engine that failed, and outputs that rsyslog suspended."""
        engine = self.course.engine
        failures = [] if engine is None else [name for name in _FAILURES if engine.in_all(name)]
        suspended = [action for action in self.actions if action.in_all("suspended")]
        if failures and engine is not None:
            names = self.to_engine or []
            sending = [action for action in suspended if action.name in names]
            yield _away(self.course, engine, failures, sending, self._stopped(names))
            suspended = [action for action in suspended if action not in sending]
        for action in suspended:
            yield _away(self.course, action, [], [action], "")

    def _stopped(self, names: Sequence[str]) -> str:
        """What stands still with outputs that wait and have no queue of their own."""
        queued = {queue.action for queue in self.queues}
        direct = [name for name in names if name not in queued]
        waits = [queue for queue in self.queues if queue.action is None and queue.late_steps]
        if not direct or not waits:
            return ""
        beside = [
            action.name
            for action in self.actions
            if action.name not in names and action.in_all("processed")
        ]
        also = f", and so do the outputs beside it: {', '.join(beside[:3])}" if beside else ""
        held = max(round(max(queue.size)) for queue in waits)
        return (
            f"{called(direct[0])} has no queue of its own, so they wait in {waits[0].name}, "
            f"which held up to {held:,}{also}"
        )

    def _refused_bulks(self, engine: StatsSeries) -> Iterator[ProductionFinding]:
        """Whole bulks that the engine refused, or documents in them, without `retryfailures`."""
        course, bulks = self.course, engine.in_all("failed.es")
        if not bulks:
            return
        most = self._most_in_bulks(engine, bulks)
        release = self.settings.release
        waits = release is not None and release >= WAITS_ON_ERRORS
        files = [
            output.errorfile for output in self.settings.outputs.values()
            if output.module == ENGINE_OUTPUT and output.errorfile
        ]  # fmt: skip
        yield finding(
            Cause.REFUSED_BULKS,
            ENGINE_OUTPUT,
            course.when_counted(engine, "failed.es"),
            f"failed.es counted {bulks:,} bulks with an error; {most:,} events at most were in "
            f"them{course.before_the_log(engine, 'failed.es')}",
            Events(bulks, max(bulks, most)),
            since="; of this release only 400, 404 and 413 do that" if waits else "",
            but=", the error file has both" if files else "",
            reason=f"rsyslog-tune diagnose --refused {' '.join(files)} says why; then"
            if files
            else "set errorfile, whose reasons rsyslog-tune diagnose --refused FILE explains, and",
        )

    def _most_in_bulks(self, engine: StatsSeries, bulks: int) -> int:
        """How many events the refused bulks held at most: what was submitted in the steps in which
        they were counted and just before, and of each bulk no more than ever stood in a queue at
        once, or than a batch holds."""
        failed, submitted = engine.growth["failed.es"], engine.growth["submitted"]
        if "submitted" not in engine.growth:
            submitted = failed
        steps = [n for n, grown in enumerate(failed) if grown]
        around = {n + by for n in steps for by in (-1, 0) if n + by >= 0}
        sent = round(sum(submitted[n] for n in around))
        if engine.before.get("failed.es") or 0 in steps:
            sent += engine.before.get("submitted", 0)
        held = (max(queue.highest, queue.highest_on_disk) for queue in self.queues)
        largest = max(held, default=sent)
        batches = [
            largest if queue is None else queue.queue.dequeue_batch_size or 0
            for name, output in self.settings.outputs.items()
            if output.module == ENGINE_OUTPUT
            for queue in (self.settings.queues.get(queue_of_action(name)),)
        ]
        return min(sent, bulks * min(largest, max(batches, default=largest)))

    def _sent_again(self, engine: StatsSeries) -> Iterator[ProductionFinding]:
        """More was submitted than was ever given to the outputs."""
        names = self.to_engine
        if not names or self.course.starts:
            return
        given, _ = self.taken(names)
        submitted = engine.in_all("submitted")
        repeated = submitted - given
        if repeated <= 0 or not engine.in_all("failed.http", "failed.httprequests"):
            return
        # What a queue found in its files at the start is submitted, and was given to another
        # process.
        has_files = any(
            queue.is_disk_assisted or queue.is_on_disk or queue.settings is None
            for queue in self.queues
            if queue.action in names
        )
        yield finding(
            Cause.SENT_AGAIN,
            ENGINE_OUTPUT,
            self.course.when(*map(engine.growth.__getitem__, _FAILURES)),
            f"{submitted:,} documents were submitted for {given:,} events since "
            f"rsyslogd began, so {repeated:,} at least were sent again"
            + (", or were in the files of a queue before" if has_files else ""),
            Events(repeated),
        ).as_certain_as(Certainty.LIKELY if has_files else Certainty.CERTAIN)


def _refused_documents(course: CounterCourse, engine: StatsSeries) -> Iterator[ProductionFinding]:
    """With `retryfailures`, rsyslog counts what the engine answered for each document."""
    kinds = ("response.badargument", "response.bad", "response.other")
    counts = {name: count for name in kinds if (count := engine.in_all(name))}
    if counts:
        yield finding(
            Cause.REFUSED_DOCUMENTS,
            ENGINE_OUTPUT,
            course.when_counted(engine, *counts),
            ", ".join(f"{name} {count:,}" for name, count in counts.items())
            + course.before_the_log(engine, *counts),
            Events(0, sum(counts.values())),
        )
    rejected = engine.in_all("response.bulkrejection")
    if rejected:
        yield finding(
            Cause.REFUSED_DOCUMENTS,
            ENGINE_OUTPUT,
            course.when_counted(engine, "response.bulkrejection"),
            f"response.bulkrejection {rejected:,}",
            Events(rejected),
            case="rejected",
        )


def _away(
    course: CounterCourse,
    receiver: StatsSeries,
    failures: Sequence[str],
    suspended: Sequence[StatsSeries],
    stopped: str,
) -> ProductionFinding:
    """A receiver that could not be reached."""
    evidence = [
        *(f"{name} {receiver.in_all(name):,}" for name in failures),
        *(
            f"{action.name} was suspended {times(action.in_all('suspended'))}, for "
            f"{action.in_all('suspended.duration'):,} s by its own count"
            for action in suspended
        ),
    ]
    spans = [course.when_counted(receiver, *failures)] if failures else []
    spans += [course.when_counted(action, "suspended") for action in suspended]
    case = "engine" if failures else ""
    return finding(
        Cause.UNREACHABLE,
        receiver.name if failures else called(receiver.name),
        (min(begin for begin, _ in spans), max(end for _, end in spans)),
        ", ".join(evidence),
        case="stopped" if stopped else case,
        gives_up=", or are given up" if any(map(_gives_up, suspended)) else "",
        stopped=stopped,
    )


def _gives_up(action: StatsSeries) -> bool:
    return action.in_all("failed") > 0


def _reconnects(
    course: CounterCourse, series: StatsSeries, counter: str
) -> Iterator[ProductionFinding]:
    """Connections that are made anew all the time."""
    connects = series.total(counter)
    if connects >= 10 and course.seconds / connects <= _REBINDS_S:
        yield finding(
            Cause.REBINDS,
            series.name,
            course.when(series.growth[counter]),
            f"{counter} counted {connects:,} in {course.seconds:,.0f} s",
            case=series.origin,
        )


def _refused_posts(course: CounterCourse, series: StatsSeries) -> Iterator[ProductionFinding]:
    """What omhttp did not deliver while no output waited to try again: it tells rsyslogd of no
    failure, and nothing sends it again but the retry ruleset (checkResult() of omhttp.c)."""
    failed, retried = series.growth["messages.fail"], series.growth["messages.retry"]
    dropped = tuple(
        0.0 if away else max(0.0, fails - retries)
        for fails, retries, away in zip(failed, retried, is_away(course), strict=True)
    )
    lost = round(sum(dropped))
    if not lost:
        return
    yield finding(
        Cause.GIVEN_UP,
        series.name,
        course.when(dropped),
        f"messages.fail counted {series.total('messages.fail'):,} events and messages.retry "
        f"{series.total('messages.retry'):,}; {lost:,} failed while no output waited to try "
        "again and were not sent again",
        Events(lost),
        case="omhttp",
    )


def _small_batches(course: CounterCourse, queue: QueueCourse) -> Iterator[ProductionFinding]:
    """Small batches while events wait; 8.2602 and later count batches."""
    if queue.action is None or queue.parameters is None or not queue.late_steps:
        return
    growth = course.objects["core.action", queue.action].growth
    sent = sum(growth["batchesprocessed"][n] for n in queue.late_steps)
    mean = sum(queue.left[n] for n in queue.late_steps) / max(sent, 1)
    configured = queue.parameters.dequeue_batch_size or 0
    if sent >= _BATCHES and mean < _SMALL * configured:
        yield queue.finding(
            Cause.SMALL_BATCHES,
            queue.late_steps,
            f"{mean:,.0f} events to a batch on average while events waited; "
            f"dequeueBatchSize is {configured:,}",
        )

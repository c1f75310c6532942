"""Lint for losses: queues that drop events, outputs that give up, documents that the engine
refuses; and for the parameters of single documents.

An output that waits for its target, or a queue for room, instead of dropping events, can stop the
thread before it, and lose more than it keeps.  Seen on 8.2302 with an engine that was away: a
Direct action that waits stops every other action of its thread at once, one with a queue in memory
or of type Disk once that is full. Behind UDP the file beside then had 3,757 of 8,980 events, and
all where the action dropped its own; over TCP 896 of 5,500, if rsyslogd was stopped before the
engine came back.
"""

from __future__ import annotations

from collections.abc import Iterator

from tuner.lint.rules.connections import of_each_item, remote_servers
from tuner.lint.rules.disk import spools
from tuner.lint.sections import Placed, action_queues, engine_outputs, every_queue, where_durable
from tuner.modules.imuxsock import ImuxsockInput
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.output import Neighbours
from tuner.modules.queue import EMPTIED_IN_MS, ROOM_AWAITED_MS, Place
from tuner.profile.model import Profile
from tuner.profile.placement import PlacedQueue, action_queue, output_neighbours, queue_neighbours
from tuner.rule import Complaint, Cure, error, loss, warning
from tuner.schema.numerals import listed

# A thread that waits so long for each event hands on one a second at most.
_STANDS_MS = 1000

_ON_DISK = "type LinkedList, filename, and a size of twenty batches or more"
_PATIENT_MS = 60_000
_HASTY_MS = 1000
_LEAST = 100


@loss("RT113").for_each(where_durable(every_queue))
def _impatient_enqueue(queue: PlacedQueue, profile: Profile) -> Iterator[Complaint]:
    """A full queue that makes the threads of imuxsock wait can stop the whole machine: that is for
    its administrator to decide."""
    timeout = queue.resolved.timeout_enqueue or 0
    if _fills_up(queue) and timeout < _PATIENT_MS:
        stops_programs = queue.place is not Place.ACTION and any(
            isinstance(source, ImuxsockInput) for source in profile.inputs
        )
        waits = "; local programs then wait too, which can stop the machine"
        cure = Cure(
            ROOM_AWAITED_MS,
            f"events are lost when {queue.label} stays full for {timeout / 1000:g} s",
        )
        way = (
            f"set timeoutEnqueue to {ROOM_AWAITED_MS} to wait instead, as the durable tier promises"
        )
        way, usable = waiting_queue(profile, queue, way, cure)
        yield Complaint(
            ("timeoutEnqueue",),
            f"when {queue.label} stays full for {timeout} ms a message is dropped: {way}"
            f"{waits if stops_programs else ''}",
            None if stops_programs else usable,
        )


def _fills_up(queue: PlacedQueue) -> bool:
    """Whether events can find a queue full although what feeds it can wait."""
    resolved = queue.resolved
    unslowed = queue.place is Place.ACTION or not resolved.light_delay_mark
    return not queue.is_direct and (unslowed or resolved.filename is not None)


@error("RT114").for_each(every_queue)
def _discards(queue: PlacedQueue, _: Profile) -> Iterator[Complaint]:
    severity = queue.resolved.discard_severity
    if severity is not None and severity < 8:
        yield Complaint(
            ("discardSeverity",),
            f"drops messages of severity {severity} and above when the queue fills, but the "
            "guardrails allow no loss: use 8 (off)",
            Cure(8, f"events of severity {severity} and above are lost when the queue fills"),
        )


@loss("RT115").for_each(where_durable(every_queue))
def _hasty_shutdown(queue: PlacedQueue, _: Profile) -> Iterator[Complaint]:
    timeout = queue.resolved.timeout_shutdown or 0
    saves = queue.resolved.is_on_disk or queue.resolved.save_on_shutdown
    if not queue.is_direct and not saves and timeout < _HASTY_MS:
        yield Complaint(
            ("timeoutShutdown",),
            f"when rsyslog stops, what {queue.label} still holds after {timeout} ms is "
            f"lost, which the durable tier forbids: set timeoutShutdown to {EMPTIED_IN_MS}",
            Cure(
                EMPTIED_IN_MS,
                f"events still in {queue.label} {timeout} ms after rsyslog begins to stop are lost",
            ),
        )


@error("RT123").for_each(every_queue)
def _samples(queue: PlacedQueue, _: Profile) -> Iterator[Complaint]:
    interval = queue.resolved.sampling_interval or 0
    if interval > 1:
        yield Complaint(
            ("samplingInterval",),
            f"keeps one message of {interval} and drops the others, but the guardrails allow no "
            "loss: use 0, which keeps all",
            Cure(0, f"{interval - 1} of {interval} events are lost"),
        )


@loss("RT124").for_each(every_queue)
def _never_works(queue: PlacedQueue, _: Profile) -> Iterator[Complaint]:
    """queue.c: without dequeueTimeEnd, or with 25, a queue works all day."""
    begin, end = queue.resolved.dequeue_time_begin, queue.resolved.dequeue_time_end
    if begin is not None and end in {None, 25}:
        yield Complaint(
            ("dequeueTimeBegin",),
            "has no effect without dequeueTimeEnd: add the hour at which the workers stop",
        )
    elif end not in {None, 25}:
        yield Complaint(
            ("dequeueTimeEnd",),
            f"from {end}:00 until {begin or 0}:00 the queue only fills, and drops what it cannot "
            "hold: remove dequeueTimeEnd, unless the queue can hold the events of those hours",
        )


@warning("RT125").for_each(action_queues, "takeFlowCtlFromMsg")
def _waits_for_itself(queue: PlacedQueue, _: Profile) -> Iterator[str]:
    if queue.resolved.take_flow_ctl_from_msg:
        yield (
            "lets an action queue hold up the workers that feed it, which rsyslog's manual "
            "strongly advises against: remove it; the main queue slows the inputs down"
        )


@error("RT126").for_each(action_queues, "size")
def _tiny(queue: PlacedQueue, _: Profile) -> Iterator[str]:
    if not queue.is_direct and queue.size < _LEAST:
        yield (
            f"rsyslog does not support queues of fewer than {_LEAST} messages: use at least "
            f"{max(_LEAST, 2 * queue.workers * queue.batch)}, or the type Direct"
        )


_NAMES = frozenset(
    {"programname", "app-name", "hostname", "fromhost-ip", "syslogtag", "msgid",
     "syslogfacility-text", "syslogseverity-text"}
)  # fmt: skip


@loss("RT240").for_each(where_durable(engine_outputs), "retryfailures")
def _refusals_lost(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    if output.retryfailures is None and remote_servers(output):
        yield (
            "documents that the engine refuses one by one (403, 429, or 400, for instance for a "
            "host name that is not UTF-8) are lost, which the durable tier forbids: set "
            "retryfailures with a file, such as /var/log/rsyslog/rejected.json, or in a "
            "configuration of your own with a retryruleset, that keeps them"
        )


@error("RT241").for_each(engine_outputs, "filter_path")
def _reasons_filtered(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    entries = set(output.filter_path or ())
    reasons = of_each_item(output, "error")
    if output.retryfailures is not None and entries and not entries & reasons:
        yield (
            "retryfailures reads items.*.error of each reply to decide which documents to "
            "retry: add it"
        )


@error("RT242").for_each(engine_outputs, "writeoperation")
def _overwrites(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    if output.writeoperation == "index" and output.creates:
        cause = "retryfailures" if output.retryfailures is not None else "a data stream"
        yield (
            f"index would overwrite documents or be refused: {cause} needs create, which is "
            "used if writeoperation is left out"
        )


@error("RT243").for_each(engine_outputs, "apikey")
def _two_credentials(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    if output.auth is not None and output.apikey is not None:
        yield ("rsyslog refuses an API key beside uid and pwd: remove one of apikey and auth")


@warning("RT244").for_each(engine_outputs, "tls")
def _trusts_anyone(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    if output.tls is not None and (output.tls.allowunsignedcerts or output.tls.skipverifyhost):
        yield (
            "whoever answers at that address gets the events and the password: remove "
            "allowunsignedcerts and skipverifyhost, and name the authority in cacert"
        )


@error("RT246").for_each(engine_outputs, "pipelineName")
def _unknown_property(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    if output.dyn_pipeline_name and output.pipeline_name not in {None, *_NAMES}:
        yield (
            "with dynPipelineName this names a property of the event: use one of "
            f"{', '.join(sorted(_NAMES))}"
        )


def _without_failover(profile: Profile) -> Iterator[Placed[int]]:
    """The numbers of the outputs that no other takes over from, or is to (RT252)."""
    for number in range(len(profile.outputs)):
        if not output_neighbours(profile, number).take_over:
            yield ("outputs", number), number


@loss("RT208").for_each(_without_failover)
def _gives_up(number: int, profile: Profile) -> Iterator[Complaint]:
    if profile.outputs[number].action_resume_retry_count == 0:
        cure = Cure(-1, "events are lost as soon as the target is down")
        way, usable = waiting_output(profile, number, "use -1", cure)
        yield Complaint(
            ("action.resumeRetryCount",),
            "action.resumeRetryCount 0, rsyslog's default, drops events as soon as the target is "
            f"down: {way}",
            usable,
        )


@loss("RT209").for_each(where_durable(_without_failover))
def _gives_up_later(number: int, profile: Profile) -> Iterator[Complaint]:
    count = profile.outputs[number].action_resume_retry_count
    if count > 0:
        cure = Cure(-1, f"events are lost when the target is still down after {count} retries")
        way, usable = waiting_output(profile, number, "use -1", cure)
        yield Complaint(
            ("action.resumeRetryCount",),
            f"events are dropped after {count} retries, which the durable tier forbids: {way}",
            usable,
        )


def waiting_output(profile: Profile, number: int, way: str, cure: Cure) -> tuple[str, Cure | None]:
    """The way out and the cure where an output is to wait for its target; another way and no cure
    where that stops others, which go on as it is.  What a queue writes to disk stops nothing."""
    queue, around = action_queue(profile, number), output_neighbours(profile, number)
    if spools(queue) or not around.beside:
        return way, cure
    when = "while the target is down" if queue.is_direct else "once this output's queue is full"
    return _disk_first("give this output a queue on disk", way, around, when), None


def waiting_queue(
    profile: Profile, queue: PlacedQueue, way: str, cure: Cure
) -> tuple[str, Cure | None]:
    """The way out and the cure where what feeds a queue is to wait for room in it, with what waits
    too; where each event waits a second as it is written, the others stand still already."""
    around, when = queue_neighbours(profile, queue), f"while {queue.label} is full"
    if not around.beside:
        return way, cure
    stands = (queue.resolved.timeout_enqueue or 0) >= _STANDS_MS
    if spools(queue):
        when = "once its files have taken maxDiskSpace"
    elif stands:
        when = f"{when}, as it nearly does now"
    else:
        return _disk_first("let this queue write to disk", way, around, when), None
    stops = f"{listed(around.beside)} then wait{_s(around)} too {when}"
    return f"{way}; {stops}", cure._replace(stops=stops)


def _disk_first(first: str, way: str, around: Neighbours, when: str) -> str:
    """The way out where an output that simply waited would stop others."""
    lost = f", and what {listed(around.lossy)} receives meanwhile is lost" if around.lossy else ""
    s = _s(around)
    return (
        f"first {first} ({_ON_DISK}), then {way}; without files {listed(around.beside)} wait{s} "
        f"too {when}, and lose{s} what waits if rsyslogd ends before{lost}"
    )


def _s(around: Neighbours) -> str:
    """The ending of a verb whose subject is what stands beside."""
    return "s" * (len(around.beside) == 1)

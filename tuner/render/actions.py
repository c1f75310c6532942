"""The actions of a profile: what is decided of each, which stand in for which, and what becomes of
documents that the engine refuses inside a bulk that it answers with 200.

With retryfailures omelasticsearch hands every item of such a bulk, those that were indexed too, to
another ruleset.  There an event has no properties but `$!`, its document, and `$.omes`, its id and
what the engine said (omelasticsearch's manual, "How Retries Are Handled").  `retry.NAME` drops
what was indexed, writes what never will be to a file, and sends the rest again under its own id.

What is refused once more goes to `again.NAME`, which waits and hands it back.  That one is needed:
retries are full-delay messages, which wait while their queue is above its fullDelayMark, and a
worker that waits for its own queue waits for ever.  `retry.NAME` makes the output's workers wait
at its mark and has room above it for all that `again.NAME` can hold, so neither waits for good.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tuner.modules.omelasticsearch import TYPE_CAN_GO, TYPE_GONE, OmelasticsearchOutput
from tuner.modules.output import Lines
from tuner.modules.queue import (
    EMPTIED_IN_MS,
    ROOM_AWAITED_MS,
    SEGMENTED_SINCE,
    Place,
    Queue,
    QueueType,
    resolve,
)
from tuner.profile import placement
from tuner.profile.model import Profile
from tuner.render.document import Step
from tuner.render.modules import Parameters, own_parameters
from tuner.render.statements import condition
from tuner.script.quoting import Emitted

_DIRECT = Queue(type=QueueType.DIRECT)

_HAS_INDEX_TIMEOUT = 2204
_LEAST = 4000
_WAIT_US = 1_000_000
# What the files of an output's queue have in common with those of its retries.
_OF_FILES = {
    "spool_directory", "max_disk_space", "max_file_size", "checkpoint_interval",
    "sync_queue_files", "save_on_shutdown",
}  # fmt: skip


class BulkAction(NamedTuple):
    """An action that sends bulks to the engine of `output`: the names of its templates and of the
    ruleset that takes what the engine refuses, and what follows from the release."""

    output: OmelasticsearchOutput
    name: str
    index_template: str | None
    pipeline: str | None
    retry_ruleset: str
    search_type: str | None
    write_operation: str | None
    index_timeout: int | None
    queue: Queue
    condition: Emitted | None


class LineAction(NamedTuple):
    """An action of any other output, with its module's own parameters."""

    output: Lines
    template: str
    parameters: Parameters
    queue: Queue
    condition: Emitted | None


class ActionGroup(NamedTuple):
    """An output and those that stand in for it; with a queue they have a ruleset of their own.
    The steps come first: a ruleset with a queue gets a copy of the event."""

    actions: tuple[BulkAction | LineAction, ...]
    ruleset: str | None
    queue: Queue
    steps: tuple[Step, ...]


def deliveries(
    profile: Profile, stream: str | None, steps: Mapping[str, tuple[Step, ...]]
) -> Iterator[ActionGroup]:
    """The outputs of a stream in their order, each with those that stand in for it; `steps` are
    what the documents of each need."""
    for leader, *standins in placement.failovers(profile, stream):
        first, *others = (_action(profile, number) for number in (leader, *standins))
        has_ruleset = bool(others) and first.queue != _DIRECT
        names = [profile.outputs[number].name for number in (leader, *standins)]
        yield ActionGroup(
            actions=(first._replace(queue=_DIRECT) if has_ruleset else first, *others),
            ruleset=f"failover.{names[0]}" if has_ruleset else None,
            queue=first.queue,
            steps=tuple(step for name in names for step in steps[name]),
        )


def _bulk(
    profile: Profile, output: OmelasticsearchOutput, stem: str, retry_ruleset: str, queue: Queue
) -> BulkAction:
    """The action that sends the documents of the templates whose names begin with `stem`."""
    release = profile.release.rsyslog_number
    # F15: Elasticsearch 8 refuses _type.  Releases that leave it out warn about the parameter.
    search_type = "_doc" if release < TYPE_CAN_GO else "" if release < TYPE_GONE else None
    return BulkAction(
        output=output,
        name=stem,
        index_template=f"{stem}-index" if output.index.varies else None,
        pipeline=f"{stem}-pipeline" if output.dyn_pipeline_name else output.pipeline_name,
        retry_ruleset=retry_ruleset,
        search_type=search_type,
        write_operation="create" if output.creates else output.writeoperation,
        index_timeout=output.index_timeout if release >= _HAS_INDEX_TIMEOUT else None,
        queue=queue,
        condition=condition(output.filter),
    )


def _retry_name(output: OmelasticsearchOutput) -> str:
    """What the ruleset of an output's refused documents is called: a dot is in no other name."""
    return f"retry.{output.name}"


def _action(profile: Profile, number: int) -> BulkAction | LineAction:
    output, queue = profile.outputs[number], placement.action_queue(profile, number).resolved
    if isinstance(output, OmelasticsearchOutput):
        return _bulk(profile, output, output.name, _retry_name(output), queue)
    parameters = {**dict(own_parameters(output)), **output.spelled()}
    return LineAction(
        output=output,
        template=_format(output),
        # What a section says, its output has spelled.
        parameters=tuple(pair for pair in parameters.items() if not isinstance(pair[1], dict)),
        queue=queue,
        condition=condition(output.filter),
    )


def _format(output: Lines) -> str:
    """The template of an event: rsyslog's own, or one of the output's."""
    if output.line is not None:
        return f"{output.name}-line"
    return output.format if output.document is None else f"{output.name}-document"


class Retry(NamedTuple):
    """The two rulesets of one output's refused documents, and the action that sends them again."""

    name: str
    queue: Queue
    action: BulkAction
    again: str
    again_queue: Queue


def retries(profile: Profile) -> Iterator[Retry]:
    """The retries of every output that asks for them.  Nothing stands in for what is sent again, so
    it waits where an output with a failover gives up."""
    gives_up = {number for group in placement.every_failover(profile) for number in group[:-1]}
    for number, output in profile.enumerated:
        if output.retryfailures is None:
            continue
        again = f"again.{output.name}"
        changes: dict[str, object] = {"exec_only_when_previous_is_suspended": False}
        if number in gives_up:
            changes["action_resume_retry_count"] = -1
        resent = output.model_copy(update=changes)
        queue, again_queue = _queues(profile, number)
        yield Retry(
            name=_retry_name(output),
            queue=queue,
            action=_bulk(profile, resent, f"{output.name}.retry", again, _DIRECT),
            again=again,
            again_queue=again_queue,
        )


def _queues(profile: Profile, number: int) -> tuple[Queue, Queue]:
    """The queues of `retry` and `again`; their files, if any, are those of the output's queue."""
    action = placement.action_queue(profile, number)
    feeding = placement.working_queue(profile, number) if action.is_direct else action
    batch, workers = feeding.batch, feeding.workers * feeding.copies
    waiting = max(_LEAST, 4 * batch)
    mark = max(_LEAST, 2 * workers * batch)
    common: dict[str, object] = {
        "type": QueueType.LINKED_LIST,
        "light_delay_mark": 0,
        "timeout_enqueue": ROOM_AWAITED_MS,
        "timeout_shutdown": EMPTIED_IN_MS,
    }
    retry = {
        "size": mark + waiting + 2 * workers * batch,
        "full_delay_mark": mark,
        "dequeue_batch_size": batch,
    }
    again = {
        "size": waiting,
        "dequeue_batch_size": waiting // 2,
        "dequeue_slow_down": _WAIT_US,
    }
    release = profile.release.rsyslog_number
    return (
        _queue(action.resolved, "retry", common | retry, release),
        _queue(action.resolved, "again", common | again, release),
    )


def _queue(written: Queue, name: str, parameters: dict[str, object], release: int) -> Queue:
    if written.filename is not None:
        parameters |= {
            **written.model_dump(include=_OF_FILES),
            "filename": placement.retry_file(written.filename, name),
            "disk_queue_type": _layout(written, release),
        }
    return resolve(Queue.model_validate(parameters, by_name=True), Place.MAIN)


def _layout(written: Queue, release: int) -> str | None:
    """The layout of the files of the output's queue, which those of a disk type have by their
    type; None before there were two."""
    of_type = {QueueType.DISK: "disk", QueueType.SEGMENTED_DISK: "segmentedDisk"}
    if release < SEGMENTED_SINCE or written.type not in of_type:
        return written.disk_queue_type
    return of_type[written.type]

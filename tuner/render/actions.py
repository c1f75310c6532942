"""The actions of a profile with their parameters, the failover between them, and the retries of
documents that the engine refuses inside a bulk that it answers with 200.

With retryfailures omelasticsearch submits every item of such a bulk, even indexed ones, to another
ruleset.  There an event has no properties but `$!`, its document, and `$.omes`, its id and the
engine's response (omelasticsearch's manual, "How Retries Are Handled").  `retry.NAME` drops indexed
items, writes those that can never be indexed to a file, and sends the rest again with their ids.

Items that are refused again go to `again.NAME`, which waits and returns them to `retry.NAME`.  This
second ruleset is needed because retries are full-delay messages: they block while their queue is
above its fullDelayMark, and a worker that waits for its own queue waits forever.  `retry.NAME`
blocks the output's workers at its mark, and has room above it for all that `again.NAME` can hold,
so neither blocks forever.
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
_LEAST_EVENTS = 4000
_WAIT_US = 1_000_000
# The settings of an output's queue files that are also those of its retry queues.
_FILE_SETTINGS = {
    "spool_directory", "max_disk_space", "max_file_size", "checkpoint_interval",
    "sync_queue_files", "save_on_shutdown",
}  # fmt: skip


class BulkAction(NamedTuple):
    """An action that sends bulks to the engine of `output`: the names of its templates and of the
    ruleset for refused documents, and the parameters that depend on the release."""

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
    """An output and its failover outputs; if it has both these and a queue, the group has a
    `ruleset` with that queue.  The steps run before that is called: it gets a copy of the event."""

    actions: tuple[BulkAction | LineAction, ...]
    ruleset: str | None
    queue: Queue
    steps: tuple[Step, ...]


def action_groups(
    profile: Profile, stream: str | None, steps: Mapping[str, tuple[Step, ...]]
) -> Iterator[ActionGroup]:
    """The outputs of a stream, in order, each with its failover outputs; `steps` are those that the
    documents of each output need."""
    for leader, *failover in placement.failovers(profile, stream):
        first, *others = (_action(profile, number) for number in (leader, *failover))
        has_ruleset = bool(others) and first.queue != _DIRECT
        names = [profile.outputs[number].name for number in (leader, *failover)]
        yield ActionGroup(
            actions=(first._replace(queue=_DIRECT) if has_ruleset else first, *others),
            ruleset=f"failover.{names[0]}" if has_ruleset else None,
            queue=first.queue,
            steps=tuple(step for name in names for step in steps[name]),
        )


def _bulk(
    profile: Profile, output: OmelasticsearchOutput, stem: str, retry_ruleset: str, queue: Queue
) -> BulkAction:
    """The action `stem`, which sends documents by the templates whose names begin with it."""
    release = profile.release.rsyslog_number
    # F15: Elasticsearch 8 refuses _type.  Releases that never send it warn about searchType.
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
    """The ruleset for an output's refused documents; no name in a profile has a dot."""
    return f"retry.{output.name}"


def _action(profile: Profile, number: int) -> BulkAction | LineAction:
    output, queue = profile.outputs[number], placement.action_queue(profile, number).resolved
    if isinstance(output, OmelasticsearchOutput):
        return _bulk(profile, output, output.name, _retry_name(output), queue)
    parameters = {**dict(own_parameters(output)), **output.spelled()}
    return LineAction(
        output=output,
        template=_format(output),
        # Subsections are left out: `spelled` has their parameters.
        parameters=tuple(pair for pair in parameters.items() if not isinstance(pair[1], dict)),
        queue=queue,
        condition=condition(output.filter),
    )


def _format(output: Lines) -> str:
    """The name of an output's template: its own, or one that rsyslog has built in."""
    if output.line is not None:
        return f"{output.name}-line"
    return output.format if output.document is None else f"{output.name}-document"


class Retry(NamedTuple):
    """The two rulesets for an output's refused documents, and the action that sends them again."""

    name: str
    queue: Queue
    action: BulkAction
    again: str
    again_queue: Queue


def retries(profile: Profile) -> Iterator[Retry]:
    """The retries of every output with retryfailures.  Their actions have no failover, so they wait
    for the engine where an output with a failover gives up."""
    with_failover = {number for group in placement.every_failover(profile) for number in group[:-1]}
    for number, output in profile.enumerated:
        if output.retryfailures is None:
            continue
        again = f"again.{output.name}"
        changes: dict[str, object] = {"exec_only_when_previous_is_suspended": False}
        if number in with_failover:
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
    waiting = max(_LEAST_EVENTS, 4 * batch)
    mark = max(_LEAST_EVENTS, 2 * workers * batch)
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
            **written.model_dump(include=_FILE_SETTINGS),
            "filename": placement.retry_file(written.filename, name),
            "disk_queue_type": _layout(written, release),
        }
    return resolve(Queue.model_validate(parameters, by_name=True), Place.MAIN)


def _layout(written: Queue, release: int) -> str | None:
    """The layout of the output's queue files, which follows from a disk queue's type; None in
    releases that know only one."""
    of_type = {QueueType.DISK: "disk", QueueType.SEGMENTED_DISK: "segmentedDisk"}
    if release < SEGMENTED_SINCE or written.type not in of_type:
        return written.disk_queue_type
    return of_type[written.type]

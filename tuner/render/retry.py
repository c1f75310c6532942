"""What becomes of documents that the engine refuses inside a bulk that it answers with 200.

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

from collections.abc import Iterator
from typing import NamedTuple

from tuner.modules.queue import (
    EMPTIED_IN_MS,
    ROOM_AWAITED_MS,
    SEGMENTED_SINCE,
    Place,
    Queue,
    QueueType,
    resolve,
)
from tuner.profile.model import Profile
from tuner.profile.placement import action_queue, every_failover, retry_file, working_queue
from tuner.render.actions import DIRECT, BulkAction, bulk, retry_name

_LEAST = 4000
_WAIT_US = 1_000_000
# What the files of an output's queue have in common with those of its retries.
_OF_FILES = {
    "spool_directory", "max_disk_space", "max_file_size", "checkpoint_interval",
    "sync_queue_files", "save_on_shutdown",
}  # fmt: skip


class Retry(NamedTuple):
    """The two rulesets of one output's refused documents; `rejected` names the action, and its
    template, that writes to `file` what will never be taken."""

    name: str
    queue: Queue
    rejected: str
    file: str
    action: BulkAction
    again: str
    again_queue: Queue


def retries(profile: Profile) -> Iterator[Retry]:
    """The retries of every output that asks for them.  Nothing stands in for what is sent again, so
    it waits where an output with a failover gives up."""
    gives_up = {number for group in every_failover(profile) for number in group[:-1]}
    for number, output in profile.enumerated:
        if output.retryfailures is None:
            continue
        again = f"again.{output.name}"
        patient = output.model_copy(update={"action_resume_retry_count": -1})
        resent = patient if number in gives_up else output
        resend = bulk(profile, resent, f"{output.name}.retry", again, DIRECT)
        queue, again_queue = _queues(profile, number)
        yield Retry(
            name=retry_name(output),
            queue=queue,
            rejected=f"{output.name}.rejected",
            file=output.retryfailures.file,
            action=resend._replace(stands_in=False, condition=None),
            again=again,
            again_queue=again_queue,
        )


def _queues(profile: Profile, number: int) -> tuple[Queue, Queue]:
    """The queues of `retry` and `again`; their files, if any, are those of the output's queue."""
    action = action_queue(profile, number)
    feeding = working_queue(profile, number) if action.is_direct else action
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
            "filename": retry_file(written.filename, name),
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

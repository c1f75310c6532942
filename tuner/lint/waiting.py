"""What it does to the rest of a pipeline that an output waits for its target, or a queue for room,
instead of dropping events: whether that stops the thread before it, and loses more than it keeps.

Seen on 8.2302 with an engine that was away: a Direct action that waits stops every other action of
its thread at once, one with a queue in memory or of type Disk once that is full. Behind UDP the
file beside then had 3,757 of 8,980 events, and all where the action dropped its own; over TCP 896
of 5,500, if rsyslogd was stopped before the engine came back.
"""

from __future__ import annotations

from collections.abc import Sequence

from tuner.modules.output import Around
from tuner.profile.model import Profile
from tuner.profile.placement import PlacedQueue, action_queue, around_output, around_queue
from tuner.rule import Cure

_MOST_NAMED = 3
# A thread that waits so long for each event hands on one a second at most.
_STANDS_MS = 1000
_ON_DISK = "type LinkedList, filename, and a size of twenty batches or more"


def spools(queue: PlacedQueue) -> bool:
    """Whether a disk-assisted queue writes to its files whatever its workers hold: they start at
    highWatermark, of which events in flight do not count, while those count for size (queue.c,
    qqueueAdviseMaxWorkers; seen on 8.2302: with 128 in flight a queue of 1000 spools at 872, and
    not at 873)."""
    mark = queue.resolved.high_watermark or 0
    return queue.resolved.is_disk_assisted and mark <= queue.size - queue.workers * queue.batch


def waiting_output(profile: Profile, number: int, way: str, cure: Cure) -> tuple[str, Cure | None]:
    """The way out and the cure where an output is to wait for its target; another way and no cure
    where that stops others, which go on as it is.  What a queue writes to disk stops nothing."""
    queue, around = action_queue(profile, number), around_output(profile, number)
    if spools(queue) or not around.beside:
        return way, cure
    when = "while the target is down" if queue.is_direct else "once this output's queue is full"
    return (
        f"first give this output a queue on disk ({_ON_DISK}), then {way}{_else(around, when)}",
        None,
    )


def waiting_queue(
    profile: Profile, queue: PlacedQueue, way: str, cure: Cure
) -> tuple[str, Cure | None]:
    """The same for what waits for room in a queue, with what waits too; where each event waits a
    second as it is written, the others stand still already."""
    around, when = around_queue(profile, queue), f"while {queue.label} is full"
    if not around.beside:
        return way, cure
    if spools(queue):
        stops = _waits(around, "once its files have taken maxDiskSpace")
        return f"{way}; {stops}", cure._replace(stops=stops)
    if (queue.resolved.timeout_enqueue or 0) < _STANDS_MS:
        return (
            f"first let this queue write to disk ({_ON_DISK}), then {way}{_else(around, when)}",
            None,
        )
    stops = f"{_waits(around, when)}, as it nearly does now"
    return f"{way}; {stops}", cure._replace(stops=stops)


def _waits(around: Around, when: str) -> str:
    return f"{listed(around.beside)} then wait{'s' * (len(around.beside) == 1)} too {when}"


def _else(around: Around, when: str) -> str:
    """Why an output is not simply made to wait."""
    lost = f", and what {listed(around.hasty)} receives meanwhile is lost" if around.hasty else ""
    one = "s" * (len(around.beside) == 1)
    return (
        f"; without files {listed(around.beside)} wait{one} too {when}, and lose{one} what waits "
        f"if rsyslogd ends before{lost}"
    )


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, the first of many."""
    more = len(names) - _MOST_NAMED
    shown = ", ".join(names[:_MOST_NAMED])
    return f"{shown} and {more} more" if more > 0 else shown

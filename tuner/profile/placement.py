"""The queues of a profile, each with its place and every default that rsyslog would apply; how many
events they hold, in how much memory, and which outputs and inputs they affect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import NamedTuple

from tuner.errors import KeyPath
from tuner.modules.input import LOSSY_INPUTS, Input, Listener
from tuner.modules.output import Neighbours
from tuner.modules.queue import Place, Queue, QueueType, resolve
from tuner.profile.model import Profile, Spread


@dataclass(frozen=True)
class PlacedQueue:
    """One queue: where the profile writes it, and as written.

    There are as many `copies` of it as there are lanes, where it is a lane's.
    """

    path: KeyPath
    place: Place
    written: Queue | None
    copies: int = 1

    @cached_property
    def resolved(self) -> Queue:
        """The queue with every default worked out."""
        return resolve(self.written, self.place)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The parameters that the profile writes of it."""
        return () if self.written is None else tuple(key for key, _ in self.written.parameters)

    @property
    def label(self) -> str:
        """What to call it in a message."""
        if self.path == _LANE:
            return "the queue of each lane"
        if self.path[0] == STREAMS:
            return f"the queue of stream {self.path[1]}"
        return "the action queue" if self.place is Place.ACTION else "the main queue"

    @property
    def is_direct(self) -> bool:
        """Whether there is no queue at all."""
        return self.resolved.type is QueueType.DIRECT

    @property
    def size(self) -> int:
        """The capacity of each copy in messages, 0 when it is Direct."""
        return self.resolved.size or 0

    @property
    def batch(self) -> int:
        """The most messages a worker takes at once, 0 when it is Direct."""
        return self.resolved.dequeue_batch_size or 0

    @property
    def workers(self) -> int:
        """The most workers it starts, 0 when it is Direct."""
        return self.resolved.worker_threads or 0

    @property
    def minimum_messages(self) -> int:
        """Messages waiting for each worker after the first, 0 when it is Direct."""
        return self.resolved.worker_thread_minimum_messages or 0

    @property
    def busy_backlog(self) -> int:
        """Messages at which the last worker has started and every worker has a full batch, in all
        copies together."""
        later = max(0, self.workers - 1) * self.minimum_messages
        return self.copies * (self.workers * self.batch + later)


_LANE: KeyPath = ("lanes", "queue")
STREAMS = "streams"


def main_queue(profile: Profile) -> PlacedQueue:
    """rsyslog's main queue, which takes what no ruleset with a queue of its own does."""
    place = Place.IMPLICIT_MAIN if profile.main_queue is None else Place.MAIN
    return PlacedQueue(("main_queue",), place, profile.main_queue)


def lane_queue(profile: Profile) -> PlacedQueue | None:
    """The queue of each lane; None without lanes.  rsyslog makes it like a main queue."""
    if profile.lanes is None:
        return None
    return PlacedQueue(_LANE, Place.MAIN, profile.lanes.queue, profile.lanes.count)


def file_names(queue: PlacedQueue) -> tuple[str, ...]:
    """What the files of each copy are called; none without files."""
    name = queue.resolved.filename
    if name is None:
        return ()
    if queue.path != _LANE:
        return (name,)
    return tuple(f"{name}-{number}" for number in range(queue.copies))


def stream_queue(profile: Profile, name: str | None) -> PlacedQueue | None:
    """The queue of a stream's own, which rsyslog makes like a main queue; None without one."""
    written = profile.stream(name).queue
    path = (STREAMS, str(name), "queue")
    return None if written is None else PlacedQueue(path, Place.MAIN, written)


def retry_file(filename: str, retry: str) -> str:
    """What the files of `retry` or `again`, the queues of an output's refused documents, are called
    where its own are called `filename`."""
    return f"{filename}-{retry}"


def retry_file_names(profile: Profile, queue: PlacedQueue) -> tuple[str, ...]:
    """What the files of both are called, if the queue is that of an output that has them."""
    name = queue.resolved.filename
    retried = (number for number, output in profile.enumerated if output.retryfailures is not None)
    if name is None or queue.path not in {("outputs", number, "queue") for number in retried}:
        return ()
    return retry_file(name, "retry"), retry_file(name, "again")


def entry_queue(profile: Profile) -> PlacedQueue:
    """The queue that the inputs of the measured stream hand events to."""
    return queue_behind(profile, profile.measured_stream)


def entry_queues(profile: Profile) -> tuple[PlacedQueue, ...]:
    """The queues that inputs hand events to, that of the measured stream first."""
    behind_inputs = (queue_behind(profile, source.stream) for source in profile.inputs)
    return tuple(dict.fromkeys((entry_queue(profile), *behind_inputs)))


def queue_behind(profile: Profile, stream: str | None) -> PlacedQueue:
    """The queue that the inputs of a stream hand events to."""
    hands_out = profile.lanes is not None and profile.lanes.spread is not Spread.PORTS
    return main_queue(profile) if stream is None and hands_out else _queue_before(profile, stream)


def working_queue(profile: Profile, number: int | None = None) -> PlacedQueue:
    """The queue whose workers execute the action of the output with that number; by default of the
    measured one."""
    name = profile.measured_stream if number is None else profile.outputs[number].stream
    return _queue_before(profile, name)


def _queue_before(profile: Profile, stream: str | None) -> PlacedQueue:
    """The queue whose workers run the outputs of a stream."""
    queue = lane_queue(profile) if stream is None else stream_queue(profile, stream)
    return queue or main_queue(profile)


def lanes_by_port(profile: Profile, source: Input) -> int:
    """Among how many lanes the senders to an input choose by its port; 0 where they do not."""
    lanes = profile.lanes
    if lanes is None or lanes.spread is not Spread.PORTS or source.stream is not None:
        return 0
    return lanes.count


def ports_of(profile: Profile, source: Input) -> range:
    """The ports that an input listens on: one for each lane where senders choose their lane."""
    if not isinstance(source, Listener):
        return range(0)
    return range(source.port, source.port + max(1, lanes_by_port(profile, source)))


def sockets_of(profile: Profile) -> tuple[str, ...]:
    """The ports that rsyslogd opens on a host, as tcp:PORT and udp:PORT."""
    return tuple(
        f"{'udp' if source.transport == 'udp' else 'tcp'}:{port}"
        for source in profile.host_inputs
        for port in ports_of(profile, source)
    )


def action_queue(profile: Profile, number: int) -> PlacedQueue:
    """The queue of the output with that number."""
    written = profile.outputs[number].queue
    return PlacedQueue(("outputs", number, "queue"), Place.ACTION, written)


def failovers(profile: Profile, stream: str | None) -> Iterator[tuple[int, ...]]:
    """The numbers of a stream's outputs: each with those that stand in for it, in order."""
    group: list[int] = []
    for number, output in enumerate(profile.outputs):
        if output.stream != stream:
            continue
        if group and not output.exec_only_when_previous_is_suspended:
            yield tuple(group)
            group = []
        group.append(number)
    if group:
        yield tuple(group)


def every_failover(profile: Profile) -> Iterator[tuple[int, ...]]:
    """The `failovers` of all streams."""
    for stream in dict.fromkeys(output.stream for output in profile.outputs):
        yield from failovers(profile, stream)


def measured_queue(profile: Profile) -> PlacedQueue:
    """The queue of the output that measurements are about."""
    return action_queue(profile, profile.measured_number)


def measured_path(profile: Profile) -> tuple[PlacedQueue, ...]:
    """The queues between the inputs and the output that measurements are about, that of the inputs
    first and Direct ones included."""
    return _path_to(profile, next(iter(profile.tuned), None))


def tuned_queues(profile: Profile) -> tuple[PlacedQueue, ...]:
    """The queues on the way to each output that a search tunes, those of the first one first."""
    paths = (_path_to(profile, number) for number in profile.tuned or (None,))
    return tuple(dict.fromkeys(chain.from_iterable(paths)))


def _path_to(profile: Profile, number: int | None) -> tuple[PlacedQueue, ...]:
    """The queues between the inputs and the output of that number; without one those before all
    that belong to no stream."""
    stream = None if number is None else profile.outputs[number].stream
    path = dict.fromkeys((queue_behind(profile, stream), _queue_before(profile, stream)))
    return tuple(path) if number is None else (*path, action_queue(profile, number))


def queues(profile: Profile) -> tuple[PlacedQueue, ...]:
    """Every queue in an event's way, Direct ones included: that of the inputs first, then those of
    the lanes and streams, then every output's."""
    outputs = range(len(profile.outputs))
    before = [entry_queue(profile), working_queue(profile)]
    if profile.streams and any(
        stream_queue(profile, source.stream) is None for source in profile.inputs
    ):
        before.append(main_queue(profile))
    before += filter(None, (stream_queue(profile, name) for name in profile.streams))
    return (*dict.fromkeys(before), *(action_queue(profile, number) for number in outputs))


def real_queues(profile: Profile) -> tuple[PlacedQueue, ...]:
    """Those of `queues` that are not Direct."""
    return tuple(queue for queue in queues(profile) if not queue.is_direct)


ROOM_PERCENT = 95
"""How much of what a queue takes counts as room."""


class BacklogMarks(NamedTuple):
    """Events sent and not yet accounted for: every worker is busy above `low`, and `room` is what
    the queues hold before the first one slows its inputs down or a later one makes its workers
    wait."""

    low: int
    room: int

    @property
    def high(self) -> int:
        """The most that a flood keeps in flight.  Where the queues have no room for all workers to
        be busy, what is above `room` waits before them, as it does in production."""
        return self.room if self.low <= self.room else self.low * 4 // 3


def backlog_marks(profile: Profile) -> BacklogMarks:
    """The marks that follow from the queues; lanes are taken to fill evenly."""
    low = sum(queue.busy_backlog for queue in tuned_queues(profile))
    return BacklogMarks(low, ROOM_PERCENT * taken(profile, narrowest(profile)) // 100)


def narrowest(profile: Profile) -> PlacedQueue:
    """The queue with the least room on the way to what is tuned."""
    entry, *later = tuned_queues(profile)
    queues = (entry, *(queue for queue in later if not queue.is_direct))
    return min(queues, key=lambda queue: taken(profile, queue))


def taken(profile: Profile, queue: PlacedQueue) -> int:
    """What a queue takes: up to lightDelayMark where inputs fill it."""
    is_entry = queue in entry_queues(profile)
    mark = queue.resolved.light_delay_mark if is_entry else None
    return queue.copies * (mark or queue.size)


# Beside its text; seen on 8.2302: 680 to 720 for messages of 244 to 4000 bytes.
_MESSAGE_OVERHEAD_BYTES = 700


class QueueMemory(NamedTuple):
    """The bytes of one message, of all queues together, and the queue that takes most of them."""

    message_bytes: int
    total_bytes: int
    largest: PlacedQueue


def message_memory_bytes(message_bytes: float) -> float:
    """What a message of that size takes in a queue in memory, in bytes."""
    return message_bytes + _MESSAGE_OVERHEAD_BYTES


def queue_memory(profile: Profile) -> QueueMemory | None:
    """What the queues hold in memory when all are full; None if none holds anything there.

    A message is in one queue at a time: an action queue takes what the main queue lets go.
    """
    held = [
        queue for queue in queues(profile) if not queue.is_direct and not queue.resolved.is_on_disk
    ]
    if not held:
        return None
    message = round(message_memory_bytes(profile.workload.message_bytes.mean))
    total = message * sum(queue.copies * queue.size for queue in held)
    return QueueMemory(message, total, max(held, key=lambda queue: queue.copies * queue.size))


def output_neighbours(profile: Profile, number: int) -> Neighbours:
    """The neighbours of output `number`: by address in the base if there is one, else by output
    name and input type."""
    if profile.base is not None:
        return _in_base(profile, ("outputs", number))
    groups = [group for group in every_failover(profile) if number in group]
    behind = [index for group in groups for index in group[group.index(number) + 1 :]]
    ahead = [index for group in groups for index in group[: group.index(number)]]
    before = [first for group in groups for first, later in pairwise(group) if later == number]
    thread = working_queue(profile, number)
    beside = [
        index
        for index in range(len(profile.outputs))
        if index not in {number, *behind, *ahead} and working_queue(profile, index) == thread
    ]
    lossy = (source for source in profile.inputs if source.type in LOSSY_INPUTS)
    names = _names(profile, beside)
    # Those that stand in for one with a queue are run by its workers.
    is_apart = any(not profile.outputs[group[0]].is_direct for group in groups)
    return Neighbours(
        _names(profile, behind),
        _names(profile, before),
        names,
        tuple(source.type for source in lossy if _queue_before(profile, source.stream) == thread),
        at_once=() if is_apart else names,
    )


def _names(profile: Profile, numbers: Iterable[int]) -> tuple[str, ...]:
    return tuple(profile.outputs[number].name for number in numbers)


def queue_neighbours(profile: Profile, queue: PlacedQueue) -> Neighbours:
    """The neighbours of a queue; for the queue of an output, those of the output."""
    if queue.place is Place.ACTION:
        return output_neighbours(profile, int(queue.path[1]))
    return Neighbours() if profile.base is None else _in_base(profile, queue.path[:2])


def in_flight(profile: Profile, number: int) -> int:
    """How many events can be in flight to an output."""
    queue = action_queue(profile, number)
    working = working_queue(profile, number) if queue.is_direct else queue
    return working.copies * working.workers * working.batch


def _in_base(profile: Profile, path: KeyPath) -> Neighbours:
    if profile.base is None or not profile.base.is_read:
        return Neighbours()
    base = profile.base.kept
    return base.neighbours.get(base.view.sections.get(path, ""), Neighbours())

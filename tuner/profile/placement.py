"""The queues of a profile, each with its place and everything rsyslog would make of it."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.profile.model import Profile
from tuner.profile.queue import Place, Queue, QueueType, resolve
from tuner.profile.source import KeyPath


@dataclass(frozen=True)
class PlacedQueue:
    """One queue: where the profile writes it, as written, and with every default worked out."""

    path: KeyPath
    place: Place
    written: Queue | None
    resolved: Queue

    @property
    def label(self) -> str:
        """What to call it in a message."""
        return "the action queue" if self.place is Place.ACTION else "the main queue"

    @property
    def is_direct(self) -> bool:
        """Whether there is no queue at all."""
        return self.resolved.type is QueueType.DIRECT

    @property
    def size(self) -> int:
        """Its capacity in messages, 0 when it is Direct."""
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
        """Messages at which the last worker has started and every worker has a full batch."""
        return self.workers * self.batch + max(0, self.workers - 1) * self.minimum_messages


def main_queue(profile: Profile) -> PlacedQueue:
    """The queue behind the inputs."""
    written = profile.main_queue
    place = Place.IMPLICIT_MAIN if written is None else Place.MAIN
    return PlacedQueue(("main_queue",), place, written, resolve(written, place))


def action_queue(profile: Profile, number: int = 0) -> PlacedQueue:
    """The queue of the output with that number."""
    written = profile.outputs[number].queue
    path = ("outputs", number, "queue")
    return PlacedQueue(path, Place.ACTION, written, resolve(written, Place.ACTION))


def queues(profile: Profile) -> tuple[PlacedQueue, ...]:
    """The main queue, then every output's, Direct ones included."""
    outputs = range(len(profile.outputs))
    return (main_queue(profile), *(action_queue(profile, number) for number in outputs))

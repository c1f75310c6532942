"""The queues in an event's way by the names under which rsyslog counts them."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.modules.queue_defaults import Place
from tuner.profile.model import Profile
from tuner.profile.placement import PlacedQueue, lane_queue, measured_way
from tuner.render.script import lane_name


@dataclass(frozen=True)
class CountedQueue:
    """A queue as rsyslog's counters and threads call it, each copy by one of `names`, and as the
    profile does."""

    names: tuple[str, ...]
    placed: PlacedQueue

    path: str

    @property
    def room(self) -> int:
        """The messages that all copies together hold."""
        return self.placed.copies * self.placed.size


def counted_queues(profile: Profile) -> tuple[CountedQueue, ...]:
    """The queues between the inputs and the measured output of `profile` as bound, the inputs'
    first; an action queue that is Direct is none."""
    first, *later = measured_way(profile)
    way = (first, *(queue for queue in later if not queue.is_direct))
    return tuple(
        CountedQueue(_names(profile, queue), queue, _path(profile, queue)) for queue in way
    )


def _path(profile: Profile, queue: PlacedQueue) -> str:
    if queue.place is Place.ACTION:
        return f"outputs[{profile.measured.name}].queue"
    return ".".join(map(str, queue.path))


def _names(profile: Profile, queue: PlacedQueue) -> tuple[str, ...]:
    if queue.place is Place.ACTION:
        return (f"{profile.measured.name} queue",)
    if queue != lane_queue(profile):
        return ("main Q",)
    return tuple(lane_name(profile, number) for number in range(queue.copies))

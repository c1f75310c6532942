"""How many events may be in flight for a measurement to see every worker at work."""

from __future__ import annotations

from typing import NamedTuple

from tuner.profile.model import Profile
from tuner.profile.placement import PlacedQueue, measured_way


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
    low = sum(queue.busy_backlog for queue in measured_way(profile))
    return BacklogMarks(low, _room(profile, narrowest(profile)))


def narrowest(profile: Profile) -> PlacedQueue:
    """The queue with the least room on the way of the events that measurements are about."""
    entry, *later = measured_way(profile)
    queues = (entry, *(queue for queue in later if not queue.is_direct))
    return min(queues, key=lambda queue: _room(profile, queue))


def _room(profile: Profile, queue: PlacedQueue) -> int:
    """95 % of what a queue takes: up to lightDelayMark where inputs fill it."""
    takes = queue.size
    if queue == measured_way(profile)[0]:
        takes = queue.resolved.light_delay_mark or queue.size
    return 95 * queue.copies * takes // 100

"""How many events may be in flight for a measurement to see every worker at work."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.profile.model import Profile
from tuner.profile.placement import measured_way


@dataclass(frozen=True)
class BacklogMarks:
    """Events sent and not yet accounted for: busy workers above `low`, no braking below `high`."""

    low: int
    high: int


def backlog_marks(profile: Profile) -> BacklogMarks:
    """The marks that follow from the queues.

    Below `low` some configured worker may idle; above `high` (95 % of the room) the first queue
    slows its inputs down at lightDelayMark, or a later one makes its workers wait.  Lanes are
    taken to fill evenly.
    """
    way = measured_way(profile)
    entry, *later = way
    rooms = [entry.copies * (entry.resolved.light_delay_mark or entry.size)]
    rooms += [queue.copies * queue.size for queue in later if not queue.is_direct]
    low = sum(queue.busy_backlog for queue in way)
    return BacklogMarks(low, 95 * min(rooms) // 100)

"""How many events may be under way for a measurement to see every worker at work."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.profile.model import Profile
from tuner.profile.placement import main_queue, queues


@dataclass(frozen=True)
class BacklogMarks:
    """Events sent and not yet accounted for: busy workers above `low`, no braking below `high`."""

    low: int
    high: int


def backlog_marks(profile: Profile) -> BacklogMarks:
    """The marks that follow from the queues.

    Below `low` some configured worker may idle; above `high` (95 % of the room) the main queue
    slows its inputs down at lightDelayMark, or the action queue makes the main workers wait.
    """
    main = main_queue(profile)
    rooms = [main.resolved.light_delay_mark or main.size]
    rooms += [queue.size for queue in queues(profile)[1:] if not queue.is_direct]
    low = sum(queue.busy_backlog for queue in queues(profile))
    return BacklogMarks(low, 95 * min(rooms) // 100)

"""How much memory the queues of a profile take when they are full."""

from __future__ import annotations

from typing import NamedTuple

from tuner.profile.model import Profile
from tuner.profile.placement import PlacedQueue, queues

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

"""How large the requests of an output get, by the mean message of the workload."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.engines.heap import heap_bytes
from tuner.profile.model import Profile
from tuner.profile.placement import PlacedQueue, action_queue, working_queue
from tuner.schema.units import engine_bytes, size_bytes

# A document with its action line against the message it is made of: 244 bytes give about 500.
DOCUMENT = 2
# omelasticsearch's own maxbytes.
MAXBYTES = "100m"
# http.max_content_length and indexing_pressure.memory.limit of every engine, unless set.
_LARGEST_REQUEST = "100mb"
_PRESSURE = "10%"


@dataclass(frozen=True)
class Requests:
    """The bulks of one output: the queue that makes them, and bytes of an event in them, of the
    events of a full batch, and of the largest request that is sent."""

    queue: PlacedQueue
    event_bytes: int
    batch_bytes: int
    request_bytes: int

    @property
    def under_way_bytes(self) -> int:
        """What all workers send at once."""
        return self.queue.copies * self.queue.workers * self.request_bytes


def requests_of(profile: Profile, number: int) -> Requests:
    """The bulks of the output into the engine with that number.

    The messages of a batch are many: their sum is close to that of as many mean ones.
    """
    queue = action_queue(profile, number)
    queue = working_queue(profile) if queue.is_direct else queue
    limits = {n: size_bytes(output.maxbytes or MAXBYTES) for n, output in profile.enumerated}
    event = profile.workload.message_bytes.mean * DOCUMENT
    batch = queue.batch * event
    return Requests(queue, event, batch, min(batch, limits[number]))


def largest_request_bytes(profile: Profile) -> int:
    """What a node takes in one request."""
    return engine_bytes(profile.node.http_max_content_length or _LARGEST_REQUEST) or 0


def pressure_bytes(profile: Profile) -> int:
    """What a node lets all bulks under way take of its memory."""
    limit = profile.node.indexing_pressure_memory_limit or _PRESSURE
    if limit.endswith("%"):
        return int(heap_bytes(profile.node.heap) * float(limit[:-1]) / 100)
    return engine_bytes(limit) or 0

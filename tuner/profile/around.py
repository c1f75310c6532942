"""What stands around an output or a queue of a profile: what takes over while it is suspended, what
waits together with it, and whose events are lost then."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from tuner.errors import KeyPath
from tuner.modules.input import HASTY, Input
from tuner.modules.output import Around
from tuner.modules.queue import Place
from tuner.profile.model import Profile
from tuner.profile.placement import (
    PlacedQueue,
    action_queue,
    every_failover,
    lane_queue,
    main_queue,
    stream_queue,
    working_queue,
)


def around_output(profile: Profile, number: int) -> Around:
    """What stands around the output with that number: with a base by addresses of that, else by
    names of outputs and types of inputs."""
    if profile.base is not None:
        return _in_base(profile, ("outputs", number))
    groups = [group for group in every_failover(profile) if number in group]
    behind = [one for group in groups for one in group[group.index(number) + 1 :]]
    ahead = [one for group in groups for one in group[: group.index(number)]]
    before = [first for group in groups for first, later in pairwise(group) if later == number]
    thread = working_queue(profile, number)
    beside = [
        other
        for other in range(len(profile.outputs))
        if other not in {number, *behind, *ahead} and working_queue(profile, other) == thread
    ]
    hasty = (one for one in profile.inputs if one.type in HASTY)
    return Around(
        _names(profile, behind),
        _names(profile, before),
        _names(profile, beside),
        tuple(one.type for one in hasty if _thread_of(profile, one) == thread),
    )


def _names(profile: Profile, numbers: Iterable[int]) -> tuple[str, ...]:
    return tuple(profile.outputs[number].name for number in numbers)


def around_queue(profile: Profile, queue: PlacedQueue) -> Around:
    """What stands around what feeds a queue: of an output's, what stands around that."""
    if queue.place is Place.ACTION:
        return around_output(profile, int(queue.path[1]))
    return Around() if profile.base is None else _in_base(profile, queue.path[:2])


def in_flight(profile: Profile, number: int) -> int:
    """How many events can be in flight to an output."""
    own = action_queue(profile, number)
    queue = working_queue(profile, number) if own.is_direct else own
    return queue.copies * queue.workers * queue.batch


def _thread_of(profile: Profile, source: Input) -> PlacedQueue:
    """The queue whose workers run the outputs of an input's events."""
    if source.stream is None:
        return lane_queue(profile) or main_queue(profile)
    return stream_queue(profile, source.stream) or main_queue(profile)


def _in_base(profile: Profile, path: KeyPath) -> Around:
    if profile.base is None or not profile.base.is_read:
        return Around()
    kept = profile.base.kept
    return kept.around.get(kept.view.sections.get(path, ""), Around())

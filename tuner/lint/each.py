"""What a rule is about, where that is one kind of section: each output, each queue, each input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from tuner.errors import KeyPath
from tuner.modules.input import Input
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.output import Output
from tuner.profile import placement
from tuner.profile.model import Profile, Tier
from tuner.profile.placement import PlacedQueue, action_queue
from tuner.rule import Complaint

S = TypeVar("S")
Placed = tuple[KeyPath, S]
Places = Callable[[Profile], Iterable[Placed[S]]]
"""The sections of one kind in a profile, each with its path."""


def each(
    places: Places[S], *at: str
) -> Callable[
    [Callable[[S, Profile], Iterable[str | Complaint]]], Callable[[Profile], Iterator[Complaint]]
]:
    """Makes a check of one section a check of all in a profile.  The section's check yields
    messages, which are about the key `at` of it, or complaints whose paths begin in it."""

    def of_section(
        check: Callable[[S, Profile], Iterable[str | Complaint]],
    ) -> Callable[[Profile], Iterator[Complaint]]:
        def of_profile(profile: Profile) -> Iterator[Complaint]:
            for place, section in places(profile):
                for one in check(section, profile):
                    complaint = Complaint(at, one) if isinstance(one, str) else one
                    yield complaint._replace(path=(*place, *complaint.path))

        return of_profile

    return of_section


def where_durable(places: Places[S]) -> Places[S]:
    """The same in a profile whose tier allows no loss; none in another."""
    return lambda profile: places(profile) if profile.guardrails.tier is Tier.DURABLE else ()


def flooded_inputs(profile: Profile) -> Iterator[Placed[Input]]:
    """The inputs that measurements flood."""
    numbers = profile.flooded_numbers if profile.inputs else ()
    return ((("inputs", number), profile.inputs[number]) for number in numbers)


def outputs(profile: Profile) -> Iterator[Placed[Output]]:
    """Every output."""
    return ((("outputs", number), one) for number, one in enumerate(profile.outputs))


def outputs_of(kind: type[S]) -> Places[S]:
    """The outputs of one module."""
    return lambda profile: (
        (place, one) for place, one in outputs(profile) if isinstance(one, kind)
    )


def inputs(profile: Profile) -> Iterator[Placed[Input]]:
    """Every input."""
    return ((("inputs", number), one) for number, one in enumerate(profile.inputs))


def inputs_of(kind: type[S]) -> Places[S]:
    """The inputs of one module."""
    return lambda profile: ((place, one) for place, one in inputs(profile) if isinstance(one, kind))


def every_queue(profile: Profile) -> Iterator[Placed[PlacedQueue]]:
    """Every queue, Direct ones included."""
    return ((queue.path, queue) for queue in placement.queues(profile))


def real_queues(profile: Profile) -> Iterator[Placed[PlacedQueue]]:
    """Every queue that is not Direct."""
    return ((queue.path, queue) for queue in placement.real_queues(profile))


def queues_with_files(profile: Profile) -> Iterator[Placed[PlacedQueue]]:
    """Every queue that has files."""
    return (one for one in every_queue(profile) if one[1].resolved.filename is not None)


def action_queues(profile: Profile) -> Iterator[Placed[PlacedQueue]]:
    """The queue of each output, Direct ones included."""
    every = (action_queue(profile, number) for number in range(len(profile.outputs)))
    return ((queue.path, queue) for queue in every)


engine_outputs = outputs_of(OmelasticsearchOutput)
"""The outputs into the engine."""

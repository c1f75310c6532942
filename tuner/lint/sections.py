"""What a rule is about, where that is one kind of section: each output, each queue, each input of a
profile; each action or input of a base."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tuner.engines.release import Release
from tuner.errors import KeyPath
from tuner.modules.input import Input
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.output import Output
from tuner.profile import placement
from tuner.profile.model import Profile, Tier
from tuner.profile.placement import PlacedQueue, action_queue
from tuner.rule import Complaint
from tuner.script.script import ScriptObject, ScriptPosition

if TYPE_CHECKING:
    from tuner.profile.base import KeptBase

S = TypeVar("S")
Placed = tuple[KeyPath, S]
Places = Callable[[Profile], Iterable[Placed[S]]]
"""The sections of one kind in a profile, each with its path."""


def for_each(
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
            for path, section in places(profile):
                for breach in check(section, profile):
                    complaint = Complaint(at, breach) if isinstance(breach, str) else breach
                    yield complaint._replace(path=(*path, *complaint.path))

        return of_profile

    return of_section


def where_durable(places: Places[S]) -> Places[S]:
    """The sections of a profile whose tier allows no loss; none of another."""
    return lambda profile: places(profile) if profile.guardrails.tier is Tier.DURABLE else ()


def inputs(profile: Profile) -> Iterator[Placed[Input]]:
    """Every input."""
    return ((("inputs", number), source) for number, source in enumerate(profile.inputs))


def flooded_inputs(profile: Profile) -> Iterator[Placed[Input]]:
    """The inputs that measurements flood."""
    numbers = profile.flooded_numbers if profile.inputs else ()
    return ((("inputs", number), profile.inputs[number]) for number in numbers)


def outputs(profile: Profile) -> Iterator[Placed[Output]]:
    """Every output."""
    return ((("outputs", number), output) for number, output in enumerate(profile.outputs))


def of_kind(places: Places[Input] | Places[Output], kind: type[S]) -> Places[S]:
    """The inputs or outputs of one module."""
    return lambda profile: (
        (path, section) for path, section in places(profile) if isinstance(section, kind)
    )


def outputs_of(kind: type[S]) -> Places[S]:
    """The outputs of one module."""
    return of_kind(outputs, kind)


def inputs_of(kind: type[S]) -> Places[S]:
    """The inputs of one module."""
    return of_kind(inputs, kind)


def every_queue(profile: Profile) -> Iterator[Placed[PlacedQueue]]:
    """Every queue, Direct ones included."""
    return ((queue.path, queue) for queue in placement.queues(profile))


def real_queues(profile: Profile) -> Iterator[Placed[PlacedQueue]]:
    """Every queue that is not Direct."""
    return ((queue.path, queue) for queue in placement.real_queues(profile))


def queues_with_files(profile: Profile) -> Iterator[Placed[PlacedQueue]]:
    """Every queue that has files."""
    return (
        (path, queue) for path, queue in every_queue(profile) if queue.resolved.filename is not None
    )


def action_queues(profile: Profile) -> Iterator[Placed[PlacedQueue]]:
    """The queue of each output, Direct ones included."""
    queues = (action_queue(profile, number) for number in range(len(profile.outputs)))
    return ((queue.path, queue) for queue in queues)


engine_outputs = outputs_of(OmelasticsearchOutput)
"""The outputs into the engine."""


class Remark(NamedTuple):
    """One breach of a rule about a base: its place in the file as it is written, and what to do
    about it."""

    origin: ScriptPosition
    message: str


@dataclass(frozen=True)
class CheckedBase:
    """A configuration with the changes of a profile, and the releases that the profile names."""

    kept: KeptBase
    release: Release

    def remark(self, address: str, parameter: str, message: str) -> Remark:
        """A breach at the place where a parameter is written, else at its object."""
        written = self.kept.written.objects[address]
        return Remark((written.get(parameter) or written).origin, f"{address}: {message}")

    def template(self, name: str | None) -> ScriptObject | None:
        """The template of that name."""
        return None if name is None else self.kept.changed.template(name)


Objects = Callable[[CheckedBase], Iterable[tuple[str, ScriptObject]]]
"""The objects of one kind in a base, each with its address."""


def engine_actions(base: CheckedBase) -> Iterable[tuple[str, ScriptObject]]:
    """The actions into an engine."""
    return base.kept.changed.engine_actions


def objects_of(kind: str, module: str) -> Objects:
    """The objects of one kind and one module, such as the inputs of imfile."""
    return lambda base: (
        (address, script)
        for address, script in base.kept.changed.of_kind(kind)
        if script.type == module
    )


def for_each_object(
    objects: Objects, parameter: str
) -> Callable[
    [Callable[[ScriptObject, CheckedBase], Iterable[str]]],
    Callable[[CheckedBase], Iterator[Remark]],
]:
    """Makes a check of one object a check of all in a base; its messages are about a parameter."""

    def of_object(
        check: Callable[[ScriptObject, CheckedBase], Iterable[str]],
    ) -> Callable[[CheckedBase], Iterator[Remark]]:
        def of_base(base: CheckedBase) -> Iterator[Remark]:
            for address, script in objects(base):
                for message in check(script, base):
                    yield base.remark(address, parameter, message)

        return of_base

    return of_object

"""What a rule is about, where that is one kind of section: each output, each queue, each input of a
profile; each action or input of a base."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tuner.engines.index_settings import IndexSettings
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


def index_settings(profile: Profile) -> Iterator[Placed[IndexSettings]]:
    """The settings of the indices of each output into the engine."""
    for path, output in engine_outputs(profile):
        yield (*path, "index", "settings"), output.index.settings


class Remark(NamedTuple):
    """One breach of a rule about a base at a place that is no parameter's, and what to do about
    it."""

    origin: ScriptPosition
    message: str


@dataclass(frozen=True)
class CheckedBase:
    """A configuration with the changes of a profile, and the releases that the profile names."""

    kept: KeptBase
    release: Release

    def remark(self, complaint: Complaint) -> Remark:
        """A complaint about a parameter of an object at the place where that is written, else at
        the object."""
        address, parameter = map(str, complaint.path)
        written = self.kept.written.objects[address]
        origin = (written.get(parameter) or written).origin
        return Remark(origin, f"{address}: {complaint.message}")

    def template(self, name: str | None) -> ScriptObject | None:
        """The template of that name."""
        return None if name is None else self.kept.changed.template(name)


def objects_of(kind: str, module: str) -> Callable[[CheckedBase], Iterator[Placed[ScriptObject]]]:
    """The objects of one kind and one module in a base, such as the inputs of imfile."""
    return lambda base: (
        ((address,), script)
        for address, script in base.kept.changed.of_kind(kind)
        if script.type == module
    )


engine_actions = objects_of("action", "omelasticsearch")
"""The actions of a base into an engine."""

"""The steps of a stream as statements of its ruleset, in their order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tuner.modules.filter import Filter
from tuner.modules.mmjsonparse import JsonParse
from tuner.modules.mmnormalize import NormalizeParse
from tuner.modules.registry import AnyStep, ModuleStep
from tuner.modules.step import ParseStep, SetStep, UnsetStep, VariableStep
from tuner.modules.text_source import EVERYTHING, TextSource
from tuner.profile.stream import Stream
from tuner.rainerscript.quoting import Emitted, literal
from tuner.render.actions import Parameters, written_parameters
from tuner.render.condition import condition
from tuner.render.document import texts_in_whole
from tuner.render.field_text import json_name, variable_name
from tuner.render.steps import EVERYTHING_FOUND, Piece, Steps, TextStep
from tuner.schema.parameter import of_module

# What an action has beside its module's parameters.
_ELSEWHERE = {"type", "filter"}


class ActionStatement(NamedTuple):
    """An action that changes the event."""

    name: str
    type: str
    parameters: Parameters
    condition: Emitted | None = None
    kind: str = "action"


class SetStatement(NamedTuple):
    """Variables that are set one after the other; the last is what is asked for, or what is put
    into the event's JSON, at the first of `places`.

    rsyslogd leaves an object or array in its place, and a text in the place of a parent: the
    places are that of the value and of its parents, which are removed one by one until it is set.
    """

    texts: tuple[TextStep, ...]
    places: tuple[str, ...]
    condition: Emitted | None
    kind: str = "set"

    @property
    def text(self) -> str:
        """The variable that holds the text."""
        return self.texts[-1].variable


class UnsetStatement(NamedTuple):
    """A variable that is removed."""

    variable: str
    condition: Emitted | None
    kind: str = "unset"


Statement = ActionStatement | SetStatement | UnsetStatement


def statements(name: str | None, profile_name: str, stream: Stream) -> Iterator[Statement]:
    """What is done with each event of a stream before its outputs; its parsing comes first unless
    a step says where."""
    stem = name or profile_name
    steps: tuple[AnyStep, ...] = stream.steps
    if not any(isinstance(step, ParseStep) for step in steps):
        steps = (ParseStep.model_construct(type="parse"), *steps)
    gathered = Steps.of_stream(name)
    for number, step in enumerate(steps):
        if isinstance(step, ParseStep):
            yield from _parsed(stem, stream)
        elif isinstance(step, SetStep):
            yield _set(step, stream, gathered)
        elif isinstance(step, UnsetStep):
            yield UnsetStatement(_variable(step), _condition(step.filter))
        else:
            yield _action(f"{stem}-{step.type}-{number}", step)


def templates_of(every: Iterator[Statement]) -> tuple[TextStep, ...]:
    """The texts for which statements need templates."""
    return tuple(text for one in every if isinstance(one, SetStatement) for text in one.texts)


def _parsed(stem: str, stream: Stream) -> Iterator[ActionStatement]:
    match stream.parse:
        case JsonParse() as parse:
            yield ActionStatement(f"{stem}-json", "mmjsonparse", _written(parse))
        case NormalizeParse() as parse:
            yield ActionStatement(f"{stem}-normalize", "mmnormalize", _written(parse))
        case _:
            return


def _written(parse: JsonParse | NormalizeParse) -> Parameters:
    return tuple(written_parameters(parse, {"format"}).items())


def _action(name: str, step: ModuleStep) -> ActionStatement:
    own = written_parameters(step, {*_ELSEWHERE, *of_module(type(step))})
    return ActionStatement(name, step.type, tuple(own.items()), _condition(step.filter))


def _set(step: SetStep, stream: Stream, steps: Steps) -> SetStatement:
    before = len(steps.taken)
    pieces = tuple(piece for part in step.value for piece in _pieces(part, stream, steps))
    fallback = None if step.fallback is None else literal(step.fallback)
    own = None if step.variable is None else variable_name(step.variable)
    steps.text(pieces, fallback=fallback, variable=own, table=step.lookup)
    return SetStatement(
        tuple(one for one in steps.taken[before:] if isinstance(one, TextStep)),
        tuple(_places(step.json_path or "")),
        _condition(step.filter),
    )


def _places(path: str) -> Iterator[str]:
    """The place at a path of JSON, and those of its parents."""
    while path:
        yield json_name(path)
        path = path.rpartition(".")[0]


def _pieces(part: TextSource, stream: Stream, steps: Steps) -> tuple[Piece, ...]:
    if part.constant is not None:
        return (str(part.constant),)
    if part.json_path == EVERYTHING:
        return (EVERYTHING_FOUND,)
    return texts_in_whole(part, stream.parse, steps)


def _variable(step: VariableStep) -> str:
    if step.json_path is not None:
        return json_name(step.json_path)
    return variable_name(str(step.variable))


def _condition(wanted: Filter | None) -> Emitted | None:
    return None if wanted is None else condition(wanted)

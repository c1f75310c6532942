"""What stands in a ruleset before its outputs: conditions, and the steps of a stream in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tuner.modules.filter import OPERATIONS, Filter, Match
from tuner.modules.registry import AnyStep
from tuner.modules.step import ParseStep, SetStep, UnsetStep
from tuner.modules.text_source import EVERYTHING, TextSource
from tuner.profile.model import Stream
from tuner.render.document import (
    EVERYTHING_FOUND,
    Piece,
    Steps,
    TextStep,
    json_name,
    texts_in_whole,
    variable_name,
)
from tuner.render.modules import PARSING, Parameters, own_parameters
from tuner.schema.scalars import FACILITIES, SEVERITIES
from tuner.schema.section import RsyslogSection
from tuner.script.quoting import Emitted, literal


def condition(wanted: Filter | None) -> Emitted | None:
    """True for the events that `wanted` takes; None where it takes all."""
    return None if wanted is None else Emitted(" and ".join(_terms(wanted)))


def _terms(wanted: Filter) -> Iterator[str]:
    if wanted.syslogseverity is not None:
        yield f"$syslogseverity <= {SEVERITIES.index(wanted.syslogseverity)}"
    if wanted.syslogfacility is not None:
        codes = [FACILITIES.index(name) for name in wanted.syslogfacility]
        yield _any([f"$syslogfacility == {code}" for code in codes])
    if wanted.programname is not None:
        yield _any([f"$programname == {literal(name)}" for name in wanted.programname])
    if wanted.parsesuccess is not None:
        yield f'$parsesuccess {"==" if wanted.parsesuccess else "!="} "OK"'
    for match in wanted.match or ():
        yield _matched(match)


def _matched(match: Match) -> str:
    name = f"${match.property}"
    if match.json_path is not None:
        name = json_name(match.json_path)
    elif match.variable is not None:
        name = variable_name(match.variable)
    operation = next(name for name in OPERATIONS if getattr(match, name) is not None)
    texts = [literal(text) for text in getattr(match, operation)]
    if operation == "ereregex":
        comparisons = [f"re_match({name}, {text})" for text in texts]
    else:
        operator = "==" if operation == "isequal" else operation
        comparisons = [f"{name} {operator} {text}" for text in texts]
    return f"not ({' or '.join(comparisons)})" if match.negate else _any(comparisons)


def _any(terms: list[str]) -> str:
    return terms[0] if len(terms) == 1 else f"({' or '.join(terms)})"


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
    # No output's templates have two dots.
    gathered = Steps("$.steps", "own.steps" if name is None else f"stream.{name}")
    for number, step in enumerate(steps):
        if isinstance(step, ParseStep):
            parse = stream.parse
            if isinstance(parse, RsyslogSection):
                action = f"{stem}-{parse.format}"
                yield ActionStatement(action, PARSING[parse.format], own_parameters(parse))
        elif isinstance(step, SetStep):
            yield _set(step, stream, gathered)
        elif isinstance(step, UnsetStep):
            path, variable = step.json_path, variable_name(str(step.variable))
            yield UnsetStatement(
                variable if path is None else json_name(path), condition(step.filter)
            )
        else:
            action = f"{stem}-{step.type}-{number}"
            yield ActionStatement(action, step.type, own_parameters(step), condition(step.filter))


def templates_of(all_statements: Iterator[Statement]) -> tuple[TextStep, ...]:
    """The texts for which statements need templates."""
    return tuple(
        text
        for statement in all_statements
        if isinstance(statement, SetStatement)
        for text in statement.texts
    )


def _set(step: SetStep, stream: Stream, steps: Steps) -> SetStatement:
    before = len(steps.taken)
    pieces = tuple(piece for part in step.value for piece in _pieces(part, stream, steps))
    fallback = None if step.fallback is None else literal(step.fallback)
    path_variable = None if step.variable is None else variable_name(step.variable)
    steps.text(pieces, fallback=fallback, variable=path_variable, table=step.lookup)
    texts = tuple(step for step in steps.taken[before:] if isinstance(step, TextStep))
    places, path = [], step.json_path or ""
    while path:
        places.append(json_name(path))
        path = path.rpartition(".")[0]
    return SetStatement(texts, tuple(places), condition(step.filter))


def _pieces(part: TextSource, stream: Stream, steps: Steps) -> tuple[Piece, ...]:
    if part.constant is not None:
        return (str(part.constant),)
    if part.json_path == EVERYTHING:
        return (EVERYTHING_FOUND,)
    return texts_in_whole(part, stream.parse, steps)

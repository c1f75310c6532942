"""The statements of a ruleset before its outputs: the steps of a stream, with their conditions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tuner.modules.filter import OPERATIONS, Filter, Match
from tuner.modules.registry import AnyStep
from tuner.modules.step import ParseStep, SetStep, UnsetStep
from tuner.modules.text_source import EVERYTHING, TextSource
from tuner.profile.model import Stream
from tuner.render.document import (
    PARSED_JSON,
    Piece,
    Steps,
    TextStep,
    json_name,
    mended_texts,
    variable_name,
)
from tuner.render.modules import PARSING, Parameters, own_parameters
from tuner.schema.scalars import FACILITIES, SEVERITIES
from tuner.schema.section import RsyslogSection
from tuner.script.quoting import Emitted, literal


def condition(filter_: Filter | None) -> Emitted | None:
    """The RainerScript condition for a filter; None if every event passes."""
    return None if filter_ is None else Emitted(" and ".join(_terms(filter_)))


def _terms(filter_: Filter) -> Iterator[str]:
    if filter_.syslogseverity is not None:
        yield f"$syslogseverity <= {SEVERITIES.index(filter_.syslogseverity)}"
    if filter_.syslogfacility is not None:
        codes = [FACILITIES.index(name) for name in filter_.syslogfacility]
        yield _one_of([f"$syslogfacility == {code}" for code in codes])
    if filter_.programname is not None:
        yield _one_of([f"$programname == {literal(name)}" for name in filter_.programname])
    if filter_.parsesuccess is not None:
        yield f'$parsesuccess {"==" if filter_.parsesuccess else "!="} "OK"'
    for match in filter_.match or ():
        yield _comparison(match)


def _comparison(match: Match) -> str:
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
    return f"not ({' or '.join(comparisons)})" if match.negate else _one_of(comparisons)


def _one_of(terms: list[str]) -> str:
    return terms[0] if len(terms) == 1 else f"({' or '.join(terms)})"


class ActionStatement(NamedTuple):
    """An action that changes the event."""

    name: str
    type: str
    parameters: Parameters
    condition: Emitted | None = None
    kind: str = "action"


class SetStatement(NamedTuple):
    """Variables that are set one after the other.  The last holds the result, which is copied to
    the first of `places`, if any, in the event's JSON.

    rsyslogd does not replace an object or array, nor a text in the place of a parent.  So `places`
    lists the value's path and its parents, which are removed one by one until the value is set.
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
    """Removes a variable."""

    variable: str
    condition: Emitted | None
    kind: str = "unset"


Statement = ActionStatement | SetStatement | UnsetStatement


def statements(name: str | None, profile_name: str, stream: Stream) -> Iterator[Statement]:
    """The statements for each event of a stream before its outputs; parsing comes first unless a
    step places it."""
    stem = name or profile_name
    steps: tuple[AnyStep, ...] = stream.steps
    if not any(isinstance(step, ParseStep) for step in steps):
        steps = (ParseStep.model_construct(type="parse"), *steps)
    # Two dots, as templates of outputs have only one.
    collected = Steps("$.steps", "own.steps" if name is None else f"stream.{name}")
    for number, step in enumerate(steps):
        if isinstance(step, ParseStep):
            parse = stream.parse
            if isinstance(parse, RsyslogSection):
                action = f"{stem}-{parse.format}"
                yield ActionStatement(action, PARSING[parse.format], own_parameters(parse))
        elif isinstance(step, SetStep):
            yield _set(step, stream, collected)
        elif isinstance(step, UnsetStep):
            path, variable = step.json_path, variable_name(str(step.variable))
            yield UnsetStatement(
                variable if path is None else json_name(path), condition(step.filter)
            )
        else:
            action = f"{stem}-{step.type}-{number}"
            yield ActionStatement(action, step.type, own_parameters(step), condition(step.filter))


def templates_of(all_statements: Iterator[Statement]) -> tuple[TextStep, ...]:
    """The text steps of the statements, each of which needs a template."""
    return tuple(
        text
        for statement in all_statements
        if isinstance(statement, SetStatement)
        for text in statement.texts
    )


def _set(step: SetStep, stream: Stream, steps: Steps) -> SetStatement:
    before = len(steps.all)
    pieces = tuple(piece for part in step.value for piece in _pieces(part, stream, steps))
    fallback = None if step.fallback is None else literal(step.fallback)
    path_variable = None if step.variable is None else variable_name(step.variable)
    steps.text(pieces, fallback=fallback, variable=path_variable, table=step.lookup)
    texts = tuple(step for step in steps.all[before:] if isinstance(step, TextStep))
    places, path = [], step.json_path or ""
    while path:
        places.append(json_name(path))
        path = path.rpartition(".")[0]
    return SetStatement(texts, tuple(places), condition(step.filter))


def _pieces(part: TextSource, stream: Stream, steps: Steps) -> tuple[Piece, ...]:
    if part.constant is not None:
        return (str(part.constant),)
    if part.json_path == EVERYTHING:
        return (PARSED_JSON,)
    return mended_texts(part, stream.parse, steps)

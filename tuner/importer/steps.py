"""Statements that change events: the steps of a profile, and what may not change places with
them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from tuner.importer.conditions import filter_of, path_of, property_name, variables
from tuner.importer.document import WHOLE_JSON
from tuner.importer.flow import Reached
from tuner.modules.registry import STEPS, name_of
from tuner.modules.step import SetStep, StreamStep, UnsetStep
from tuner.rainerscript.configuration import Parts
from tuner.rainerscript.gaps import Gaps, Inexpressible
from tuner.rainerscript.parameters import QUEUE, known
from tuner.rainerscript.script import (
    Expression,
    Foreach,
    FunctionCall,
    If,
    Operation,
    Parameter,
    Quoted,
    ScriptObject,
    SetVariable,
    Statement,
    Variable,
    every,
)
from tuner.rainerscript.template import Template, TemplateProperty

_MODULES = {name_of(one): one for one in STEPS}


def is_step(statement: Statement) -> bool:
    """Whether a statement changes events in a way that a step may say."""
    is_module = (
        isinstance(statement, ScriptObject) and (statement.text("type") or "").lower() in _MODULES
    )
    return is_module or isinstance(statement, SetVariable)


def is_said_by_the_step(one: Parameter) -> bool:
    """Whether a parameter of an action that changes events is its name, or that it has no queue."""
    return one.key in {"type", "name"} or (
        one.key == f"{QUEUE}type" and (one.text or "").lower() == "direct"
    )


def step_of(one: Reached, parts: Parts, gaps: Gaps) -> dict[str, Any]:
    """The step; raises Inexpressible."""
    statement = one.statement
    if isinstance(statement, SetVariable):
        data = _variable(statement, parts)
        model: type[StreamStep] = UnsetStep if statement.value is None else SetStep
    else:
        kind = (statement.text("type") or "").lower() if isinstance(statement, ScriptObject) else ""
        model = _MODULES[kind]
        shared = [each for each in parts.modules.get(kind, ()) if each.key != "load"]
        given = statement.parameters if isinstance(statement, ScriptObject) else ()
        own = [each for each in given if not is_said_by_the_step(each)]
        data = {"type": kind} | known(model, [*shared, *own], f"step {kind}", gaps)
    wanted = filter_of(one.guards)
    if wanted is not None:
        data["filter"] = wanted
    try:
        model.model_validate(data, by_alias=True, by_name=False)
    except ValidationError as bad:
        where = ".".join(map(str, bad.errors(include_url=False)[0]["loc"])) or "this"
        raise Inexpressible(statement.origin, f"a step does not say {where}") from None
    return data


def _variable(statement: SetVariable, parts: Parts) -> dict[str, Any]:
    source, path = path_of(statement.variable)
    if source is None:
        raise Inexpressible(statement.origin, f"a step does not set {statement.variable}")
    if statement.value is None:
        return {"type": "unset", source: path}
    data: dict[str, Any] = {"type": "set", source: path}
    value = statement.value
    if isinstance(value, FunctionCall) and value.name.lower() == "lookup":
        table, key = value.operands
        if not isinstance(table, Quoted) or table.text not in parts.tables:
            raise Inexpressible(value.origin, "a table that is not there")
        return data | {"value": list(_texts(key, True)), "lookup": table.text}
    return data | {"value": list(_texts(value, False))}


def _texts(value: Expression, is_text: bool) -> Iterator[dict[str, object]]:
    """The sources of a text; a path into JSON alone may hold what is no text."""
    match value:
        case Quoted(text=text, backtick=False):
            yield {"constant": text}
        case Variable(name=name):
            source, path = path_of(name)
            known_name = property_name(name)
            if source is not None and is_text:
                yield {source: path}
            elif source is None and known_name is not None:
                yield {"property": known_name}
            else:
                raise Inexpressible(value.origin, f"a copy of {name}, which may be no text")
        case Operation(operator="&", operands=operands):
            for one in operands:
                yield from _texts(one, True)
        case _:
            raise Inexpressible(value.origin, "a value that is worked out")


PARSED, KEPT, OUTPUT = range(3)
"""The places of a rendered ruleset: what parses, the snippets, the outputs."""

_JSON = frozenset({"$!", "$parsesuccess"})
_TEXT = frozenset({"$msg", "$rawmsg"})
# What modules that change events write; any other may write everything.
_WRITES = {
    "mmjsonparse": _JSON, "mmnormalize": _JSON, "mmfields": _JSON, "mmpstrucdata": _JSON,
    "mmdblookup": _JSON, "mmkubernetes": _JSON, "mmcount": _JSON, "mmsequence": _JSON,
    "mmutf8fix": _TEXT, "mmrm1stspace": _TEXT, "mmanon": _TEXT,
}  # fmt: skip
_EVERYTHING = frozenset({"$"})


def why_bound(
    reached: Sequence[Reached], places: Sequence[int], templates: Mapping[str, Template]
) -> Statement | None:
    """The first statement that does something else where statements are carried out by their
    places, and in each place in their own order; None where all may move."""
    writes = [_written(one.statement) for one in reached]
    reads = [_read(one, templates) for one in reached]
    for number, one in enumerate(reached):
        for guard in one.guards:
            asked = _asked(guard.condition)
            if any(_meet(asked, written) for written in writes[guard.after : number]):
                return one.statement
        for other in range(number):
            is_moved = places[number] < places[other]
            touched = reads[number] | writes[number]
            if is_moved and (_meet(writes[other], touched) or _meet(reads[other], writes[number])):
                return one.statement
        if _is_parsing(one.statement, places[number]) and not _is_read_only_under(
            number, reached, writes, reads
        ):
            return one.statement
    return None


def _is_parsing(statement: Statement, place: int) -> bool:
    """Whether a statement becomes the `parse` of all events, whatever its conditions."""
    kind = (statement.text("type") or "").lower() if isinstance(statement, ScriptObject) else ""
    return place == PARSED and kind in {"mmjsonparse", "mmnormalize"}


def _is_read_only_under(
    number: int,
    reached: Sequence[Reached],
    writes: Sequence[frozenset[str]],
    reads: Sequence[frozenset[str]],
) -> bool:
    """Whether what only some events are parsed for concerns no others."""
    needed = set(reached[number].guards)
    return all(
        needed.issubset(one.guards) or not _meet(writes[number], reads[other])
        for other, one in enumerate(reached)
        if other != number
    )


def _asked(expression: Expression) -> frozenset[str]:
    return frozenset(map(_named, variables(expression)))


def _named(name: str) -> str:
    lowered = name.lower()
    if lowered in WHOLE_JSON or lowered == "jsonmesg":
        return "$!"
    return lowered if lowered.startswith("$") else f"${lowered}"


def _meet(some: frozenset[str], others: frozenset[str]) -> bool:
    return any(_is_part(a, b) or _is_part(b, a) for a in some for b in others)


def _is_part(name: str, whole: str) -> bool:
    return name.startswith(whole) and (
        name == whole or whole in {"$", "$!", "$.", "$/"} or name[len(whole)] == "!"
    )


def _written(statement: Statement) -> frozenset[str]:
    names: set[str] = set()
    for one in every((statement,)):
        if isinstance(one, SetVariable):
            names |= {one.variable.lower(), *(_filled(one.value) if one.value else ())}
        elif isinstance(one, Foreach):
            names.add(one.variable.lower())
        elif (
            isinstance(one, ScriptObject) and (kind := (one.text("type") or "").lower())[:2] == "mm"
        ):
            names |= _WRITES.get(kind, _EVERYTHING)
    return frozenset(names)


def _filled(expression: Expression) -> Iterator[str]:
    """The variables that functions such as parse_json() fill in."""
    if isinstance(expression, FunctionCall):
        texts = (one.text for one in expression.operands if isinstance(one, Quoted))
        yield from (text.lower() for text in texts if text.startswith(("$!", "$.", "$/")))
    if isinstance(expression, Operation | FunctionCall):
        for operand in expression.operands:
            yield from _filled(operand)


def _read(reached: Reached, templates: Mapping[str, Template]) -> frozenset[str]:
    names: set[str] = set()
    for guard in reached.guards:
        names |= _asked(guard.condition)
    for one in every((reached.statement,)):
        if isinstance(one, SetVariable) and one.value is not None:
            names |= _asked(one.value)
        elif isinstance(one, Foreach):
            names |= _asked(one.values)
        elif isinstance(one, If):
            names |= _asked(one.condition)
        elif isinstance(one, ScriptObject):
            names.update(_read_by(one, templates))
    return frozenset(names)


def _read_by(action: ScriptObject, templates: Mapping[str, Template]) -> Iterator[str]:
    kind = (action.text("type") or "").lower()
    if kind.startswith("mm"):
        yield from _TEXT if kind in _WRITES else _EVERYTHING
    for parameter in action.parameters:
        template = templates.get((parameter.text or "").strip().lower())
        if template is None:
            continue
        if template.subtree is not None:
            yield _named(template.subtree)
        for piece in template.pieces:
            if isinstance(piece, TemplateProperty):
                yield _named(piece.name)

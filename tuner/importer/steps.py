"""Statements that change events as the steps of a profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from tuner.importer.conditions import filter_of, path_of, property_name
from tuner.importer.configuration import Parts
from tuner.importer.flow import Reached
from tuner.importer.gaps import Gaps, Inexpressible
from tuner.importer.parameters import known
from tuner.importer.script import (
    Expression,
    FunctionCall,
    Operation,
    Quoted,
    SetVariable,
    Statement,
    Thing,
    Variable,
)
from tuner.modules.registry import STEPS, name_of
from tuner.modules.step import SetStep, StreamStep, UnsetStep

_MODULES = {name_of(one): one for one in STEPS}


def is_step(statement: Statement) -> bool:
    """Whether a statement changes events in a way that a step may say."""
    is_module = isinstance(statement, Thing) and (statement.text("type") or "").lower() in _MODULES
    return is_module or isinstance(statement, SetVariable)


def step_of(one: Reached, parts: Parts, gaps: Gaps) -> dict[str, Any]:
    """The step; raises Inexpressible."""
    statement = one.statement
    if isinstance(statement, SetVariable):
        data = _variable(statement, parts)
        model: type[StreamStep] = UnsetStep if statement.value is None else SetStep
    else:
        kind = (statement.text("type") or "").lower() if isinstance(statement, Thing) else ""
        model = _MODULES[kind]
        shared = [each for each in parts.modules.get(kind, ()) if each.key != "load"]
        given = statement.parameters if isinstance(statement, Thing) else ()
        own = [each for each in given if each.key not in {"type", "name"}]
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

"""Statements that change events as the steps of a profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tuner.importer.reached import Reached, kind_of
from tuner.modules.mmanon import MmanonStep
from tuner.modules.step import SetStep, StreamStep, UnsetStep
from tuner.modules.text_source import TIMES
from tuner.rainerscript.conditions import filter_of, path_of, property_name
from tuner.rainerscript.configuration import Parts
from tuner.rainerscript.gaps import Gaps, Inexpressible
from tuner.rainerscript.parameters import is_text, known, misfit
from tuner.rainerscript.script import (
    QUEUE,
    Expression,
    FunctionCall,
    Operation,
    Parameter,
    Quoted,
    ScriptObject,
    SetVariable,
    Statement,
    Variable,
)

_MODULES: dict[str, type[StreamStep]] = {"mmanon": MmanonStep}


def is_step(statement: Statement) -> bool:
    """Whether a statement changes events in a way that a step may say."""
    return isinstance(statement, SetVariable) or kind_of(statement) in _MODULES


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
        kind = kind_of(statement)
        model = _MODULES[kind]
        shared = [each for each in parts.modules.get(kind, ()) if each.key != "load"]
        given = statement.parameters if isinstance(statement, ScriptObject) else ()
        own = [each for each in given if not is_said_by_the_step(each)]
        data = {"type": kind} | known(model, [*shared, *own], f"step {kind}", gaps)
    wanted = filter_of(one.guards)
    if wanted is not None:
        data["filter"] = wanted
    wrong = misfit(model, data) if is_text(data) else ""
    if wrong is not None:
        raise Inexpressible(statement.origin, f"a step does not say {wrong or 'this'}")
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
        if len(value.operands) != 2:
            raise Inexpressible(value.origin, "lookup() without a table and one value")
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
            if known_name is None:
                raise Inexpressible(value.origin, f"a step does not know {name}")
            if source is not None and is_text:
                yield {source: path}
            elif source is None:
                # A script reads a time in the form of RFC 3164.
                form: dict[str, object] = {"dateFormat": "rfc3164"} if known_name in TIMES else {}
                yield {"property": known_name} | form
            else:
                raise Inexpressible(value.origin, f"a copy of {name}, which may be no text")
        case Operation(operator="&", operands=operands):
            for one in operands:
                yield from _texts(one, True)
        case _:
            raise Inexpressible(value.origin, "a value that is worked out")

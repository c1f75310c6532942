"""The texts that a configuration asks for, so that events can hold them."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.importer.old_filter import condition_of
from tuner.importer.script import (
    Array,
    Block,
    Expression,
    FunctionCall,
    If,
    Operation,
    PropertyFilter,
    Quoted,
    Variable,
    every,
)

_MOST = 60


def words_asked_for(block: Block) -> dict[str, tuple[str, ...]]:
    """By property in lower case, the texts that conditions compare it with."""
    found: dict[str, dict[str, None]] = {}
    for statement in every(block):
        if isinstance(statement, If):
            condition = statement.condition
        elif isinstance(statement, PropertyFilter):
            condition = condition_of(statement)
        else:
            continue
        for name, text in _compared(condition):
            found.setdefault(name, {})[text] = None
    return {name: tuple(texts)[:_MOST] for name, texts in found.items()}


def _compared(expression: Expression) -> Iterator[tuple[str, str]]:
    if not isinstance(expression, Operation | FunctionCall):
        return
    names = [one.name for one in expression.operands if isinstance(one, Variable)]
    for operand in expression.operands:
        for text in _texts(operand) if names else ():
            yield names[0].removeprefix("$").lower(), text
        yield from _compared(operand)


def _texts(operand: Expression) -> tuple[str, ...]:
    if isinstance(operand, Quoted):
        return (operand.text,)
    return tuple(one.text for one in operand.items) if isinstance(operand, Array) else ()

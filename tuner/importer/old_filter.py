"""A selector line or a property filter as the condition that it stands for."""

from __future__ import annotations

from tuner.importer.script import (
    Expression,
    FunctionCall,
    Operation,
    PropertyFilter,
    Quoted,
    SelectorFilter,
    Variable,
)

_OPERATORS = {"isequal": "==", "contains": "contains", "startswith": "startswith"}
_FUNCTIONS = {"ereregex": "re_match", "regex": "re_match_basic"}


def condition_of(one: SelectorFilter | PropertyFilter) -> Expression:
    """The condition; `re_match_basic` stands for a POSIX basic expression, for which RainerScript
    has no function."""
    if isinstance(one, SelectorFilter):
        return FunctionCall("prifilt", (Quoted(one.text, one.origin),), one.origin)
    name, operation, text = (part.strip() for part in one.text.removeprefix(":").split(",", 2))
    negate, operation = operation.startswith("!"), operation.removeprefix("!").strip().lower()
    variable = Variable(f"${name.removeprefix('$')}", one.origin)
    value = Quoted(_unescaped(text[1:-1]), one.origin)
    condition: Expression
    if operation == "isempty":
        condition = Operation("==", (variable, Quoted("", one.origin)), one.origin)
    elif operation in _FUNCTIONS:
        condition = FunctionCall(_FUNCTIONS[operation], (variable, value), one.origin)
    else:
        condition = Operation(_OPERATORS.get(operation, operation), (variable, value), one.origin)
    return Operation("not", (condition,), one.origin) if negate else condition


def _unescaped(text: str) -> str:
    """Only quotes and backslashes are escaped here (runtime/stringbuf.c, parsQuotedCStr)."""
    return text.replace('\\"', '"').replace("\\\\", "\\")

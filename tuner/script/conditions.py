"""What a comparison of RainerScript asks of a message."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from tuner.modules.filter import OPERATIONS
from tuner.modules.text_source import PropertyName
from tuner.script.script import (
    Array,
    Expression,
    FunctionCall,
    Operation,
    Quoted,
    ScriptNumber,
    Variable,
)
from tuner.script.selectors import EVERY, Priorities, selected

_PROPERTIES = frozenset(get_args(PropertyName))
# rsyslog's other names of the same (runtime/msg.c, propNameToID).
_ALIASES = {
    "source": "hostname",
    "timestamp": "timereported",
    "syslogpriority": "syslogseverity",
    "syslogpriority-text": "syslogseverity-text",
}
# The two parts of a priority, as numbers.
_PRIORITY = frozenset({"syslogfacility", "syslogseverity"})
_COMPARES = {
    "==": operator.eq, "!=": operator.ne, "<>": operator.ne, "<=": operator.le, ">=": operator.ge,
    "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_NEGATIVE = frozenset({"!=", "<>"})


@dataclass(frozen=True)
class TextTest:
    """One comparison of a property with one of several texts."""

    property: str
    operation: str
    texts: tuple[str, ...]
    negate: bool = False


Test = TextTest | Priorities | bool
"""What an event must have; a bool is whether it must be parsed."""


def _property_name(name: str) -> str | None:
    """The usual name of a property, a variable as it is; None where there is none of that name."""
    if name.startswith(("$!", "$.")):
        return None if "." in name[2:] else name
    lowered = name.removeprefix("$").lower()
    lowered = _ALIASES.get(lowered, lowered)
    return lowered if lowered in _PROPERTIES else None


def test_of(condition: Expression) -> Test | None:
    """What a comparison that stands for itself asks; None where that cannot be said."""
    match condition:
        case FunctionCall():
            return _function(condition)
        case Operation(operator=word, operands=(Variable() as left, right)):
            number = _code(left, right)
            return _text(left, word, right) if number is None else _compared(left, word, number)
        case _:
            return None


def _function(call: FunctionCall) -> Test | None:
    match call.name.lower(), call.operands:
        case "prifilt", (Quoted(text=text),):
            return selected(text)
        case "re_match", (Variable() as variable, Quoted(text=text)):
            known = _property_name(variable.name)
            return None if known is None else TextTest(known, "ereregex", (text,))
        case _:
            return None


def _text(left: Variable, word: str, right: Expression) -> Test | None:
    is_equality = word in {"==", *_NEGATIVE}
    if left.name.lower() == "$parsesuccess" and is_equality:
        state = next(_texts(right), "").upper()
        if state in {"OK", "FAIL"}:
            return (state == "OK") is (word == "==")
    name, operation = _property_name(left.name), "isequal" if is_equality else word
    texts = tuple(_texts(right))
    # rainerscript.c, str2num(): nothing is 0, and 007 is 7.
    is_number = is_equality and isinstance(right, ScriptNumber)
    if name is None or is_number or operation not in OPERATIONS or not texts or not all(texts):
        return None
    return TextTest(name, operation, texts, word in _NEGATIVE)


def _texts(value: Expression) -> Iterator[str]:
    match value:
        case Quoted(text=text, backtick=False):
            yield text
        case ScriptNumber(number=number):
            yield str(number)
        case Array(items=items):
            yield from (item.text for item in items)
        case _:
            return


def _code(left: Variable, right: Expression) -> int | None:
    """The number of a severity or facility that a comparison names."""
    if _property_name(left.name) not in _PRIORITY:
        return None
    text = next(_texts(right), "")
    is_code = text.isdecimal() and len(text) < 10 and not isinstance(right, Array)
    return int(text) if is_code else None


def _compared(left: Variable, word: str, code: int) -> Priorities | None:
    if word not in _COMPARES:
        return None
    place = 1 if _property_name(left.name) == "syslogseverity" else 0
    return frozenset(pair for pair in EVERY if _COMPARES[word](pair[place], code))

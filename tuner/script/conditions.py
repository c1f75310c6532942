"""What selectors, property filters and comparisons ask of a message."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from tuner.modules.filter import OPERATIONS
from tuner.modules.text_source import PropertyName
from tuner.schema.scalars import FACILITIES, SEVERITIES
from tuner.script.script import (
    Array,
    Expression,
    FunctionCall,
    LegacyFilter,
    Operation,
    Quoted,
    ScriptNumber,
    Variable,
)

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


Priorities = frozenset[tuple[int, int]]
"""Pairs of a facility's and a severity's code."""

Test = TextTest | Priorities
"""What an event must have."""


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
        case FunctionCall(name=name, operands=(Quoted(text=text),)) if name.lower() == "prifilt":
            return selected(text)
        case Operation(operator=word, operands=(Variable() as variable, right)):
            code = _code(variable, right)
            return _text(variable, word, right) if code is None else _compared(variable, word, code)
        case _:
            return None


def _text(variable: Variable, word: str, right: Expression) -> Test | None:
    is_equality = word in {"==", *_NEGATIVE}
    name, operation = _property_name(variable.name), "isequal" if is_equality else word
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


def _code(variable: Variable, right: Expression) -> int | None:
    """The number of a severity or facility that a comparison names."""
    if _property_name(variable.name) not in _PRIORITY:
        return None
    text = next(_texts(right), "")
    is_code = text.isdecimal() and len(text) < 10 and not isinstance(right, Array)
    return int(text) if is_code else None


def _compared(variable: Variable, word: str, code: int) -> Priorities | None:
    if word not in _COMPARES:
        return None
    place = 1 if _property_name(variable.name) == "syslogseverity" else 0
    return frozenset(pair for pair in EVERY if _COMPARES[word](pair[place], code))


EVERY: Priorities = frozenset(
    (facility, severity)
    for facility in range(len(FACILITIES))
    for severity in range(len(SEVERITIES))
)
OLD_SEVERITIES = {"error": "err", "warn": "warning", "panic": "emerg"}


# Facilities have commas between them; after a severity a comma is as good as a semicolon.
_PART = re.compile(r"[^,;.\s][^.;]*\.[^,;\s]*|[^,;\s]+")


def selected(text: str) -> Priorities | None:
    """The priorities that a selector takes; each part changes what those before it say
    (DecodePRIFilter in rsyslog's parse.c).  None where rsyslogd reads none."""
    taken: set[tuple[int, int]] = set()
    for part in _PART.findall(text):
        names, dot, level = part.partition(".")
        severities, facilities = _severities(level.lower()), _facilities(names.lower())
        if not dot or severities is None or facilities is None:
            return None
        for facility in facilities:
            pairs = {(facility, severity) for severity in severities}
            if level.startswith("!"):
                taken -= pairs
            elif level.lower() == "none":
                taken -= {(facility, severity) for severity in range(len(SEVERITIES))}
            else:
                taken |= pairs
    return frozenset(taken)


def _facilities(names: str) -> list[int] | None:
    codes: list[int] = []
    for name in names.split(","):
        word = "auth" if name.strip() == "security" else name.strip()
        if word == "*":
            codes.extend(range(len(FACILITIES)))
        elif word in FACILITIES:
            codes.append(FACILITIES.index(word))
        elif word != "mark":
            return None
    return codes


def _severities(level: str) -> range | None:
    """`info` and everything more urgent, `=info` alone."""
    word = level.removeprefix("!")
    exact = word.startswith("=")
    word = OLD_SEVERITIES.get(word.removeprefix("="), word.removeprefix("="))
    if word in {"*", "none"}:
        return range(len(SEVERITIES))
    if word not in SEVERITIES:
        return None
    code = SEVERITIES.index(word)
    return range(code, code + 1) if exact else range(code + 1)


def condition_of(filter_: LegacyFilter) -> Expression:
    """The condition that an event passes as it passes the filter; rsyslogd compares names of
    priorities otherwise there, and matches basic regular expressions."""
    origin = filter_.origin
    if not filter_.text.startswith(":"):
        return FunctionCall("prifilt", (Quoted(filter_.text, origin),), origin)
    name, operation, text = (part.strip() for part in filter_.text.removeprefix(":").split(",", 2))
    word = operation.removeprefix("!").strip().lower()
    # Only quotes and backslashes are escaped here (runtime/stringbuf.c, parsQuotedCStr).
    wanted = Quoted(text[1:-1].replace('\\"', '"').replace("\\\\", "\\"), origin)
    operands = (Variable(f"${name.removeprefix('$')}", origin), wanted)
    condition = Operation("==" if word == "isequal" else word, operands, origin)
    return Operation("not", (condition,), origin) if operation.startswith("!") else condition

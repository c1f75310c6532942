"""Selectors of the form before version 6, such as `mail.info;auth.none`, as priorities; and what an
expression says instead of these and of property filters."""

from __future__ import annotations

import re
from collections.abc import Collection

from tuner.schema.scalars import FACILITIES, SEVERITIES
from tuner.script.script import (
    Expression,
    FunctionCall,
    Operation,
    PropertyFilter,
    Quoted,
    SelectorFilter,
    Variable,
)
from tuner.script.template import extended

Priorities = frozenset[tuple[int, int]]
"""Pairs of a facility's and a severity's code."""

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


# What the properties of a priority are equal to.
_NAMES: dict[str, Collection[str]] = {
    "syslogfacility-text": FACILITIES,
    "syslogseverity-text": SEVERITIES,
    "syslogpriority-text": SEVERITIES,
    "syslogfacility": [str(number) for number in range(len(FACILITIES))],
    "syslogseverity": [str(number) for number in range(len(SEVERITIES))],
    "syslogpriority": [str(number) for number in range(len(SEVERITIES))],
}


def condition_of(one: SelectorFilter | PropertyFilter) -> Expression:
    """The condition that stands for it."""
    if isinstance(one, SelectorFilter):
        return FunctionCall("prifilt", (Quoted(one.text, one.origin),), one.origin)
    name, operation, text = (part.strip() for part in one.text.removeprefix(":").split(",", 2))
    negate, operation = operation.startswith("!"), operation.removeprefix("!").strip().lower()
    variable = Variable(f"${name.removeprefix('$')}", one.origin)
    # Only quotes and backslashes are escaped here (runtime/stringbuf.c, parsQuotedCStr).
    wanted = text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    value = Quoted(extended(wanted) if operation == "regex" else wanted, one.origin)
    condition: Expression
    names = _NAMES.get(name.lower())
    never = operation == "isempty" or (operation == "isequal" and wanted not in (names or ()))
    if names is not None and never:
        # It compares texts alone, where == takes other names too, and refuses those that are none.
        condition = FunctionCall("prifilt", (Quoted("*.none", one.origin),), one.origin)
    elif operation == "isempty":
        condition = Operation("==", (variable, Quoted("", one.origin)), one.origin)
    elif operation in {"regex", "ereregex"}:
        condition = FunctionCall("re_match", (variable, value), one.origin)
    else:
        operator = "==" if operation == "isequal" else operation
        condition = Operation(operator, (variable, value), one.origin)
    return Operation("not", (condition,), one.origin) if negate else condition

"""What an output takes, as the condition of an `if`."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.modules.filter import OPERATIONS, Filter, Match
from tuner.modules.priorities import FACILITIES, SEVERITIES
from tuner.rainerscript.quoting import Emitted, literal
from tuner.render.field_text import json_name, variable_name

_OPERATORS = {
    "isequal": "==",
    "startswith": "startswith",
    "startswith_i": "startswith_i",
    "contains": "contains",
    "contains_i": "contains_i",
}


def condition(wanted: Filter) -> Emitted:
    """True for the events that `wanted` takes."""
    return Emitted(" and ".join(_terms(wanted)))


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
    operation = next(name for name in OPERATIONS if getattr(match, name) is not None)
    found = [_compared(_value(match), operation, text) for text in getattr(match, operation)]
    return f"not ({' or '.join(found)})" if match.negate else _any(found)


def _value(match: Match) -> str:
    """What is compared, as rsyslog's expressions name it."""
    if match.json_path is not None:
        return json_name(match.json_path)
    if match.variable is not None:
        return variable_name(match.variable)
    return f"${match.property}"


def _compared(name: str, operation: str, text: str) -> str:
    if operation == "ereregex":
        return f"re_match({name}, {literal(text)})"
    return f"{name} {_OPERATORS[operation]} {literal(text)}"


def _any(terms: list[str]) -> str:
    return terms[0] if len(terms) == 1 else f"({' or '.join(terms)})"

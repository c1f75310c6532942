"""What an output takes, as the condition of an `if`."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.modules.filter import OPERATIONS, Filter, Match
from tuner.rainerscript.quoting import Emitted, literal
from tuner.render.field_text import json_name, variable_name
from tuner.schema.scalars import FACILITIES, SEVERITIES


def condition(wanted: Filter | None) -> Emitted | None:
    """True for the events that `wanted` takes; None where it takes all."""
    return None if wanted is None else Emitted(" and ".join(_terms(wanted)))


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
    name = f"${match.property}"
    if match.json_path is not None:
        name = json_name(match.json_path)
    elif match.variable is not None:
        name = variable_name(match.variable)
    operation = next(one for one in OPERATIONS if getattr(match, one) is not None)
    texts = [literal(text) for text in getattr(match, operation)]
    if operation == "ereregex":
        found = [f"re_match({name}, {text})" for text in texts]
    else:
        operator = "==" if operation == "isequal" else operation
        found = [f"{name} {operator} {text}" for text in texts]
    return f"not ({' or '.join(found)})" if match.negate else _any(found)


def _any(terms: list[str]) -> str:
    return terms[0] if len(terms) == 1 else f"({' or '.join(terms)})"

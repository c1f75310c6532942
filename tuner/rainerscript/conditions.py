"""A condition of RainerScript as the filter of an output."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, get_args

from tuner.modules.filter import OPERATIONS
from tuner.modules.text_source import PropertyName
from tuner.rainerscript.gaps import Inexpressible
from tuner.rainerscript.script import (
    Array,
    Expression,
    FunctionCall,
    Operation,
    Quoted,
    ScriptNumber,
    Variable,
    inside,
)
from tuner.rainerscript.selectors import EVERY, Priorities, selected
from tuner.schema.scalars import FACILITIES, SEVERITIES, Facility

_PROPERTIES = frozenset(get_args(PropertyName))
# rsyslog's other names of the same (runtime/msg.c, propNameToID).
PROPERTY_ALIASES = {
    "source": "hostname",
    "timestamp": "timereported",
    "syslogpriority": "syslogseverity",
    "syslogpriority-text": "syslogseverity-text",
}
PRIORITY = frozenset({"syslogfacility", "syslogseverity"})
"""The properties that are the two parts of a priority, as numbers."""
_COMPARES = {
    "==": operator.eq, "!=": operator.ne, "<>": operator.ne, "<=": operator.le, ">=": operator.ge,
    "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_NEGATIVE = frozenset({"!=", "<>"})
_NAMED = frozenset(get_args(Facility))


@dataclass(frozen=True)
class TextTest:
    """One comparison of a property with one of several texts."""

    property: str
    operation: str
    texts: tuple[str, ...]
    negate: bool = False


Test = TextTest | Priorities | bool
"""What an event must have; a bool is whether it must be parsed."""


@dataclass(frozen=True)
class Precondition:
    """A condition, and whether it must hold; it is asked `after` so many statements."""

    condition: Expression
    holds: bool
    after: int = field(default=0, compare=False)

    @cached_property
    def size(self) -> int:
        """How many comparisons and operators it has, one at least."""
        parts = inside(self.condition)
        return sum(isinstance(one, Operation | FunctionCall) for one in parts) or 1


def variables(expression: Expression) -> frozenset[str]:
    """The properties and variables that an expression names, in lower case."""
    return frozenset(one.name.lower() for one in inside(expression) if isinstance(one, Variable))


def property_name(name: str) -> str | None:
    """What a profile calls a property of rsyslog, a variable as it is; None where it knows none of
    that name."""
    if name.startswith(("$!", "$.")):
        return None if "." in name[2:] else name
    lowered = name.removeprefix("$").lower()
    lowered = PROPERTY_ALIASES.get(lowered, lowered)
    return lowered if lowered in _PROPERTIES else None


def path_of(name: str) -> tuple[str | None, str]:
    """The key of a source for a variable, and its path there; no key where a name in that has a
    dot, which is a part of it for rsyslogd (jsonPathFindNext() of msg.c) and not in a profile."""
    source = {"$!": "json", "$.": "variable"}.get(name[:2])
    return (None, name) if "." in name[2:] else (source, name[2:].replace("!", "."))


def filter_of(guards: Sequence[Precondition]) -> dict[str, object] | None:
    """The filter that lets through what all guards do; None where everything passes.  Raises
    Inexpressible."""
    priorities = EVERY
    texts: list[TextTest] = []
    parsed: set[bool] = set()
    for guard in guards:
        for test in _tests(guard.condition, not guard.holds):
            if isinstance(test, TextTest):
                texts.append(test)
            elif isinstance(test, bool):
                parsed.add(test)
            else:
                priorities &= test
    data = _priorities(priorities, next((one.condition for one in guards), None))
    programs = [one for one in texts if (one.property, one.operation) == ("programname", "isequal")]
    if programs and not programs[0].negate:
        data["programname"] = list(programs[0].texts)
        texts.remove(programs[0])
    if len(parsed) > 1:
        raise Inexpressible(guards[0].condition.origin, "a condition that never holds")
    if parsed:
        data["parsesuccess"] = parsed.pop()
    if texts:
        data["match"] = [*data.get("match", []), *map(_match, _merged(texts))]
    return data or None


def _merged(tests: Iterable[TextTest]) -> Iterator[TextTest]:
    """Each test once; what must not be one text and not another is one test."""
    refused: dict[tuple[str, str], list[TextTest]] = {}
    for test in dict.fromkeys(tests):
        if test.negate:
            refused.setdefault((test.property, test.operation), []).append(test)
        else:
            yield test
    for alike in refused.values():
        yield replace(alike[0], texts=tuple(text for one in alike for text in one.texts))


def _match(test: TextTest) -> dict[str, object]:
    source, path = path_of(test.property)
    data: dict[str, object] = {source or "property": path if source else test.property}
    data[test.operation] = list(test.texts)
    return data | ({"negate": True} if test.negate else {})


def _priorities(wanted: Priorities, at: Expression | None) -> dict[str, Any]:
    """Facilities and severities that are taken; only a product of both can be said."""
    if wanted == EVERY:
        return {}
    facilities = sorted({facility for facility, _ in wanted})
    severities = sorted({severity for _, severity in wanted})
    if len(facilities) * len(severities) != len(wanted) or not wanted:
        if at is None:
            raise AssertionError("priorities without a condition")
        why = "takes no event" if not wanted else "takes other severities of each facility"
        raise Inexpressible(at.origin, f"this selection {why}, which a filter cannot say")
    data: dict[str, Any] = {}
    match: list[TextTest] = []
    if len(severities) < len(SEVERITIES):
        if severities == list(range(len(severities))):
            data["syslogseverity"] = SEVERITIES[severities[-1]]
        else:
            names = tuple(SEVERITIES[one] for one in severities)
            match.append(TextTest("syslogseverity-text", "isequal", names))
    if len(facilities) < len(FACILITIES):
        names = tuple(FACILITIES[one] for one in facilities)
        if _NAMED.issuperset(names):
            data["syslogfacility"] = list(names)
        else:
            others = tuple(name for name in FACILITIES if name not in names)
            match.append(TextTest("syslogfacility-text", "isequal", others, negate=True))
    return data | ({"match": [_match(one) for one in match]} if match else {})


def _tests(condition: Expression, negate: bool) -> tuple[Test, ...]:
    """What must all hold for the condition to hold, or with `negate` not to."""
    word = condition.operator if isinstance(condition, Operation) else ""
    if isinstance(condition, Operation) and word == "not":
        return _tests(condition.operands[0], not negate)
    if isinstance(condition, Operation) and word in {"and", "or"}:
        parts = [_tests(one, negate) for one in condition.operands]
        if (word == "and") is not negate:
            return tuple(test for part in parts for test in part)
        return (_either(parts, condition),)
    test = test_of(condition)
    return (_negated(test) if negate else test,)


def _negated(test: Test) -> Test:
    if isinstance(test, TextTest):
        return replace(test, negate=not test.negate)
    return not test if isinstance(test, bool) else EVERY - test


def _either(parts: list[tuple[Test, ...]], at: Expression) -> Test:
    """One test that holds where one of several does."""
    tests = [part[0] for part in parts if len(part) == 1]
    sets = [one for one in tests if isinstance(one, frozenset)]
    texts = [one for one in tests if isinstance(one, TextTest)]
    kinds = {(one.property, one.operation, one.negate) for one in texts}
    if len(sets) == len(parts):
        return frozenset().union(*sets)
    if len(texts) == len(parts) and len(kinds) == 1 and not texts[0].negate:
        return replace(texts[0], texts=tuple(text for one in texts for text in one.texts))
    raise Inexpressible(
        at.origin,
        "a filter says 'or' only between texts of one property, or between severities and "
        "facilities",
    )


def test_of(condition: Expression) -> Test:
    """What a comparison that stands for itself asks; raises Inexpressible."""
    match condition:
        case FunctionCall():
            return _function(condition)
        case Operation(operator=word, operands=(Variable() as left, right)):
            number = _code(left, right)
            return _text(left, word, right) if number is None else _compared(left, word, number)
        case _:
            raise Inexpressible(condition.origin, "a filter cannot express this condition")


def _function(call: FunctionCall) -> Test:
    match call.name.lower(), call.operands:
        case "prifilt", (Quoted(text=text),):
            return selected(text, call.origin)
        case "re_match", (Variable() as variable, Quoted(text=text)):
            known = property_name(variable.name)
            if known is not None:
                return TextTest(known, "ereregex", (text,))
        case _:
            pass
    raise Inexpressible(call.origin, f"a filter does not know {call.name.lower()}() like this")


def _text(left: Variable, word: str, right: Expression) -> Test:
    is_equality = word in {"==", *_NEGATIVE}
    if left.name.lower() == "$parsesuccess" and is_equality:
        state = next(_texts(right), "").upper()
        if state in {"OK", "FAIL"}:
            return (state == "OK") is (word == "==")
    name = property_name(left.name)
    if name is None:
        raise Inexpressible(left.origin, f"a filter does not know {left.name}")
    if is_equality and isinstance(right, ScriptNumber):
        # rainerscript.c, str2num(): nothing is 0, and 007 is 7.
        what = f"a filter does not compare {name} with a number as rsyslog does"
        raise Inexpressible(left.origin, what)
    operation = "isequal" if is_equality else word
    texts = tuple(_texts(right))
    if operation not in OPERATIONS or not texts or not all(texts):
        raise Inexpressible(left.origin, f"a filter does not compare {name} like this")
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
    if property_name(left.name) not in PRIORITY:
        return None
    text = next(_texts(right), "")
    is_code = text.isdecimal() and len(text) < 10 and not isinstance(right, Array)
    return int(text) if is_code else None


def _compared(left: Variable, word: str, code: int) -> Priorities:
    if word not in _COMPARES:
        raise Inexpressible(left.origin, f"a filter does not compare {left.name} like this")
    place = 1 if property_name(left.name) == "syslogseverity" else 0
    return frozenset(pair for pair in EVERY if _COMPARES[word](pair[place], code))

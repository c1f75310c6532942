"""What came of messages, held against what their cases expect; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tuner.cases.arrival import Came
from tuner.cases.load import LoadedCases
from tuner.cases.model import Case, ExpectedArrival, FieldRule, FieldValue, TextRule, TextValue
from tuner.errors import KeyPath, Problem
from tuner.script.hiding import hidden_members
from tuner.script.secrets import names_secret

NOT_AS_EXPECTED = "RT022"
_LONGEST = 200


@dataclass(frozen=True)
class JudgedCase:
    """A case, the problems that it found, none where it passed, and what came of its message."""

    name: str
    problems: tuple[Problem, ...]
    came: tuple[Came, ...]

    @property
    def passed(self) -> bool:
        """Whether what came is what it expects."""
        return not self.problems


def judged(loaded: LoadedCases, came: Sequence[Sequence[Came]]) -> tuple[JudgedCase, ...]:
    """Each case with what came of its message, differences at their places in the file."""
    found = []
    for number, (case, mine) in enumerate(zip(loaded.cases.cases, came, strict=True)):
        problems = tuple(
            loaded.problem(("cases", number, *path), f"{case.name}: {text}", NOT_AS_EXPECTED)
            for path, text in _differences(case, mine)
        )
        found.append(JudgedCase(case.name, problems, tuple(mine)))
    return tuple(found)


def _differences(case: Case, came: Sequence[Came]) -> Iterator[tuple[KeyPath, str]]:
    """In what a case and what came of its message differ, with the keys that say otherwise."""
    fitted = _fitted(case.expect, came)
    left = [each for place, each in enumerate(came) if place not in fitted]
    expected = {came[place].output for place in fitted}
    for number, one in enumerate(case.expect):
        here: KeyPath = ("expect", number)
        if one.output is not None:
            expected.add(one.output)
        if number in fitted.values():
            continue
        fitting = [each for each in left if _may_be(one, each)]
        if not fitting:
            what = "line" if one.is_line else "document"
            by = "" if one.output is None else f" by {one.output}"
            yield here, f"no {what} came{by}; {_counted(left)}"
            continue
        best = min(fitting, key=lambda each: len(tuple(_misfits(one, each))))
        left.remove(best)
        expected.add(best.output)
        for path, text in _misfits(one, best):
            yield (*here, *path), f"{best.output}: {text}"
    for each in left:
        if each.output in expected:
            yield ("expect",), f"{each.output}: one more came: {_shown(each)}"
    reached = {one.output for one in came}
    if case.outputs is not None and reached != set(case.outputs):
        should, does = (", ".join(sorted(one)) or "no output" for one in (case.outputs, reached))
        yield ("outputs",), f"it should reach {should}, and reaches {does}"


def _fitted(expect: Sequence[ExpectedArrival], came: Sequence[Came]) -> dict[int, int]:
    """By the number of what came, that of the expectation which it fits: as many as can be."""
    fits = [
        [n for n, each in enumerate(came) if _may_be(one, each) and not [*_misfits(one, each)]]
        for one in expect
    ]
    taken = dict[int, int]()

    def takes(number: int, tried: set[int]) -> bool:
        for place in fits[number]:
            if place in tried:
                continue
            tried.add(place)
            if place not in taken or takes(taken[place], tried):
                taken[place] = number
                return True
        return False

    for number in range(len(expect)):
        takes(number, set())
    return taken


def _may_be(one: ExpectedArrival, came: Came) -> bool:
    is_mine = one.output in {None, came.output}
    return is_mine and one.is_line == bool(came.arrival.place)


def _misfits(one: ExpectedArrival, came: Came) -> Iterator[tuple[KeyPath, str]]:
    """In what an arrival is not as expected."""
    arrival = came.arrival
    texts: dict[str, tuple[TextValue | None, str | None]] = {
        "index": (one.index, arrival.index),
        "id": (one.id, arrival.document_id),
        "pipeline": (one.pipeline, arrival.pipeline),
        "file": (one.file, arrival.place),
        "line": (one.line, arrival.text),
    }
    for key, (rule, given) in texts.items():
        wanted = _unlike(rule, given) if key in one.model_fields_set else None
        if wanted is not None:
            yield (key,), f"{key} {wanted}"
    if one.is_line:
        return
    fields = arrival.fields
    if fields is None:
        path: KeyPath = ("fields",) if one.fields else ()
        shown = hidden_members(arrival.text)[:_LONGEST]
        yield path, f"it is no JSON object with each key once: {shown}"
        return
    for name, value in one.fields.items():
        wanted = _unlike_field(name, value, fields)
        if wanted is not None:
            yield ("fields", name), f"{name} {wanted}"


def _unlike(rule: TextValue | None, given: str | None) -> str | None:
    """What a text should be and is not."""
    if isinstance(rule, TextRule):
        return None if _fits(rule.pattern, given) else _said(f"match {rule.pattern}", given)
    return None if rule == given else _said(f"be {_json(rule)}", given)


def _unlike_field(name: str, value: FieldValue, fields: Mapping[str, object]) -> str | None:
    """What a field should be and is not."""
    inner = {key: one for key, one in fields.items() if key.startswith(f"{name}.")}
    is_there = name in fields or bool(inner)
    given = fields.get(name, inner)
    shown = "***" if names_secret(name) else _json(given)
    if isinstance(value, FieldRule) and value.pattern is None:
        return f"should be absent, is {shown}" if is_there else None
    if isinstance(value, FieldRule):
        wanted, fits = f"match {value.pattern}", is_there and _fits(str(value.pattern), given)
    else:
        wanted, fits = f"be {_json(value)}", is_there and _same(value, given)
    return None if fits else f"should {wanted}, {f'is {shown}' if is_there else 'is not there'}"


def _same(value: object, given: object) -> bool:
    """Equal, and a switch only where the other is one."""
    if isinstance(value, list) and isinstance(given, list):
        return len(value) == len(given) and all(map(_same, value, given))
    return value == given and isinstance(value, bool) == isinstance(given, bool)


def _fits(pattern: str, given: object) -> bool:
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return given is not None and re.fullmatch(pattern, text, re.DOTALL) is not None


def _said(wanted: str, given: str | None) -> str:
    return f"should {wanted}, is {_json(given)}"


def _json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _counted(left: Sequence[Came]) -> str:
    names = dict.fromkeys(one.output for one in left)
    return f"what came, came by {', '.join(names)}" if names else "nothing else came"


def _shown(came: Came) -> str:
    arrival = came.arrival
    where = arrival.place or f"index {arrival.index}"
    return f"{where}: {hidden_members(arrival.text)[:_LONGEST]}"

"""What came of messages, held against what their cases expect; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tuner.cases.case_file import (
    Case,
    ExpectedArrival,
    FieldRule,
    FieldValue,
    LoadedCases,
    TextRule,
    TextValue,
)
from tuner.cases.run import Came
from tuner.errors import KeyPath, Problem
from tuner.script.secrets import hidden_members, names_secret

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
    judged_cases = []
    for number, (case, arrivals) in enumerate(zip(loaded.cases.cases, came, strict=True)):
        problems = tuple(
            loaded.problem(("cases", number, *path), f"{case.name}: {text}", NOT_AS_EXPECTED)
            for path, text in _differences(case, arrivals)
        )
        judged_cases.append(JudgedCase(case.name, problems, tuple(arrivals)))
    return tuple(judged_cases)


def _differences(case: Case, came: Sequence[Came]) -> Iterator[tuple[KeyPath, str]]:
    """In what a case and what came of its message differ, with the keys that say otherwise."""
    fitted = _fitted(case.expect, came)
    unexpected = [arrival for place, arrival in enumerate(came) if place not in fitted]
    expected = {came[place].output for place in fitted}
    for number, expectation in enumerate(case.expect):
        keys: KeyPath = ("expect", number)
        if expectation.output is not None:
            expected.add(expectation.output)
        if number in fitted.values():
            continue
        fitting = [arrival for arrival in unexpected if _may_be(expectation, arrival)]
        if not fitting:
            noun = "line" if expectation.is_line else "document"
            by = "" if expectation.output is None else f" by {expectation.output}"
            yield keys, f"no {noun} came{by}; {_came_by(unexpected)}"
            continue
        best = min(fitting, key=lambda arrival: len(tuple(_misfits(expectation, arrival))))
        unexpected.remove(best)
        expected.add(best.output)
        for path, text in _misfits(expectation, best):
            yield (*keys, *path), f"{best.output}: {text}"
    for arrival in unexpected:
        if arrival.output in expected:
            yield ("expect",), f"{arrival.output}: one more came: {_shown(arrival)}"
    reached = {arrival.output for arrival in came}
    if case.outputs is not None and reached != set(case.outputs):
        should, does = (", ".join(sorted(names)) for names in (case.outputs, reached))
        text = f"it should reach {should or 'no output'}, and reaches {does or 'no output'}"
        yield ("outputs",), text


def _fitted(expect: Sequence[ExpectedArrival], came: Sequence[Came]) -> dict[int, int]:
    """By the number of what came, that of the expectation which it fits: as many as can be."""
    fits = [
        [
            place
            for place, arrival in enumerate(came)
            if _may_be(expectation, arrival) and not [*_misfits(expectation, arrival)]
        ]
        for expectation in expect
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


def _may_be(expectation: ExpectedArrival, came: Came) -> bool:
    is_mine = expectation.output in {None, came.output}
    return is_mine and expectation.is_line == bool(came.arrival.place)


def _misfits(expectation: ExpectedArrival, came: Came) -> Iterator[tuple[KeyPath, str]]:
    """The keys in which an arrival is not as expected, and how."""
    arrival = came.arrival
    texts: dict[str, tuple[TextValue | None, str | None]] = {
        "index": (expectation.index, arrival.index),
        "id": (expectation.id, arrival.document_id),
        "pipeline": (expectation.pipeline, arrival.pipeline),
        "file": (expectation.file, arrival.place),
        "line": (expectation.line, arrival.text),
    }
    for key, (rule, actual) in texts.items():
        difference = _unlike(key, rule, actual, is_there=True)
        if key in expectation.model_fields_set and difference is not None:
            yield (key,), difference
    if expectation.is_line:
        return
    fields = arrival.fields
    if fields is None:
        path: KeyPath = ("fields",) if expectation.fields else ()
        shown = hidden_members(arrival.text)[:_LONGEST]
        yield path, f"it is no JSON object with each key once: {shown}"
        return
    for name, value in expectation.fields.items():
        inner = {key: member for key, member in fields.items() if key.startswith(f"{name}.")}
        is_there = name in fields or bool(inner)
        difference = _unlike(name, value, fields.get(name, inner), is_there=is_there)
        if difference is not None:
            yield ("fields", name), difference


def _unlike(
    name: str, wanted: TextValue | FieldValue | None, actual: object, *, is_there: bool
) -> str | None:
    """What a value should be and is not, behind its name."""
    shown = (
        f"is {'***' if names_secret(name) else shown_json(actual)}" if is_there else "is not there"
    )
    pattern = wanted.pattern if isinstance(wanted, TextRule | FieldRule) else None
    if isinstance(wanted, FieldRule) and pattern is None:
        return f"{name} should be absent, {shown}" if is_there else None
    if pattern is not None:
        should, fits = f"match {pattern}", is_there and _fits(pattern, actual)
    else:
        should, fits = f"be {shown_json(wanted)}", is_there and _same(wanted, actual)
    return None if fits else f"{name} should {should}, {shown}"


def _same(value: object, actual: object) -> bool:
    """Equal, and a switch only where the other is one."""
    if isinstance(value, list) and isinstance(actual, list):
        return len(value) == len(actual) and all(map(_same, value, actual))
    return value == actual and isinstance(value, bool) == isinstance(actual, bool)


def _fits(pattern: str, actual: object) -> bool:
    text = actual if isinstance(actual, str) else json.dumps(actual, ensure_ascii=False)
    return actual is not None and re.fullmatch(pattern, text, re.DOTALL) is not None


def shown_json(value: object, longest: int = _LONGEST) -> str:
    """A value as JSON of at most so many characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= longest else f"{text[:longest]}..."


def _came_by(arrivals: Sequence[Came]) -> str:
    names = dict.fromkeys(arrival.output for arrival in arrivals)
    return f"what came, came by {', '.join(names)}" if names else "nothing else came"


def _shown(came: Came) -> str:
    arrival = came.arrival
    where = arrival.place or f"index {arrival.index}"
    return f"{where}: {hidden_members(arrival.text)[:_LONGEST]}"

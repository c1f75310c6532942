"""A file of cases: read, validated, held against what the configuration has, all problems at once;
and the message of each case."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from tuner.cases.model import Case, Cases
from tuner.cases.run import Sent, Surface
from tuner.errors import BadProfile, KeyPath, Problem
from tuner.flood.heads import STYLES, HeadFields
from tuner.lab.entrances import has_address
from tuner.lint.load import text_of
from tuner.modules.input import TRANSPORTS, TransportKind
from tuner.profile.source import Source, problem_at, read
from tuner.profile.wording import WRONG_VALUE, validated
from tuner.schema.scalars import FACILITIES, SEVERITIES

NO_SUCH_NAME = "RT021"


@dataclass(frozen=True)
class LoadedCases:
    """Valid cases, and where they stand in their file."""

    cases: Cases
    source: Source

    @property
    def time_zone(self) -> tzinfo | None:
        """That of rsyslogd; None is this machine's."""
        return None if self.cases.timezone is None else ZoneInfo(self.cases.timezone)

    def beside(self, name: str) -> Path:
        """A file that the cases name, whose path is relative to theirs."""
        return Path(self.source.name).parent / name

    def problem(self, path: KeyPath, message: str, code: str) -> Problem:
        """What is wrong at a place of the file."""
        return problem_at(self.source.name, self.source.position(path), message, code)


def load_cases(path: Path) -> LoadedCases:
    """The cases in a file; raises BadProfile with every problem found."""
    source = read(text_of(path), str(path))
    loaded = LoadedCases(validated(Cases, source, source.data or {}), source)
    problems = (*source.problems, *_twice(loaded))
    if problems:
        raise BadProfile(problems)
    return loaded


def _twice(loaded: LoadedCases) -> Iterator[Problem]:
    """What a file says twice."""
    source, names = loaded.source, set[str]()
    if loaded.cases.profile is not None and loaded.cases.conf is not None:
        position, text = source.key_position(("conf",)), "write profile or conf, not both"
        yield problem_at(source.name, position, text, WRONG_VALUE)
    for number, name in enumerate(case.name for case in loaded.cases.cases):
        if name in names:
            text = f"two cases are called {name}: give each a name of its own"
            yield loaded.problem(("cases", number, "name"), text, WRONG_VALUE)
        names.add(name)


def messages(loaded: LoadedCases, surface: Surface) -> tuple[Sent, ...]:
    """What is sent for each case; raises BadProfile with every name that the configuration does not
    have."""
    problems = list(_problems(loaded, surface))
    if problems:
        raise BadProfile(tuple(problems))
    now = datetime.now(loaded.time_zone).astimezone(loaded.time_zone)
    return tuple(
        Sent(name, message_of(case, surface.inputs[name], now), case.sender)
        for case in loaded.cases.cases
        for name in inputs_called(case.input, surface)[:1]
    )


def inputs_called(name: str | None, surface: Surface) -> tuple[str, ...]:
    """The inputs of that name, or type; without one the first."""
    if name is None:
        return tuple(surface.inputs)[:1]
    if name in surface.inputs:
        return (name,)
    return tuple(label for label in surface.inputs if name == label.partition(":")[0])


def _problems(loaded: LoadedCases, surface: Surface) -> Iterator[Problem]:
    for number, case in enumerate(loaded.cases.cases):
        keys: KeyPath = ("cases", number)
        yield from _input_problems(loaded, case, keys, surface)
        for place, name in _named_outputs(case, keys):
            if name not in surface.outputs:
                text = f"no output {name} is tested: {_instead(name, tuple(surface.outputs))}"
                yield loaded.problem(place, text, NO_SUCH_NAME)
        if case.outputs is None:
            continue
        for index, expected in enumerate(case.expect):
            if not case.outputs or expected.output not in (None, *case.outputs):
                text = "this comes by no output that `outputs` lists: add that there, or remove it"
                yield loaded.problem((*keys, "expect", index), text, NO_SUCH_NAME)


def _input_problems(
    loaded: LoadedCases, case: Case, keys: KeyPath, surface: Surface
) -> Iterator[Problem]:
    names = inputs_called(case.input, surface)
    if not names:
        instead = _instead(case.input or "", tuple(surface.inputs))
        text = f"no input {case.input} is tested: {instead}"
        yield loaded.problem((*keys, "input"), text, NO_SUCH_NAME)
    elif len(names) > 1:
        text = f"several inputs are {case.input}: write {' or '.join(names)}"
        yield loaded.problem((*keys, "input"), text, NO_SUCH_NAME)
    elif TRANSPORTS[surface.inputs[names[0]]].has_path and "sender" in case.model_fields_set:
        text = f"{names[0]} takes nothing from other machines: remove sender"
        yield loaded.problem((*keys, "sender"), text, NO_SUCH_NAME)
    elif not has_address(case.sender):
        text = (
            f"this machine has no address {case.sender} to send from: use one of 127.0.0.0/8, or "
            f"give it one first (ip address add {case.sender}/32 dev lo)"
        )
        yield loaded.problem((*keys, "sender"), text, NO_SUCH_NAME)


def _named_outputs(case: Case, keys: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    """The outputs that a case names, and where."""
    for number, name in enumerate(case.outputs or ()):
        yield (*keys, "outputs", number), name
    for number, expected in enumerate(case.expect):
        if expected.output is not None:
            yield (*keys, "expect", number, "output"), expected.output


def _instead(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, 1)
    if near:
        return f"did you mean {near[0]}?"
    return f"there are {', '.join(names)}" if names else "the configuration has none"


def message_of(case: Case, transport: TransportKind, now: datetime) -> bytes:
    """The bytes that are sent; `now`, in the time zone of rsyslogd, is the time of the head where
    the case names none."""
    if case.line is not None:
        return case.line.encode()
    time = now if case.time is None else datetime.fromisoformat(case.time)
    zoned = time if time.tzinfo is not None else time.replace(tzinfo=now.tzinfo)
    written = case.format or TRANSPORTS[transport].format
    stamp = f"{zoned:%b} {zoned.day:2} {zoned:%H:%M:%S}"
    if written == "rfc5424":
        stamp = zoned.isoformat()
    priority = 8 * FACILITIES.index(case.facility) + SEVERITIES.index(case.severity)
    program, process = case.program, None
    if program.endswith("]") and "[" in program:
        program, _, process = program[:-1].partition("[")
    origin = HeadFields(priority, case.host, program, process)
    return f"{STYLES[written].head(origin, stamp)}{case.message}".encode()

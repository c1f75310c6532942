"""A file of cases: messages, and what each must become; read, validated and held against what the
configuration has, all problems at once."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Annotated, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from tuner.cases.run import Sent, Surface
from tuner.errors import BadProfile, KeyPath, Problem
from tuner.flood.heads import STYLES, HeadFields, stamp_3164
from tuner.lab.entrances import has_address
from tuner.lint.load import text_of
from tuner.modules.input import LOOPBACK, TRANSPORTS, Format, TransportKind
from tuner.profile.source import Source, problem_at, read
from tuner.profile.wording import WRONG_VALUE, validated
from tuner.schema.scalars import (
    FACILITIES,
    SEVERITIES,
    Facility,
    Line,
    ProfilePath,
    SeverityName,
    Switch,
)
from tuner.schema.section import Section

NO_SUCH_NAME = "RT021"


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as bad:
        raise ValueError(f"it is no regular expression: {bad}") from None
    return text


def _time(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("write a time as 2026-11-21T06:30:00+01:00") from None
    return text


def _zone(text: str) -> str:
    try:
        ZoneInfo(text)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise ValueError(
            "this machine knows no such time zone: write one as Europe/Berlin"
        ) from None
    return text


_Pattern = Annotated[str, Field(min_length=1, max_length=10_000), AfterValidator(_pattern)]
_Time = Annotated[str, Field(max_length=40), AfterValidator(_time)]
_Zone = Annotated[Line, AfterValidator(_zone)]
_Text = Annotated[str, Field(max_length=1_000_000)]
_Word = Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,255}$")]


class TextRule(Section):
    """What a text must be like: `pattern` is a regular expression for all of it."""

    pattern: _Pattern


class FieldRule(Section):
    """What a value must be like, or that there must be none."""

    pattern: _Pattern | None = None
    absent: Switch = False

    @model_validator(mode="after")
    def _one(self) -> Self:
        if self.absent == (self.pattern is not None):
            raise ValueError("write pattern: or absent: true")
        return self


_Number = Annotated[int, Field(strict=True)] | Annotated[float, Field(strict=True)]
_Plain = Switch | _Number | str | list[Switch | _Number | str | None] | None


def _kind(value: object) -> str:
    return "rule" if isinstance(value, Mapping | Section) else "value"


FieldValue = Annotated[
    Annotated[FieldRule, Tag("rule")] | Annotated[_Plain, Tag("value")], Discriminator(_kind)
]
TextValue = Annotated[
    Annotated[TextRule, Tag("rule")] | Annotated[_Text, Tag("value")], Discriminator(_kind)
]


def _listed(value: object) -> object:
    if isinstance(value, str):
        raise ValueError("write a list of what must come; where that is nothing, outputs: []")
    return value


class ExpectedArrival(Section):
    """A document with its index, id and fields, or a line, which goes into a file or elsewhere."""

    output: Line | None = None
    index: TextValue | None = None
    id: TextValue | None = None
    pipeline: TextValue | None = None
    fields: dict[str, FieldValue] = Field(default_factory=dict)
    file: TextValue | None = None
    line: TextValue | None = None

    @property
    def is_line(self) -> bool:
        """Whether it is no document."""
        return self.file is not None or self.line is not None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        is_document = bool({"index", "id", "pipeline", "fields"} & self.model_fields_set)
        if is_document and self.is_line:
            raise ValueError(
                "index, id, pipeline and fields are of documents, file and line of lines"
            )
        if not (is_document or self.is_line):
            raise ValueError("write fields, or line, of what must come")
        return self


class Case(Section):
    """A message and what must come of it.

    `line` is the message as it is; or else `message` is its text, and the rest says what its head
    is made of.  What comes by an output that is expected must all be; `outputs` are all that it
    reaches, none where the list is empty.
    """

    name: Line
    input: Line | None = None
    sender: Annotated[str, Field(pattern=r"^[0-9]{1,3}(\.[0-9]{1,3}){3}$")] = LOOPBACK
    line: _Text | None = None
    message: _Text | None = None
    format: Format | None = None
    time: _Time | None = None
    facility: Facility = "user"
    severity: SeverityName = "notice"
    host: _Word = "host1"
    program: _Word = "app"
    expect: Annotated[tuple[ExpectedArrival, ...], BeforeValidator(_listed)] = ()
    outputs: tuple[Line, ...] | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if (self.line is None) == (self.message is None):
            raise ValueError("write line, the message as it is, or message, its text alone")
        of_head = sorted(
            {"format", "time", "facility", "severity", "host", "program"} & self.model_fields_set
        )
        if self.line is not None and of_head:
            raise ValueError(f"{', '.join(of_head)}: only with message, as line has its own head")
        if not self.expect and self.outputs is None:
            raise ValueError("it expects nothing: write expect, or outputs: [] where nothing comes")
        return self


class Cases(Section):
    """Messages and what each must become, by a profile or a configuration of rsyslog, whose path is
    relative to the file; `timezone` is that of rsyslogd."""

    profile: ProfilePath | None = None
    conf: ProfilePath | None = None
    timezone: _Zone | None = None
    cases: Annotated[tuple[Case, ...], Field(min_length=1, max_length=1000)]


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
    stamp = zoned.isoformat() if written == "rfc5424" else stamp_3164(zoned)
    priority = 8 * FACILITIES.index(case.facility) + SEVERITIES.index(case.severity)
    program, process = case.program, None
    if program.endswith("]") and "[" in program:
        program, _, process = program[:-1].partition("[")
    origin = HeadFields(priority, case.host, program, process)
    return f"{STYLES[written].head(origin, stamp)}{case.message}".encode()

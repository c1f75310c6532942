"""A file of cases: messages, and what each must become."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from tuner.modules.input import LOOPBACK, Format
from tuner.schema.scalars import Facility, Line, ProfilePath, SeverityName, Switch
from tuner.schema.section import Section


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

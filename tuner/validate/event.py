"""One event as it is sent, and its document as the engine has it, field by field; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from tuner.engine.client import at
from tuner.errors import JobFailed
from tuner.modules.field import DocumentField, FieldType, has_options, is_json, merges
from tuner.modules.input import Format, Input
from tuner.modules.text_source import TIMES
from tuner.schema.scalars import FACILITIES, SEVERITIES

Properties = Mapping[str, str | None]
"""The text of each property; None where it depends on the machine or on the moment."""
_SHAPES: dict[Format, re.Pattern[str]] = {
    "rfc3164": re.compile(
        r"<(?P<priority>\d+)>(?:\S+|.{15}) (?P<host>\S+) (?P<program>[^ \[]+)\[(?P<process>\d+)\]:"
        r"(?P<msg> .*)"
    ),
    "local": re.compile(
        r"<(?P<priority>\d+)>(?:\S+|.{15}) (?P<program>[^ \[]+)\[(?P<process>\d+)\]:(?P<msg> .*)"
    ),
    "rfc5424": re.compile(
        r"<(?P<priority>\d+)>1 \S+ (?P<host>\S+) (?P<program>\S+) (?P<process>\S+) (?P<id>\S+) "
        r"(-|\[[^\]]*\]) (?P<msg>.*)"
    ),
}
_ANYTHING = dict.fromkeys(("rawmsg", "fromhost-ip", "timereported", "timegenerated"))


def read_as(message: str, written: Format, source: Input) -> Properties:
    """The properties of `message`, without its framing, as `source` must find them."""
    if written == "bare":
        return _line(message, source)
    head = _SHAPES[written].fullmatch(message)
    if head is None:
        raise JobFailed(f"this is not a message in the format {written}: {message[:200]}")
    parts = head.groupdict()
    program, process = parts["program"], parts["process"]
    colon = "" if written == "rfc5424" else ":"
    return _head(divmod(int(parts["priority"]), 8), program) | {
        "msg": parts["msg"],
        "hostname": parts.get("host"),
        "procid": process,
        "msgid": parts.get("id", "-"),
        "syslogtag": f"{program}[{process}]{colon}",
    }


def _line(line: str, source: Input) -> Properties:
    """A line without a head, which the input makes up.  The program's name is the tag up to what
    cannot be part of one."""
    head = source.line_head
    if head is None:
        raise JobFailed(f"{source.type} takes no bare lines")
    priority = (FACILITIES.index(head.facility), SEVERITIES.index(head.severity))
    return _head(priority, re.split(r"[:\[/]", head.tag)[0]) | {
        "msg": line,
        "hostname": None,
        "procid": None,
        "msgid": "-",
        "syslogtag": head.tag,
    }


def _head(priority: tuple[int, int], program: str) -> dict[str, str | None]:
    """What depends on facility, severity and program alone."""
    facility, severity = priority
    return {
        **_ANYTHING,
        "syslogfacility": str(facility),
        "syslogfacility-text": FACILITIES[facility],
        "syslogseverity": str(severity),
        "syslogseverity-text": SEVERITIES[severity],
        "programname": program,
        "app-name": program,
    }


_NUMBER = {
    FieldType.INTEGER: re.compile(r"-?\d+"),
    FieldType.FLOAT: re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?"),
}
_TYPES: dict[FieldType, tuple[type, ...]] = {
    FieldType.STRING: (str,),
    FieldType.DATE: (str,),
    FieldType.INTEGER: (int,),
    FieldType.FLOAT: (int, float),
    FieldType.BOOLEAN: (bool,),
}


@dataclass(frozen=True)
class EventTime:
    """The time in which an event came into being, for those of its fields that hold a time."""

    first: datetime
    last: datetime


def differences(
    fields: tuple[DocumentField, ...],
    event: Properties,
    document: Mapping[str, object],
    span: EventTime,
) -> tuple[str, ...]:
    """What is wrong with each field of a document; empty when it is as described."""
    return tuple(f"{name} {text}" for name, text in _wrong_fields(fields, event, document, span))


def _wrong_fields(
    fields: tuple[DocumentField, ...],
    event: Properties,
    document: Mapping[str, object],
    span: EventTime | None,
) -> Iterator[tuple[str, str]]:
    """The names of fields that are not as described, and why."""
    for field in fields:
        value = at(document, *field.name.split("."))
        text = None if merges(field) else _wrong(field, event, value, span)
        if text is not None:
            yield field.name, text


def _wrong(
    field: DocumentField, event: Properties, value: object, span: EventTime | None
) -> str | None:
    """What is wrong with one value, None when nothing is; what options make of a text is not
    worked out."""
    if is_json(field) or has_options(field):
        return None
    if field.property in TIMES:
        return None if span is None else _wrong_time(value, span)
    if field.constant is not None:
        wanted: object = field.constant
    else:
        text = event.get(str(field.property))
        if text is None:
            return None if _fits(field.type, value) else f"is {value!r}, no {field.type.value}"
        wanted = _typed(field.type, text)
    if wanted == value and (wanted is None or _fits(field.type, value)):
        return None
    return f"should be {wanted!r} and is {value!r}"


def _fits(kind: FieldType, value: object) -> bool:
    """Python takes a bool for an int; JSON does not."""
    is_bool = isinstance(value, bool)
    return isinstance(value, _TYPES[kind]) and is_bool == (kind is FieldType.BOOLEAN)


def _typed(kind: FieldType, text: str) -> object:
    """The value of a text; None, which is null, where it is no value of the type."""
    if kind is FieldType.BOOLEAN:
        return {"true": True, "false": False}.get(text)
    if kind not in _NUMBER:
        return text
    if _NUMBER[kind].fullmatch(text) is None:
        return None
    return int(text) if kind is FieldType.INTEGER else float(text)


def _wrong_time(value: object, span: EventTime) -> str | None:
    try:
        moment = datetime.fromisoformat(str(value))
        if span.first <= moment <= span.last:
            return None
    except (ValueError, TypeError):
        return f"is {value!r}, not a time with an offset"
    return f"is {value}, and the event was sent between {span.first} and {span.last}"

"""Whether a document in the engine is the one that the profile describes.  Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from tuner.engine.client import at
from tuner.modules.field import DocumentField, FieldType, has_options, is_json, merges
from tuner.modules.text_source import TIMES
from tuner.profile.documents import mapping_of
from tuner.validate.event import Properties

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
class Span:
    """The time in which an event came into being, for those of its fields that hold a time."""

    first: datetime
    last: datetime


def differences(
    fields: tuple[DocumentField, ...],
    event: Properties,
    document: Mapping[str, object],
    span: Span,
) -> tuple[str, ...]:
    """What is wrong with each field of a document; empty when it is as described."""
    own = (field for field in fields if not merges(field))
    found = ((field, at(document, *field.name.split("."))) for field in own)
    wrong = ((field, _wrong(field, event, value, span)) for field, value in found)
    return tuple(f"{field.name} {text}" for field, text in wrong if text is not None)


def _wrong(field: DocumentField, event: Properties, value: object, span: Span) -> str | None:
    """What is wrong with one value, None when nothing is; what options make of a text is not
    worked out."""
    if is_json(field) or has_options(field):
        return None
    if field.property in TIMES:
        return _wrong_time(value, span)
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


def _wrong_time(value: object, span: Span) -> str | None:
    try:
        moment = datetime.fromisoformat(str(value))
        if span.first <= moment <= span.last:
            return None
    except (ValueError, TypeError):
        return f"is {value!r}, not a time with an offset"
    return f"is {value}, and the event was sent between {span.first} and {span.last}"


def mapping_differences(
    fields: tuple[DocumentField, ...], mapping: object, is_explicit: bool
) -> tuple[str, ...]:
    """The fields whose type in the index is not the one that the profile gives.

    With a mapping that the engine guessed, texts may be of any type.
    """
    return tuple(_mistyped(fields, mapping, is_explicit))


def _mistyped(
    fields: tuple[DocumentField, ...], mapping: object, is_explicit: bool
) -> Iterator[str]:
    wanted = mapping_of(fields)
    for field in fields:
        if merges(field):
            continue
        place = ("properties", *field.name.replace(".", ".properties.").split("."), "type")
        ours, theirs = at(wanted, *place), at(mapping, *place)
        guessed = {"double": {"float", "long"}}.get(str(ours), set())
        loose = not is_explicit and (field.type is FieldType.STRING or theirs in {None, *guessed})
        if ours != theirs and not loose:
            yield f"{field.name} should be mapped as {ours} and is {theirs}"

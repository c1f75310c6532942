"""The document of one event: texts, and the properties of the event between them.

Every property is escaped by format="json", the cheapest complete way (F6); what enters unquoted is
checked.  What no single property can write, a ruleset works out first: see steps.py.  Fields that
the profile names win over members of JSON that is merged into the document.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tuner.modules.field import DocumentField, FieldType, is_json, merges
from tuner.modules.registry import Parse
from tuner.modules.text_source import EVERYTHING, TIMES, TextSource, is_changed
from tuner.render.field_text import CHECKED, Property, checked, checked_again, texts_of
from tuner.render.steps import EVERYTHING_FOUND, Piece, Steps

_DIGITS = frozenset({"syslogfacility", "syslogseverity", "pri", "protocol-version"})
# What rsyslog writes itself, which no sender can fill with half a character.
_ASCII = _DIGITS | {
    "fromhost-ip", "fromhost-port", "syslogfacility-text", "syslogseverity-text", "pri-text",
    "uuid", "parsesuccess", "timereported", "timegenerated",
}  # fmt: skip


class Identity(NamedTuple):
    """A number that messages carry at a fixed place of their text, and the field it goes to.

    Only measurements have one: it lets every event be accounted for.  Positions count from 1.
    """

    field: str
    first: int
    last: int


_Tree = dict[str, "_Tree | DocumentField"]


def document(
    fields: tuple[DocumentField, ...],
    parse: Parse | None,
    identity: Identity | None,
    end: str,
    steps: Steps,
) -> tuple[Piece, ...]:
    """A document of these fields, with `end` after it."""
    own = tuple(field for field in fields if not merges(field))
    members = list(_Members(parse, steps).of(_tree(own)))
    if identity is not None:
        members += _after(members, f'{json.dumps(identity.field)}:"', _number(identity), '"')
    if own == fields:
        pieces: list[Piece] = ["{", *members, "}", end]
    elif not own:
        pieces = [EVERYTHING_FOUND, end]
    else:
        pieces = ["{", *members, steps.merged([field.name for field in own]), end]
    return tuple(_joined(pieces))


def line(parts: tuple[TextSource, ...], parse: Parse | None, end: str) -> tuple[Piece, ...]:
    """A line of these texts and `end`; a control character of the event cannot end it."""
    return tuple(_joined([*(piece for part in parts for piece in _plain(part, parse)), end]))


def labelled(
    labels: tuple[Piece, ...], parts: tuple[TextSource, ...], parse: Parse | None, steps: Steps
) -> tuple[Piece, ...]:
    """An event as a stream of Loki's with one line: these labels, its time in nanoseconds, these
    texts."""
    seconds, fraction = (
        Property("timegenerated", date_format=part) for part in ("unixtimestamp", "subseconds")
    )
    pieces: list[Piece] = ['{"stream":', *labels, ',"values":[["', seconds, fraction, '000","']
    for part in parts:
        if part.constant is not None:
            pieces.append(json.dumps(str(part.constant))[1:-1])
        else:
            texts = texts_in_whole(part, parse, steps)
            pieces += [one._replace(format="json") for one in texts]
    return tuple(_joined([*pieces, '"]]}']))


def _plain(part: TextSource, parse: Parse | None) -> Iterator[Piece]:
    if part.constant is not None:
        yield str(part.constant)
    elif part.json_path == EVERYTHING:
        yield EVERYTHING_FOUND
    else:
        yield from (one._replace(controls="escape") for one in texts_of(part, parse))


def _number(identity: Identity) -> Property:
    return Property("msg", first=identity.first, last=identity.last)


def _after(members: list[Piece], *pieces: Piece) -> list[Piece]:
    """One more member after others."""
    return [",", *pieces] if members else [*pieces]


def _tree(fields: tuple[DocumentField, ...]) -> _Tree:
    """Dotted names as nested objects, in the order of first appearance."""
    root: _Tree = {}
    for field in fields:
        *parents, leaf = field.name.split(".")
        here = root
        for parent in parents:
            inner = here.setdefault(parent, {})
            if not isinstance(inner, dict):
                raise TypeError(f"{parent} is both a value and an object")
            here = inner
        here[leaf] = field
    return root


@dataclass(frozen=True)
class _Members:
    """Writes the members of objects, and gathers the steps that they need."""

    parse: Parse | None
    steps: Steps

    def of(self, tree: _Tree) -> Iterator[Piece]:
        """All members; those that may be left out come last and bring their comma."""
        often = [key for key, value in tree.items() if _may_be_left_out(value)]
        for number, key in enumerate(key for key in tree if key not in often):
            if number:
                yield ","
            value = tree[key]
            if isinstance(value, dict):
                yield f"{json.dumps(key)}:{{"
                yield from self.of(value)
                yield "}"
            else:
                yield from self._member(key, value)
        for key in often:
            value = tree[key]
            if isinstance(value, DocumentField):
                yield self._left_out(key, value)

    def _member(self, key: str, field: DocumentField) -> Iterator[Piece]:
        """One value under its key; one that can be null brings the key itself."""
        if not is_json(field) and (_is_checked(field) or field.on_empty == "null"):
            yield self._whole(key, field, "null")
            return
        yield json.dumps(key) + ":"
        if field.constant is not None:
            yield json.dumps(field.constant)
        elif is_json(field):
            yield self.steps.json(field)
        elif field.type is FieldType.INTEGER:
            yield from self._texts(field)
        else:
            yield '"'
            yield from (one._replace(format=_escaped(field)) for one in self._texts(field))
            yield '"'

    def _whole(self, key: str, field: DocumentField, on_empty: str) -> Property:
        """The whole member, or what stands for one without a value."""
        kind = "number" if field.type in CHECKED else "string"
        texts = (self._value(field),) if _is_checked(field) else self._texts(field)
        one = texts[0] if len(texts) == 1 else self.steps.text(texts)
        return one._replace(member=key, data_type=kind, on_empty=on_empty)

    def _left_out(self, key: str, field: DocumentField) -> Property:
        """A comma and the member, or nothing."""
        if is_json(field):
            return self.steps.json(field, f",{json.dumps(key)}:")
        return self.steps.text((self._whole(key, field, "skip"),), joins=True)

    def _value(self, field: DocumentField) -> Property:
        """A text that is checked; one that options make is checked as what they make of it."""
        if not is_changed(field):
            return checked(field, self.parse)
        return checked_again(field, self.steps.text(texts_of(field, self.parse)).name)

    def _texts(self, field: DocumentField) -> tuple[Property, ...]:
        return texts_in_whole(field, self.parse, self.steps)


def texts_in_whole(source: TextSource, parse: Parse | None, steps: Steps) -> tuple[Property, ...]:
    """The properties that write a text; one that may be cut inside of a character is mended."""
    texts = texts_of(source, parse)
    is_cut = source.position is not None or source.regex is not None
    if is_cut and source.property not in _ASCII:
        return (steps.text(texts, mends=True),)
    return texts


def _escaped(field: DocumentField) -> str | None:
    """Times hold nothing that JSON would escape."""
    return None if field.property in TIMES else "json"


def _may_be_left_out(value: _Tree | DocumentField) -> bool:
    return isinstance(value, DocumentField) and value.on_empty == "skip"


def _is_checked(field: DocumentField) -> bool:
    """Whether the field enters JSON unquoted although its text could be anything."""
    if field.constant is not None or field.type not in CHECKED:
        return False
    is_number = field.property in _DIGITS or field.date_format == "unixtimestamp"
    return not (is_number and field.type is FieldType.INTEGER and not is_changed(field))


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """One text for each stretch between two properties."""
    text = ""
    for one in pieces:
        if isinstance(one, str):
            text += one
            continue
        if text:
            yield text
        yield one
        text = ""
    if text:
        yield text

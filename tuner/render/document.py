"""The document of one event: texts, and the properties of the event between them.

Every property is escaped by format="json", the cheapest complete way (F6); what enters unquoted is
checked.  Where a field is a piece of a text, POSIX extended expressions find it, as glibc's
regexec reads them.  A text that they do not match never reaches a document: nomatchMode BLANK,
where the default writes **NO MATCH**.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tuner.modules.field import DocumentField, FieldType, is_parsed
from tuner.modules.parsing import CsvParse, KvParse
from tuner.modules.registry import Parse

_TIMES = frozenset({"timereported", "timegenerated"})
# What JSON and the mapping both take: 18 digits fit a long, these sizes a double.
# rsyslog's dataType="number" alone writes what comes, such as abc or 007 (seen on 8.2302).
_CHECKED = {
    FieldType.INTEGER: r"-?(0|[1-9][0-9]{0,17})",
    FieldType.FLOAT: r"-?(0|[1-9][0-9]{0,39})(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,2})?",
    FieldType.BOOLEAN: r"true|false",
}
_ALWAYS_DIGITS = frozenset({"syslogfacility", "syslogseverity"})


@dataclass(frozen=True)
class Identity:
    """A number that messages carry at a fixed place of their text, and the field it goes to.

    Only measurements have one: it lets every event be accounted for.  Positions count from 1.
    """

    field: str
    first: int
    last: int


@dataclass(frozen=True)
class Property:
    """A property of the event: all of it, the characters from `first` to `last`, or what a group
    of an expression finds.

    With `checked_as` it writes the whole member of that name: null where nothing is found.
    """

    name: str
    checked_as: str | None = None
    first: int | None = None
    last: int | None = None
    date_format: str | None = None
    format: str | None = None
    expression: str | None = None
    group: int | None = None


Piece = str | Property
_Raw = str | DocumentField | Identity
_Tree = dict[str, "_Tree | DocumentField"]


@dataclass(frozen=True)
class _Place:
    """A piece of a property: the expression before it with its number of groups, the one after
    it, the expression of a text with the groups that may hold it, and of an optional quote."""

    property: str
    before: str
    groups: int
    after: str
    text: str = ""
    text_groups: tuple[int, ...] = ()
    quote: str = ""


def document(
    fields: tuple[DocumentField, ...], parse: Parse | None, identity: Identity | None, end: str
) -> tuple[Piece, ...]:
    """A document of these fields, with `end` after it."""
    raw = list(_object(_tree(fields)))
    if identity is not None:
        raw[-1:] = [f',{json.dumps(identity.field)}:"', identity, '"}']
    return tuple(_merged([*raw, end], parse))


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


def _object(tree: _Tree) -> Iterator[_Raw]:
    yield "{"
    for number, (key, value) in enumerate(tree.items()):
        if number:
            yield ","
        if isinstance(value, dict):
            yield json.dumps(key) + ":"
            yield from _object(value)
        else:
            yield from _member(key, value)
    yield "}"


def _member(key: str, field: DocumentField) -> Iterator[_Raw]:
    """One value under its key; a checked one brings the key itself."""
    if _is_checked(field):
        yield field
        return
    yield json.dumps(key) + ":"
    if field.constant is not None:
        yield json.dumps(field.constant)
    elif field.type is FieldType.INTEGER:
        yield field
    else:
        yield '"'
        yield field
        yield '"'


def _merged(raw: Iterable[_Raw], parse: Parse | None) -> Iterator[Piece]:
    """One text for each stretch between two properties."""
    text = ""
    for one in raw:
        if isinstance(one, str):
            text += one
            continue
        yield text
        yield from _properties(one, parse)
        text = ""
    yield text


def _properties(one: DocumentField | Identity, parse: Parse | None) -> Iterator[Property]:
    """What writes one field: of several properties one at most writes."""
    if isinstance(one, Identity):
        yield Property("msg", first=one.first, last=one.last)
    elif _is_checked(one):
        yield _checked(one, parse)
    elif is_parsed(one):
        yield from _parsed(one, parse)
    elif one.property in _TIMES:
        yield Property(one.property, date_format="rfc3339")
    else:
        yield Property(str(one.property), format=None if one.type is FieldType.INTEGER else "json")


def _is_checked(field: DocumentField) -> bool:
    """Whether the field enters JSON unquoted although its text could be anything."""
    digits = field.type is FieldType.INTEGER and field.property in _ALWAYS_DIGITS
    return field.constant is None and field.type in _CHECKED and not digits


def _checked(field: DocumentField, parse: Parse | None) -> Property:
    """The whole member `"name":value`; null where the text is no value of the field's type."""
    place = _place(field, parse)
    value = f"{place.quote}({_CHECKED[field.type]}){place.quote}"
    return Property(
        place.property,
        checked_as=field.name.rpartition(".")[2],
        expression=f"{place.before}{value}{place.after}",
        group=place.groups + 1,
    )


def _parsed(field: DocumentField, parse: Parse | None) -> Iterator[Property]:
    """The text of a parsed field, escaped for JSON."""
    place = _place(field, parse)
    if not place.text:
        yield Property(place.property, format="json")
    expression = f"{place.before}{place.text}{place.after}"
    for group in place.text_groups:
        yield Property(
            place.property, format="json", expression=expression, group=place.groups + group
        )


def _place(field: DocumentField, parse: Parse | None) -> _Place:
    if not is_parsed(field):
        return _Place(str(field.property), "^ *", 0, " *$")
    match parse:
        case CsvParse():
            return _csv(parse, parse.columns.index(str(field.column)))
        case KvParse():
            return _kv(parse, str(field.key))
        case _:
            path = str(field.json_path).replace(".", "!")
            return _Place(f"$!{path}", "^", 0, "$")


def _csv(parse: CsvParse, passed: int) -> _Place:
    """A cell after `passed` others; rsyslog's msg starts with the blank after an RFC 3164 tag."""
    end = f"[{parse.delimiter}]"
    if not parse.quoted:
        cell = f"[^{parse.delimiter}]*"
        before = f"^ ?({cell}{end}){{{passed}}}"
        return _Place("msg", before, 1, f"({end}|$)", f"({cell})", (1,))
    bare = f'([^"{parse.delimiter}][^{parse.delimiter}]*)?'
    before = f'^ ?(("([^"]|"")*"|{bare}){end}){{{passed}}}'
    text = f'("(([^"]|"")*)"|{bare})'
    return _Place("msg", before, 4, f"({end}|$)", text, (2, 4), '"?')


def _kv(parse: KvParse, key: str) -> _Place:
    """The value of `key` where it stands outside of quotes, so that no value can pose as a key."""
    end = f"[{parse.separator}]"
    before = f'^(([^"]|"[^"]*")*{end})? *{key.replace(".", "[.]")}{parse.assignment}'
    text = f'("([^"]*)"|([^"{parse.separator}][^{parse.separator}]*)?)'
    return _Place("msg", before, 2, f"({end}|$)", text, (2, 3), '"?')

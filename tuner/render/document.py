"""The rsyslog template that writes one event as a JSON document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tuner.modules.field import DocumentField, FieldType, is_parsed
from tuner.modules.registry import Parse
from tuner.render.parsing import checked_member, is_checked, parsed_text
from tuner.render.quoting import constant
from tuner.render.rainerscript import Statement, Value, statement

_TIMES = frozenset({"timereported", "timegenerated"})

Tree = dict[str, "Tree | DocumentField"]


@dataclass(frozen=True)
class Identity:
    """A number that messages carry at a fixed place of their text, and the field it goes to.

    Only measurements have one: it lets every event be accounted for.  Positions count from 1.
    """

    field: str
    first: int
    last: int


def document_template(
    name: str,
    fields: tuple[DocumentField, ...],
    parse: Parse | None,
    identity: Identity | None = None,
    end: str = "",
) -> Statement:
    """A list template that ends with `end`: nothing for bulks, as a newline would pair their
    replies wrongly (F5).

    Every property is escaped by format="json", the cheapest complete way (F6); what enters
    unquoted is checked.
    """
    pieces = list(_object(_tree(fields)))
    if identity is not None:
        pieces[-1:] = [f',{json.dumps(identity.field)}:"', identity, '"}']
    pieces.append(end)
    return statement("template", {"name": name, "type": "list"}, tuple(_merged(pieces, parse)))


def index_name_template(name: str, index: str) -> Statement:
    """A template for `index`-YYYY.MM.DD, by the day that the sender reported."""
    day = [
        statement("property", {"name": "timereported", "dateFormat": part})
        for part in ("year", "month", "day")
    ]
    dot = statement("constant", {"value": constant(".")})
    first = statement("constant", {"value": constant(f"{index}-")})
    body = (first, day[0], dot, day[1], dot, day[2])
    return statement("template", {"name": name, "type": "list"}, body)


def _tree(fields: tuple[DocumentField, ...]) -> Tree:
    """Dotted names as nested objects, in the order of first appearance."""
    root: Tree = {}
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


Piece = str | DocumentField | Identity


def _object(tree: Tree) -> Iterator[Piece]:
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


def _member(key: str, field: DocumentField) -> Iterator[Piece]:
    """One value under its key; a checked one brings the key itself."""
    if is_checked(field):
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


def _merged(pieces: Iterable[Piece], parse: Parse | None) -> Iterator[Statement]:
    """One constant() for each stretch of text between two properties."""
    text = ""
    for piece in pieces:
        if isinstance(piece, str):
            text += piece
            continue
        yield statement("constant", {"value": constant(text)})
        yield from _written(piece, parse)
        text = ""
    yield statement("constant", {"value": constant(text)})


def _written(piece: DocumentField | Identity, parse: Parse | None) -> Iterator[Statement]:
    if isinstance(piece, Identity):
        place: dict[str, Value] = {"position.from": piece.first, "position.to": piece.last}
        yield statement("property", {"name": "msg", **place})
    elif is_checked(piece):
        yield checked_member(piece, parse)
    elif is_parsed(piece):
        yield from parsed_text(piece, parse)
    else:
        yield _property(piece)


def _property(field: DocumentField) -> Statement:
    parameters: dict[str, Value] = {"name": field.property}
    if field.property in _TIMES:
        parameters["dateFormat"] = "rfc3339"
    elif field.type is not FieldType.INTEGER:
        parameters["format"] = "json"
    return statement("property", parameters)

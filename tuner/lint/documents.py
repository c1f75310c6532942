"""Lint for documents: each field's source must be one that the profile's `parse` provides."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from tuner.errors import KeyPath
from tuner.modules.field import DocumentField, FieldType
from tuner.modules.parsing import CsvParse
from tuner.modules.registry import Parse
from tuner.profile.documents import fields_of
from tuner.profile.model import Profile
from tuner.rule import Complaint, error

_TIMES = frozenset({"timereported", "timegenerated"})
# What fields find under each format of `parse`; rules of liblognorm make JSON.
_GIVES = {"csv": {"csv"}, "kv": {"kv"}, "json": {"json"}, "normalize": {"json"}}


def _field(number: int, field: int, key: str) -> KeyPath:
    return ("outputs", number, "document", field, key)


@error(
    "RT309",
    why="Nothing provides the field's source, so the field would always be empty.",
    source="rsyslog-tune's own: docs/profiles.md",
    bad={
        "parse": {"format": "csv", "columns": ["host"]},
        "outputs[logs].document": [{"column": "app", "name": "app"}],
    },
    good={"parse.columns": ["host", "app"]},
    at="outputs[logs].document[0].column",
)
def _sources(profile: Profile) -> Iterator[Complaint]:
    for number, output in enumerate(profile.outputs):
        for i, field in enumerate(fields_of(output)):
            for key, value, needed_format in _needs(field):
                parse = profile.stream(output.stream).parse
                message = _fault(key, value, needed_format, parse)
                if message is not None:
                    yield Complaint(("outputs", number, "document", i, key), message)


def _needs(field: DocumentField) -> Iterator[tuple[str, str, str]]:
    """The key of a parsed field's source, its value, and a format of `parse` that gives it."""
    if field.column is not None:
        yield "column", field.column, "csv"
    if field.key is not None:
        yield "key", field.key, "kv"
    if field.json_path is not None:
        yield "json", field.json_path, "json"


def _fault(key: str, value: str, needed_format: str, parse: Parse | None) -> str | None:
    if parse is None or needed_format not in _GIVES[parse.format]:
        return f"{key}: {value} needs parse: {{format: {needed_format}, ...}} in the profile"
    if isinstance(parse, CsvParse) and value not in parse.columns:
        return f"there is no column {value}: parse.columns has {', '.join(parse.columns)}"
    return None


@error(
    "RT310",
    why="If two columns share a name, only one of them can be read.",
    source="rsyslog-tune's own: docs/profiles.md",
    bad={"parse": {"format": "csv", "columns": ["host", "host"]}},
    good={"parse.columns": ["host", "app"]},
    at="parse.columns[1]",
)
def _columns_twice(profile: Profile) -> Iterator[Complaint]:
    own: list[tuple[KeyPath, Parse | None]] = [(("parse",), profile.parse)]
    own += [(("streams", name, "parse"), one.parse) for name, one in profile.streams.items()]
    for path, parse in own:
        columns = parse.columns if isinstance(parse, CsvParse) else ()
        for i, name in enumerate(columns):
            if name in columns[:i]:
                yield Complaint((*path, "columns", i), f"two columns are called {name}: rename one")


@error(
    "RT304",
    why="JSON with the same name twice is read in different ways by different programs.",
    source="RFC 8259, section 4",
    bad={
        "outputs[logs].document": [
            {"property": "msg", "name": "text"},
            {"property": "hostname", "name": "text"},
        ]
    },
    good={"outputs[logs].document[1].name": "host"},
)
def _names_twice(profile: Profile) -> Iterator[Complaint]:
    for number, output in enumerate(profile.outputs):
        for (_, first), (j, second) in combinations(enumerate(fields_of(output)), 2):
            if first.name == second.name:
                message = f"two fields are called {second.name}: rename one"
                yield Complaint(_field(number, j, "name"), message)


@error(
    "RT305",
    why="In a mapping a name is a field or an object, never both: the engine refuses the "
    "template, or the documents.",
    source="Elasticsearch, mapping: object",
    bad={
        "outputs[logs].document": [
            {"property": "hostname", "name": "host"},
            {"property": "fromhost-ip", "name": "host.ip"},
        ]
    },
    good={"outputs[logs].document[0].name": "host.name"},
)
def _leaf_and_object(profile: Profile) -> Iterator[Complaint]:
    for number, output in enumerate(profile.outputs):
        names = {field.name for field in fields_of(output)}
        for i, field in enumerate(fields_of(output)):
            inside = next((name for name in names if name.startswith(f"{field.name}.")), None)
            if inside is not None:
                yield Complaint(
                    _field(number, i, "name"),
                    f"{field.name} cannot hold both a value and {inside}: rename one",
                )


@error(
    "RT306",
    why="Senders can write anything into this property; a date field refuses what is not a date, "
    "and the whole document with it.",
    source="Elasticsearch, mapping: date",
    bad={"outputs[logs].document": [{"property": "procid", "name": "pid", "type": "date"}]},
    good={"outputs[logs].document[0].type": "string"},
)
def _dates(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        for i, field in enumerate(fields_of(output)):
            if field.property is None:
                continue
            if field.type is FieldType.DATE and field.property not in _TIMES:
                yield Complaint(
                    _field(number, i, "type"),
                    f"{field.property} cannot be sent as a date, because the engine would refuse "
                    "the document if a sender writes something else: use string",
                )
            if field.property in _TIMES and field.type not in {FieldType.DATE, FieldType.STRING}:
                yield Complaint(
                    _field(number, i, "type"),
                    f"{field.property} cannot be sent as {field.type.value}: use date or string",
                )

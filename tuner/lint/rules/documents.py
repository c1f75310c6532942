"""Lint for documents: each field's source must be one that the profile's `parse` provides."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from tuner.engines.index import MappingStyle
from tuner.errors import KeyPath
from tuner.lint.rules.streams import gives_json, steps_of, variable_fault
from tuner.lint.sections import Placed, engine_outputs
from tuner.modules.field import DocumentField, FieldType, Preset, merges
from tuner.modules.imfile import ImfileInput
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.output import Lines
from tuner.modules.registry import Parse
from tuner.modules.step import CsvParse, SetStep
from tuner.modules.text_source import EVERYTHING, TIMES, TextSource
from tuner.profile.documents import fields_of
from tuner.profile.model import Profile, Stream
from tuner.rule import Complaint, error, warning

# The first release in which position.to may be negative.
_COUNTS_BACK = 2302
# The release that has the property fromhost-port.
_HAS_PORT = 2510
# The format of `parse` that gives each source.
_NEEDS = {"column": "csv", "key": "kv", "json": "json"}


def _documents(profile: Profile) -> Iterator[Placed[tuple[DocumentField, ...]]]:
    """The fields of each output's document."""
    numbered = enumerate(profile.outputs)
    return ((("outputs", number, "document"), fields_of(output)) for number, output in numbered)


@error("RT309")
def _sources(profile: Profile) -> Iterator[Complaint]:
    for path, name, source in _texts(profile):
        for key, value in _parsed(source):
            message = _fault(key, value, profile.stream(name))
            if message is not None:
                yield Complaint((*path, key) if isinstance(path[-1], int) else path, message)
        if str(source.property).startswith("$!metadata") and not _has_metadata(profile):
            yield Complaint(
                (*path, "property"),
                f"no input provides {source.property}: it needs an imfile input with "
                "addMetadata: true",
            )


def _texts(profile: Profile) -> Iterator[tuple[KeyPath, str | None, TextSource]]:
    """Every field of a document, every text of a line and of a step, with its place and stream; a
    preset's fields stand where it is named."""
    for number, output in enumerate(profile.outputs):
        is_preset = isinstance(output.document, Preset)
        for i, field in enumerate(fields_of(output)):
            place = ("outputs", number, "document", *(() if is_preset else (i,)))
            yield place, output.stream, field
        if isinstance(output, Lines):
            for i, text in enumerate(output.line or ()):
                yield ("outputs", number, "line", i), output.stream, text
    for path, name, step in steps_of(profile):
        for i, text in enumerate(step.value if isinstance(step, SetStep) else ()):
            yield (*path, "value", i), name, text


def _has_metadata(profile: Profile) -> bool:
    """Whether an input says which file an event is of; with wildcards imfile does by itself."""
    files = [source for source in profile.inputs if isinstance(source, ImfileInput)]
    return any(source.add_metadata or "*" in source.file for source in files)


def _parsed(field: TextSource) -> Iterator[tuple[str, str]]:
    """The key of a source that parsing or a step provides, and its value."""
    sources = {
        "column": field.column, "key": field.key, "json": field.json_path,
        "variable": field.variable,
    }  # fmt: skip
    return ((key, value) for key, value in sources.items() if value is not None)


def _fault(key: str, value: str, stream: Stream) -> str | None:
    if key == "variable":
        return variable_fault(value, stream)
    if key == "json" and gives_json(stream):
        return None
    needed = _NEEDS[key]
    if stream.parse is None or stream.parse.format != needed:
        return f"{key}: {value} needs parse: {{format: {needed}, ...}} in the profile"
    if isinstance(stream.parse, CsvParse) and value not in stream.parse.columns:
        return f"there is no column {value}: parse.columns has {', '.join(stream.parse.columns)}"
    return None


@error("RT310")
def _columns_twice(profile: Profile) -> Iterator[Complaint]:
    parsings: list[tuple[KeyPath, Parse | None]] = [(("parse",), profile.parse)]
    parsings += [
        (("streams", name, "parse"), stream.parse) for name, stream in profile.streams.items()
    ]
    for path, parse in parsings:
        columns = parse.columns if isinstance(parse, CsvParse) else ()
        for i, name in enumerate(columns):
            if name in columns[:i]:
                yield Complaint((*path, "columns", i), f"two columns are called {name}: rename one")


@error("RT304").for_each(_documents)
def _names_twice(fields: tuple[DocumentField, ...], _: Profile) -> Iterator[Complaint]:
    for (_i, first), (j, second) in combinations(enumerate(fields), 2):
        if first.name == second.name:
            message = f"two fields are called {second.name}: rename one"
            if merges(second):
                message = "all that parsing found is merged twice: remove one of the two"
            yield Complaint((j, "name"), message)


@error("RT305").for_each(_documents)
def _leaf_and_object(fields: tuple[DocumentField, ...], _: Profile) -> Iterator[Complaint]:
    names = {field.name for field in fields}
    for i, field in enumerate(fields):
        inside = next((name for name in names if name.startswith(f"{field.name}.")), None)
        if inside is not None:
            yield Complaint(
                (i, "name"), f"{field.name} cannot hold both a value and {inside}: rename one"
            )


@error("RT306").for_each(engine_outputs)
def _dates(output: OmelasticsearchOutput, _: Profile) -> Iterator[Complaint]:
    for i, field in enumerate(fields_of(output)):
        path = ("document", i, "type")
        if field.property is None:
            continue
        if field.type is FieldType.DATE and field.property not in TIMES:
            yield Complaint(
                path,
                f"{field.property} cannot be sent as a date, because the engine would refuse "
                "the document if a sender writes something else: use string",
            )
        if field.property in TIMES and field.type not in _time_types(field):
            written = "" if field.date_format is None else f" as {field.date_format}"
            yield Complaint(
                path,
                f"{field.property}{written} cannot be sent as {field.type.value}: "
                f"use {' or '.join(one.value for one in _time_types(field))}",
            )


def _time_types(field: DocumentField) -> tuple[FieldType, ...]:
    """The types that a time can have as it is written."""
    match field.date_format:
        case None | "rfc3339":
            return (FieldType.DATE, FieldType.STRING)
        case "unixtimestamp":
            return (FieldType.DATE, FieldType.INTEGER, FieldType.STRING)
        case _:
            return (FieldType.STRING,)


@error("RT311")
def _too_new(profile: Profile) -> Iterator[Complaint]:
    for path, _, source in _texts(profile):
        if source.property == "fromhost-port" and profile.release.rsyslog_number < _HAS_PORT:
            yield Complaint(
                (*path, "property"),
                f"rsyslog {profile.release.rsyslog} has no fromhost-port, which came with "
                f"8.{_HAS_PORT}: remove it, or raise release.rsyslog",
            )
        end = None if source.position is None else source.position.to
        if end is not None and end < 0 and profile.release.rsyslog_number < _COUNTS_BACK:
            yield Complaint(
                (*path, "position", "to"),
                f"rsyslog {profile.release.rsyslog} does not count from the end, which came with "
                f"8.{_COUNTS_BACK}: use a regex, or raise release.rsyslog",
            )


@error("RT312").for_each(_documents)
def _nothing_left(fields: tuple[DocumentField, ...], _: Profile) -> Iterator[Complaint]:
    filled = {start for field in fields if field.on_empty != "skip" for start in _objects(field)}
    for i, field in enumerate(fields):
        parent = field.name.rpartition(".")[0]
        if field.on_empty == "skip" and parent not in filled:
            yield Complaint(
                (i, "onEmpty"),
                f"{parent or 'the document'} has no field that is always there: use null, or "
                "add one",
            )


def _objects(field: DocumentField) -> Iterator[str]:
    """The objects that a field is in, from the document itself, which has no name, inwards."""
    if not merges(field):
        parts = field.name.split(".")
        yield from (".".join(parts[:end]) for end in range(len(parts)))


@warning("RT313").for_each(engine_outputs, "document")
def _nothing_searched(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    paths = [field.json_path for field in fields_of(output)]
    if paths == [EVERYTHING] and output.index.mapping is MappingStyle.EXPLICIT:
        yield (
            "no event can be searched for: name the members that are searched as fields, each "
            "with its uses, or set index.mapping to dynamic"
        )

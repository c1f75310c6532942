"""Lint for documents: each field's source must be one that the profile's `parse` gives."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.lint.rule import error
from tuner.modules.field import DocumentField
from tuner.modules.parsing import CsvParse, Parse
from tuner.profile.documents import fields_of
from tuner.profile.model import Profile
from tuner.rule import Complaint

# What fields find under each format of `parse`; rules of liblognorm make JSON.
_GIVES = {"csv": {"csv"}, "kv": {"kv"}, "json": {"json"}, "normalize": {"json"}}


def _sources(profile: Profile) -> Iterator[Complaint]:
    for number, output in enumerate(profile.outputs):
        for i, field in enumerate(fields_of(output)):
            for key, value, wanted in _needs(field):
                message = _fault(key, value, wanted, profile.parse)
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


def _fault(key: str, value: str, wanted: str, parse: Parse | None) -> str | None:
    if parse is None or wanted not in _GIVES[parse.format]:
        return f"{key}: {value} needs the profile to say parse: {{format: {wanted}, ...}}"
    if isinstance(parse, CsvParse) and value not in parse.columns:
        return f"there is no column {value}: parse.columns has {', '.join(parse.columns)}"
    return None


def _columns_twice(profile: Profile) -> Iterator[Complaint]:
    if not isinstance(profile.parse, CsvParse):
        return
    columns = profile.parse.columns
    for i, name in enumerate(columns):
        if name in columns[:i]:
            yield Complaint(("parse", "columns", i), f"two columns are called {name}: rename one")


RULES = (
    error("RT309", _sources),
    error("RT310", _columns_twice),
)

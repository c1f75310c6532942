"""The preset documents, and the leanest mapping that serves the uses of their fields; for a base,
which does not say those, a file of uses that it names."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import RootModel

from tuner.errors import BadProfile
from tuner.modules.field import DocumentField, FieldType, Preset, Use, is_json, merges
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.registry import AnyOutput
from tuner.modules.text_source import EVERYTHING, is_parsed
from tuner.profile.edit import flow
from tuner.profile.source import read
from tuner.profile.wording import validated
from tuner.reading import table
from tuner.schema.scalars import FieldName
from tuner.schema.section import Section

TIMESTAMP = "@timestamp"


def _presets() -> Mapping[Preset, tuple[DocumentField, ...]]:
    """What presets.toml says; `raw` is all that parsing found."""
    facts = table("profile/presets.toml")
    kinds = facts["kinds"]
    presets = {
        Preset(preset): tuple(
            DocumentField.model_validate({"name": name, "property": source, **kinds[kind]})
            for name, (source, kind) in fields.items()
        )
        for preset, fields in facts["presets"].items()
    }
    return {**presets, Preset.RAW: (DocumentField(json_path=EVERYTHING),)}


PRESETS = _presets()
"""The fields of each preset document."""

# Longer values stay in _source but are not indexed; Lucene refuses terms above 32766 bytes.
IGNORE_ABOVE = 1024

Json = dict[str, object]


def fields_of(output: AnyOutput) -> tuple[DocumentField, ...]:
    """The fields of an output's documents, in the order in which they are written; none where it
    writes another format."""
    document = output.document
    return PRESETS[document] if isinstance(document, Preset) else document or ()


def mapping_of(
    fields: tuple[DocumentField, ...], has_timestamp: bool = False, as_columns: bool = False
) -> Json:
    """The leanest explicit mapping that serves the uses, in types that every engine knows.

    Where an index `has_timestamp`, as those of a data stream or of the mode logsdb have, that is
    indexed, has doc values and refuses what is not a date, whatever its uses (Elasticsearch,
    DataStreamTimestampFieldMapper).  In an index that keeps fields `as_columns` each has doc
    values, or the engine refuses the mapping.
    """
    root: Json = {}
    for field in fields:
        if merges(field):
            continue
        *parents, leaf = field.name.split(".")
        properties = root
        for parent in parents:
            holder = properties.setdefault(parent, {"properties": {}})
            properties = holder["properties"] if isinstance(holder, dict) else {}
        is_timestamp = has_timestamp and field.name == TIMESTAMP
        date: Json = {"type": "date"} | _date_format(field)
        properties[leaf] = date if is_timestamp else _leaf(field)
        if as_columns:
            _keep_values(properties[leaf])
    return {"dynamic": False, "properties": root}


def _keep_values(leaf: object) -> None:
    """Leave out what takes the doc values of a field, or of the keyword in it."""
    if isinstance(leaf, dict):
        leaf.pop("doc_values", None)
        for inner in leaf.get("fields", {}).values():
            _keep_values(inner)


# Of fields that are neither texts nor dates.
_ENGINE_TYPES = {
    FieldType.INTEGER: "long", FieldType.FLOAT: "double", FieldType.BOOLEAN: "boolean",
}  # fmt: skip


def _leaf(field: DocumentField) -> Json:
    if is_json(field):
        # Kept as it is, whatever it is: its members cannot clash with any mapping.
        return {"type": "object", "enabled": False}
    if field.type is FieldType.DATE:
        # What is not a date stays in _source unindexed, and the document is not refused.
        malformed: Json = {"ignore_malformed": True} if is_parsed(field) else {}
        date: Json = {"type": "date"} | _date_format(field)
        return date | malformed | _switched_off(field)
    if field.type in _ENGINE_TYPES:
        return {"type": _ENGINE_TYPES[field.type]} | _switched_off(field)
    return _string(field)


def _date_format(field: DocumentField) -> Json:
    """How the engine reads the date, where that is not its default."""
    if field.date_format == "unixtimestamp":
        return {"format": "epoch_second"}
    return {} if field.format is None else {"format": field.format}


def _string(field: DocumentField) -> Json:
    uses = set(field.uses)
    keyword: Json = {"type": "keyword"} | _switched_off(field)
    if has_keyword(field):
        keyword["ignore_above"] = IGNORE_ABOVE
    if not uses & {Use.FULL_TEXT, Use.PHRASE}:
        return keyword
    # Without norms and frequencies: filters work, ranking by relevance does not.
    options = "positions" if Use.PHRASE in uses else "docs"
    text: Json = {"type": "text", "norms": False, "index_options": options}
    if "ignore_above" in keyword:
        text["fields"] = {"keyword": keyword}
    return text


def has_keyword(field: DocumentField) -> bool:
    """Whether a string is indexed whole, as a keyword, up to a length."""
    is_string = field.type in {FieldType.STRING, FieldType.JSON} and not is_json(field)
    return is_string and bool(set(field.uses) & {Use.TERM, Use.RANGE, Use.AGGREGATE})


def _switched_off(field: DocumentField) -> Json:
    """Inverted index and doc values are on by default: off where no use needs them."""
    off: Json = {}
    if not set(field.uses) & {Use.TERM, Use.RANGE}:
        off["index"] = False
    if Use.AGGREGATE not in field.uses:
        off["doc_values"] = False
    return off


def is_timed(output: OmelasticsearchOutput) -> bool:
    """Whether documents have a timestamp by which the engine can merge."""
    return any(
        field.name == TIMESTAMP and field.type is FieldType.DATE and Use.RANGE in field.uses
        for field in fields_of(output)
    )


class UsedField(Section):
    """A field of documents: its type, and what it must serve."""

    type: FieldType = FieldType.STRING
    uses: tuple[Use, ...] = (Use.RETRIEVE,)


class UsesFile(RootModel[dict[FieldName, UsedField]]):
    """The fields by their names, with dots for nested objects."""


def used_fields(text: str, name: str) -> tuple[DocumentField, ...]:
    """The fields that a file of uses says, as those of a document; raises BadProfile."""
    source = read(text, name)
    listed = validated(UsesFile, source, {} if source.data is None else source.data)
    if source.problems:
        raise BadProfile(source.problems)
    return tuple(
        DocumentField(name=name, json_path=name, type=used.type, uses=used.uses)
        for name, used in listed.root.items()
    )


def uses_text(fields: Mapping[str, UsedField], comment: str) -> str:
    """A file of uses, which begins with a comment."""
    lines = (
        f"{flow(name)}: {flow(field.model_dump(mode='json', exclude_defaults=True))}"
        for name, field in sorted(fields.items())
    )
    return "\n".join([f"# {comment}", *lines, ""])


def with_own(lean: Mapping[str, object], own: Mapping[str, object]) -> dict[str, object]:
    """The properties of a mapping with those that a template of the user's has, which stay as they
    are."""
    properties = dict(lean)
    for name, field in own.items():
        ours, theirs = _properties(lean.get(name)), _properties(field)
        both = None if ours is None or theirs is None else with_own(ours, theirs)
        if both is not None and isinstance(field, Mapping):
            properties[name] = {**field, "properties": both}
        else:
            properties[name] = field
    return properties


def _properties(field: object) -> Mapping[str, object] | None:
    properties = field.get("properties") if isinstance(field, Mapping) else None
    return properties if isinstance(properties, Mapping) else None

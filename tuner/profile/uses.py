"""What the fields of a base's documents must serve: a file that the base names, from which the
explicit mapping of its indices follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, RootModel

from tuner.errors import BadProfile
from tuner.modules.field import DocumentField, FieldType, Use
from tuner.modules.text_source import NAME
from tuner.profile.edit import flow
from tuner.profile.source import read
from tuner.profile.wording import validated
from tuner.schema.section import Section


class UsedField(Section):
    """A field of documents: its type, and what it must serve."""

    type: FieldType = FieldType.STRING
    uses: tuple[Use, ...] = (Use.RETRIEVE,)


FieldName = Annotated[str, Field(pattern=rf"^{NAME}$")]


class UsesFile(RootModel[dict[FieldName, UsedField]]):
    """The fields by their names, with dots for nested objects."""


def fields_in(text: str, name: str) -> tuple[DocumentField, ...]:
    """The fields that a file of uses says, as those of a document; raises BadProfile."""
    source = read(text, name)
    listed = validated(UsesFile, source, {} if source.data is None else source.data)
    if source.problems:
        raise BadProfile(source.problems)
    return tuple(
        DocumentField(name=name, json_path=name, type=used.type, uses=used.uses)
        for name, used in listed.root.items()
    )


def written(fields: Mapping[str, UsedField], comment: str) -> str:
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

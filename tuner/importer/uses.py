"""What the fields of an imported document must serve, as the engine has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tuner.modules.field import Use

# What a field of a profile can serve by its type; a text serves _WORDS.
_BY_TYPE = {
    "date": {Use.RANGE, Use.AGGREGATE},
    "integer": {Use.RANGE, Use.AGGREGATE},
    "float": {Use.RANGE, Use.AGGREGATE},
    "boolean": {Use.TERM, Use.AGGREGATE},
    "json": set[Use](),
}
_WORDS = {Use.TERM, Use.FULL_TEXT, Use.PHRASE, Use.AGGREGATE}


def with_uses(
    document: Sequence[Mapping[str, Any]], found: Mapping[str, frozenset[Use]]
) -> list[dict[str, Any]]:
    """The fields of a document with the uses that are known of each, by its name; of a number a
    search for its whole value is a range, of a text the reverse."""
    return [_used(field, found.get(str(field.get("name")))) for field in document]


def _used(field: Mapping[str, Any], found: frozenset[Use] | None) -> dict[str, Any]:
    if found is None:
        return dict(field)
    able = _BY_TYPE.get(str(field.get("type")), _WORDS)
    one = Use.RANGE if Use.RANGE in able else Use.TERM
    searched = found & {Use.TERM, Use.RANGE, Use.FULL_TEXT}
    uses = (found | ({one} if searched and not searched & able else set())) & able
    return {**field, "uses": [use.value for use in Use if use in (uses or {Use.RETRIEVE})]}

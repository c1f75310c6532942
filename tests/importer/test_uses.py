"""What the fields of an imported document must serve."""

from __future__ import annotations

import pytest

from tuner.importer.uses import with_uses
from tuner.modules.field import Use


@pytest.mark.parametrize(
    ("kind", "found", "wanted"),
    [
        (None, {Use.TERM, Use.PHRASE}, ["term", "phrase"]),
        (None, {Use.RANGE}, ["term"]),
        (None, set(), ["retrieve"]),
        ("date", {Use.RANGE, Use.AGGREGATE}, ["range", "aggregate"]),
        ("integer", {Use.TERM}, ["range"]),
        ("date", {Use.FULL_TEXT, Use.PHRASE}, ["range"]),
        ("boolean", {Use.FULL_TEXT}, ["term"]),
        ("json", {Use.TERM, Use.AGGREGATE}, ["retrieve"]),
    ],
)
def test_a_field_gets_the_uses_that_its_type_can_serve(
    kind: str | None, found: set[Use], wanted: list[str]
) -> None:
    field = {"property": "msg", "name": "a.b"} | ({"type": kind} if kind else {})
    assert with_uses([field], {"a.b": frozenset(found)}) == [{**field, "uses": wanted}]


def test_a_field_that_no_index_has_stays_as_it_is() -> None:
    fields = [{"property": "msg", "name": "a"}, {"json": "*"}]
    assert with_uses(fields, {"b": frozenset()}) == fields

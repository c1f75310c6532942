"""Mappings: each use is served, and nothing else is paid for."""

from __future__ import annotations

import pytest

from tuner.profile.documents import ECS, LOGSTASH, SEMATEXT, mapping_of
from tuner.profile.field import DocumentField, FieldType, Use


def leaf(kind: FieldType, *uses: Use) -> object:
    field = DocumentField(property="msg", name="x", type=kind, uses=uses)
    properties = mapping_of((field,))["properties"]
    assert isinstance(properties, dict)
    return properties["x"]


def test_a_field_that_is_only_retrieved_is_not_indexed_at_all() -> None:
    off = {"type": "keyword", "index": False, "doc_values": False}
    assert leaf(FieldType.STRING, Use.RETRIEVE) == off


def test_a_term_needs_an_index_and_an_aggregation_needs_doc_values() -> None:
    term = {"type": "keyword", "doc_values": False, "ignore_above": 1024}
    assert leaf(FieldType.STRING, Use.TERM) == term
    aggregate = {"type": "keyword", "index": False, "ignore_above": 1024}
    assert leaf(FieldType.STRING, Use.AGGREGATE) == aggregate
    both = {"type": "keyword", "ignore_above": 1024}
    assert leaf(FieldType.STRING, Use.TERM, Use.AGGREGATE) == both


def test_words_need_no_positions_but_phrases_do() -> None:
    text = {"type": "text", "norms": False, "index_options": "docs"}
    assert leaf(FieldType.STRING, Use.FULL_TEXT) == text
    phrase = text | {"index_options": "positions"}
    assert leaf(FieldType.STRING, Use.FULL_TEXT, Use.PHRASE) == phrase


def test_text_that_is_also_a_term_gets_both() -> None:
    found = leaf(FieldType.STRING, Use.FULL_TEXT, Use.TERM)
    assert isinstance(found, dict)
    keyword = {"type": "keyword", "doc_values": False, "ignore_above": 1024}
    assert found["fields"] == {"keyword": keyword}


def test_dates_and_numbers_are_indexed_for_their_uses() -> None:
    assert leaf(FieldType.DATE, Use.RANGE, Use.AGGREGATE) == {"type": "date"}
    assert leaf(FieldType.INTEGER, Use.RANGE) == {"type": "long", "doc_values": False}


def test_dotted_names_become_objects() -> None:
    fields = (
        DocumentField(property="hostname", name="host.name"),
        DocumentField(property="fromhost-ip", name="host.ip"),
    )
    properties = mapping_of(fields)["properties"]
    assert isinstance(properties, dict)
    assert list(properties) == ["host"]
    assert list(properties["host"]["properties"]) == ["name", "ip"]


def test_unknown_fields_are_kept_but_not_indexed() -> None:
    assert mapping_of(SEMATEXT)["dynamic"] is False


@pytest.mark.parametrize("preset", [ECS, LOGSTASH, SEMATEXT], ids=["ecs", "logstash", "sematext"])
def test_presets_have_a_timestamp_that_engines_can_merge_by(
    preset: tuple[DocumentField, ...],
) -> None:
    properties = mapping_of(preset)["properties"]
    assert isinstance(properties, dict)
    assert properties["@timestamp"] == {"type": "date"}
    assert "message" in properties


def test_the_sematext_document_is_the_published_one() -> None:
    names = [field.name for field in SEMATEXT]
    assert names == ["@timestamp", "host", "severity", "facility", "syslogtag", "message"]

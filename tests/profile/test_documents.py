"""Mappings: each use is served, and nothing else is paid for."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tuner.modules.field import DocumentField, FieldType, Preset, Use
from tuner.profile.documents import PRESETS, mapping_of


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


def test_floats_are_doubles_and_booleans_are_booleans() -> None:
    assert leaf(FieldType.FLOAT, Use.RANGE, Use.AGGREGATE) == {"type": "double"}
    assert leaf(FieldType.BOOLEAN, Use.TERM) == {"type": "boolean", "doc_values": False}


def test_a_date_in_the_text_that_is_none_does_not_cost_the_document() -> None:
    when = DocumentField(
        column="when", name="when", type=FieldType.DATE, format="epoch_second", uses=(Use.RANGE,)
    )
    properties = mapping_of((when,))["properties"]
    assert properties == {
        "when": {
            "type": "date",
            "format": "epoch_second",
            "ignore_malformed": True,
            "doc_values": False,
        }
    }


FAULTY: list[tuple[dict[str, object], str]] = [
    ({}, "exactly one source"),
    ({"property": "msg", "column": "a"}, "exactly one source"),
    ({"constant": 5}, "needs type: integer"),
    ({"constant": True, "type": "integer"}, "needs type: boolean"),
    ({"constant": 1.5, "type": "date"}, "needs type: float"),
    ({"constant": float("nan"), "type": "float"}, "finite"),
    ({"constant": 2**63, "type": "integer"}, "needs type: float"),
    ({"property": "timereported", "type": "date", "format": "epoch_second"}, "a format is for"),
    ({"json": "a!b"}, "pattern"),
    ({"name": "", "property": "msg"}, "pattern"),
    ({"property": "msg", "type": "json"}, "for a json path"),
    ({"json": "a", "type": "json", "uses": ["term"]}, "only retrieved"),
    ({"json": "*", "type": "integer"}, "remove type"),
    ({"json": "*", "onEmpty": "skip"}, "can leave empty"),
    ({"json": "a", "type": "json", "case": "lower"}, "for texts"),
    ({"constant": "a", "position": {"from": 2}}, "for texts"),
    ({"property": "timereported", "case": "lower"}, "for texts"),
    ({"property": "msg", "dateFormat": "year"}, "dateFormat is for timegenerated and timereported"),
    ({"property": "msg", "position": {"from": 3, "to": 2}}, "to comes before from"),
    ({"property": "msg", "regex": {"expression": "(a"}}, "not a POSIX"),
    (
        {"property": "msg", "regex": {"expression": "a"}, "split": {"delimiter": ",", "number": 1}},
        "not both",
    ),
    ({"column": "a", "split": {"delimiter": ",", "number": 1}}, "property or a json path"),
    ({"property": "procid", "type": "integer", "onEmpty": "blank"}, "integer has none"),
    ({"key": 'a" b'}, "pattern"),
]


@pytest.mark.parametrize(("source", "said"), FAULTY)
def test_a_field_has_one_source_that_fits_its_type(source: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        DocumentField.model_validate({"name": "x", **source})


def test_a_field_has_a_name_unless_it_is_merged() -> None:
    assert DocumentField.model_validate({"json": "*"}).name == ""
    with pytest.raises(ValidationError, match="name is missing: add it"):
        DocumentField.model_validate({"property": "msg"})


def test_json_that_is_passed_on_cannot_clash_with_a_mapping() -> None:
    whole = [{"json": "*"}, {"json": "*", "name": "all.of-it"}, {"json": "a", "name": "b"}]
    whole[2]["type"] = "json"
    properties = mapping_of(tuple(DocumentField.model_validate(one) for one in whole))["properties"]
    kept = {"type": "object", "enabled": False}
    assert properties == {"all": {"properties": {"of-it": kept}}, "b": kept}


def test_seconds_since_1970_are_a_date_to_the_engine() -> None:
    written = {"property": "timereported", "name": "at", "type": "date", "uses": ["range"]}
    field = DocumentField.model_validate({**written, "dateFormat": "unixtimestamp"})
    at = {"type": "date", "format": "epoch_second", "doc_values": False}
    assert mapping_of((field,))["properties"] == {"at": at}


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
    assert mapping_of(PRESETS[Preset.SEMATEXT])["dynamic"] is False


@pytest.mark.parametrize("preset", [preset for preset in Preset if preset is not Preset.RAW])
def test_presets_have_a_timestamp_that_engines_can_merge_by(preset: Preset) -> None:
    properties = mapping_of(PRESETS[preset])["properties"]
    assert isinstance(properties, dict)
    assert properties["@timestamp"] == {"type": "date"}
    assert "message" in properties


def test_the_sematext_document_is_the_published_one() -> None:
    names = [field.name for field in PRESETS[Preset.SEMATEXT]]
    assert names == ["@timestamp", "host", "severity", "facility", "syslogtag", "message"]

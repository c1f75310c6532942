"""The types of the fields of an index are compared with what the profile describes."""

from __future__ import annotations

from tuner.modules.field import FieldType, Preset
from tuner.profile.documents import PRESETS, mapping_of
from tuner.validate.smoke import mapping_differences

ECS = PRESETS[Preset.ECS]


def test_types_in_the_index() -> None:
    right = mapping_of(ECS)
    assert mapping_differences(ECS, right, is_explicit=True) == ()
    assert mapping_differences(ECS, {}, is_explicit=False) == ()
    texts = tuple(
        field.model_copy(update={"type": FieldType.STRING})
        for field in ECS
        if field.name == "log.syslog.severity.code"
    )
    assert mapping_differences(ECS, {**right, **mapping_of(texts)}, is_explicit=True) != ()
    said = mapping_differences(ECS[3:4], mapping_of(texts), is_explicit=True)
    assert said == ("log.syslog.severity.code should be mapped as long and is keyword",)
    assert mapping_differences(ECS[3:4], mapping_of(texts), is_explicit=False) == said


def test_an_index_of_columns_has_fields_under_their_dotted_names() -> None:
    columns = {"@timestamp": {"type": "date"}, "host.name": {"type": "keyword"}}
    assert mapping_differences(ECS[:2], {"properties": columns}, is_explicit=True) == ()
    columns["host.name"] = {"type": "long"}
    assert mapping_differences(ECS[:2], {"properties": columns}, is_explicit=True) == (
        "host.name should be mapped as keyword and is long",
    )

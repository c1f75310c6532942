"""A document is compared with what the profile describes, field by field and type by type."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tuner.modules.field import DocumentField, FieldType
from tuner.profile.documents import ECS, mapping_of
from tuner.validate.event import EventTime, differences
from tuner.validate.smoke import mapping_differences

SPAN = EventTime(
    datetime(2026, 11, 1, 1, 2, 3, tzinfo=UTC), datetime(2026, 11, 1, 1, 2, 9, tzinfo=UTC)
)
EVENT = {
    "hostname": "web-01", "programname": "sshd", "procid": "123", "msg": " hello",
    "syslogseverity": "6", "syslogseverity-text": "info", "syslogfacility": "4",
    "syslogfacility-text": "auth", "rawmsg": None,
}  # fmt: skip
DOCUMENT = {
    "@timestamp": "2026-11-01T02:02:05+01:00",
    "host": {"name": "web-01"},
    "process": {"name": "sshd"},
    "log": {
        "syslog": {
            "severity": {"code": 6, "name": "info"},
            "facility": {"code": 4, "name": "auth"},
            "procid": "123",
        }
    },
    "message": " hello",
    "rsyslog_tune_seq": "000000000000",
}


def test_the_document_that_was_described() -> None:
    assert differences(ECS, EVENT, DOCUMENT, SPAN) == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"message": "hello"}, "message should be ' hello' and is 'hello'"),
        ({"host": {}}, "host.name should be 'web-01' and is None"),
        ({"@timestamp": "2026-11-01T02:02:05Z"}, "@timestamp is 2026-11-01T02:02:05Z, and the"),
        ({"@timestamp": "2026-11-01T02:02:05"}, "@timestamp is '2026-11-01T02:02:05', not a time"),
    ],
)
def test_each_difference_is_told(change: dict[str, object], said: str) -> None:
    (found,) = differences(ECS, EVENT, {**DOCUMENT, **change}, SPAN)
    assert found.startswith(said)


@pytest.mark.parametrize(
    ("kind", "text", "right", "wrong"),
    [
        (FieldType.INTEGER, "123", 123, "123"),
        (FieldType.INTEGER, "1", 1, True),
        (FieldType.INTEGER, "a1", None, "a1"),
        (FieldType.FLOAT, "1.5", 1.5, "1.5"),
        (FieldType.BOOLEAN, "true", True, "true"),
        (FieldType.STRING, "123", "123", 123),
    ],
)
def test_typed_fields_are_typed_in_the_document(
    kind: FieldType, text: str, right: object, wrong: object
) -> None:
    field = (DocumentField(property="procid", name="n", type=kind),)
    event = {"procid": text}
    assert differences(field, event, {"n": right}, SPAN) == ()
    assert differences(field, event, {"n": wrong}, SPAN) != ()


def test_constants_are_what_the_profile_says() -> None:
    field = (DocumentField(constant=7, name="site.id", type=FieldType.INTEGER),)
    assert differences(field, {}, {"site": {"id": 7}}, SPAN) == ()
    assert differences(field, {}, {"site": {"id": "7"}}, SPAN) != ()


def test_what_depends_on_the_machine_must_have_its_type() -> None:
    field = (DocumentField(property="rawmsg", name="raw"),)
    assert differences(field, EVENT, {"raw": "anything"}, SPAN) == ()
    assert differences(field, EVENT, {}, SPAN) == ("raw is None, no string",)


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

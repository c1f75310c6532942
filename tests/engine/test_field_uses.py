"""What is asked of fields, as the engine counts it; the counts are those of Elasticsearch 8.19."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tuner.engine.client import JSON, EngineClient, EngineRefused
from tuner.engine.installed import field_uses

_TEXT = {"type": "text", "fields": {"keyword": {"type": "keyword"}}}
PROPERTIES: JSON = {
    "@timestamp": {"type": "date"}, "message": _TEXT, "ok": {"type": "boolean"},
    "host": {"properties": {"name": _TEXT}}, "net": {"properties": {"port": {"type": "long"}}},
    "raw": {"type": "keyword", "index": False, "doc_values": False},
}  # fmt: skip
_MATCH = {"inverted_index": {"terms": 1, "postings": 1}, "norms": 1}


class Engine(EngineClient):
    """An engine with an index of two days, of which one has been searched."""

    def __init__(self, asked: JSON | int, properties: JSON = PROPERTIES) -> None:
        super().__init__("http://engine.invalid")
        self.asked, self.properties = asked, properties

    def get(self, path: str, timeout_s: float | None = None) -> JSON:
        start, _, api = path.rpartition("/")
        assert start == "/logs-*"
        if api == "_mapping":
            return {"logs-1": {"mappings": {"properties": self.properties}}, "logs-2": {}}
        assert api == "_field_usage_stats"
        if isinstance(self.asked, int):
            raise EngineRefused("refused", self.asked)
        days = [(self.asked, 1_795_716_944_086), ({"_id": {"any": 1}}, 1_795_800_000_000)]
        shards = [{"tracking_started_at_millis": at, "stats": {"fields": f}} for f, at in days]
        return {"_shards": {"total": 2}} | {
            f"logs-{number}": {"shards": [one]} for number, one in enumerate(shards, 1)
        }


def uses(asked: JSON) -> dict[str, set[str]]:
    found = field_uses(Engine(asked), "logs-*")
    assert found is not None
    return {name: {use.value for use in each} for name, each in found.of_field.items() if each}


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ({"message": _MATCH}, {"message": {"full_text"}}),
        (
            {"message": {"inverted_index": {"terms": 1, "positions": 1, "proximity": 1}}},
            {"message": {"full_text", "phrase"}},
        ),
        ({"host.name.keyword": _MATCH}, {"host.name": {"term"}}),
        (
            {"host.name.keyword": {"inverted_index": {"terms": 1}, "doc_values": 1}},
            {"host.name": {"aggregate"}},
        ),
        (
            {"host.name.keyword": {"inverted_index": {"terms": 2}, "doc_values": 1}},
            {"host.name": {"term", "aggregate"}},
        ),
        (
            {"host.name.keyword": {"inverted_index": {"terms": 1, "postings": 1}, "doc_values": 1}},
            {"host.name": {"term", "aggregate"}},
        ),
        ({"@timestamp": {"doc_values": 1, "points": 1}}, {"@timestamp": {"range", "aggregate"}}),
        ({"net.port": {"points": 1}, "ok": _MATCH}, {"net.port": {"range"}, "ok": {"term"}}),
        ({"message": _MATCH, "gone": _MATCH}, {"message": {"full_text"}}),
    ],
)
def test_what_was_asked_is_what_fields_are_used_for(
    asked: JSON, wanted: dict[str, set[str]]
) -> None:
    assert uses(asked) == wanted


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ({"host.name.keyword": {"doc_values": 1}}, {"host.name"}),
        ({"host.name.keyword": _MATCH}, {"host.name"}),
        ({"host.name.keyword": {"doc_values": 1}, "host.name": _MATCH}, set()),
        ({"message": _MATCH}, set()),
        ({"net.port": {"doc_values": 1}}, set()),
        ({"@timestamp": {"doc_values": 1}}, set()),
    ],
)
def test_texts_of_which_only_a_keyword_was_read(asked: JSON, wanted: set[str]) -> None:
    found = field_uses(Engine(asked), "logs-*")
    assert found is not None
    assert found.keywords == wanted


def test_it_is_said_since_when_and_of_fields_that_nobody_asked() -> None:
    found = field_uses(Engine({"message": _MATCH}), "logs-*")
    assert found is not None
    assert found.since == datetime.fromtimestamp(1_795_716_944.086, UTC)
    assert found.of_field["ok"] == frozenset()


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (400, "this engine does not count searches by field"),
        (403, "this login may not see what is searched (it needs the index privilege manage)"),
        ({}, "nothing has been searched there"),
    ],
)
def test_without_searches_it_is_what_the_mapping_serves(asked: JSON | int, why: str) -> None:
    found = field_uses(Engine(asked), "logs-*")
    assert found is not None
    assert (found.since, found.why) == (None, why)
    assert {name: {use.value for use in each} for name, each in found.of_field.items()} == {
        "@timestamp": {"range", "aggregate"}, "ok": {"term", "aggregate"}, "raw": set(),
        "message": {"term", "full_text", "phrase", "aggregate"}, "host": set(), "net": set(),
        "host.name": {"term", "full_text", "phrase", "aggregate"},
        "net.port": {"range", "aggregate"},
    }  # fmt: skip


def test_an_engine_that_fails_is_no_engine_that_was_not_asked() -> None:
    with pytest.raises(EngineRefused):
        field_uses(Engine(503), "logs-*")


def test_no_index_is_no_use() -> None:
    assert field_uses(Engine({}, {}), "logs-*") is None

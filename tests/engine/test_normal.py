"""What means the same looks the same, whoever wrote it; what does not stays visible."""

from __future__ import annotations

import pytest

from tuner.engine import normal
from tuner.engine.client import JSON

# As rendered, and as Elasticsearch 8.19 gives it back (GET _index_template).
RENDERED: JSON = {
    "index_patterns": ["syslog"],
    "priority": 200,
    "template": {
        "settings": {"index.number_of_shards": 1, "index.requests.cache.enable": True},
        "mappings": {"dynamic": False, "properties": {"message": {"type": "text", "norms": False}}},
    },
    "_meta": {"managed_by": "rsyslog-tune", "profile_hash": "0123"},
}
TEMPLATE: JSON = {
    "settings": {"index": {"requests": {"cache": {"enable": "true"}}, "number_of_shards": "1"}},
    "mappings": {"dynamic": False, "properties": {"message": {"norms": False, "type": "text"}}},
}
GIVEN_BACK: JSON = {
    "index_patterns": ["syslog"],
    "template": TEMPLATE,
    "composed_of": [],
    "priority": 200,
    "_meta": {"managed_by": "rsyslog-tune", "profile_hash": "of another time"},
    "created_date_millis": 1,
}


def test_a_template_is_the_same_when_it_comes_back() -> None:
    assert normal.template(RENDERED) == normal.template(GIVEN_BACK)


@pytest.mark.parametrize(
    "change",
    [
        {"priority": 201},
        {"index_patterns": ["other"]},
        {"composed_of": ["more"]},
        {"data_stream": {}},
        {"version": 3},
        {"_meta": {"owner": "somebody"}},
        {"template": {**TEMPLATE, "aliases": {"a": {}}}},
    ],
)
def test_a_change_by_hand_is_seen(change: JSON) -> None:
    assert normal.template({**GIVEN_BACK, **change}) != normal.template(RENDERED)


def test_data_streams_are_the_same_on_both_engines() -> None:
    ours = normal.template({"data_stream": {}})
    elasticsearch: JSON = {"data_stream": {"hidden": False, "allow_custom_routing": False}}
    opensearch: JSON = {"data_stream": {"timestamp_field": {"name": "@timestamp"}}}
    assert ours == normal.template(elasticsearch) == normal.template(opensearch)
    hidden: JSON = {"data_stream": {"hidden": True}}
    assert ours != normal.template(hidden)


def test_a_field_may_be_called_like_what_engines_note_down() -> None:
    fields: JSON = {"properties": {"user": {"properties": {"name": {"type": "keyword"}}}}}
    assert normal.template({"template": {"mappings": fields}})["mappings"] == fields


@pytest.mark.parametrize(
    ("one", "other"),
    [("5s", "5000ms"), ("1gb", "1024mb"), ("10.0", "10"), ("-1", "-1"), ("1d", "24h")],
)
def test_other_spellings_mean_the_same(one: str, other: str) -> None:
    assert normal.same(one, other)
    assert normal.respelled({"a": [one]}, {"a": [other]}) == {"a": [other]}


@pytest.mark.parametrize(("one", "other"), [("5s", "5"), ("1gb", "1"), ("async", "request")])
def test_other_values_stay_what_they_are(one: str, other: str) -> None:
    assert not normal.same(one, other)
    assert normal.respelled({"a": one, "b": "x"}, {"a": other}) == {"a": one, "b": "x"}


# As OpenSearch's index management gives a policy back.
ISM: JSON = {
    "policy": {
        "policy_id": "syslog", "description": "d", "last_updated_time": 1, "schema_version": 21,
        "error_notification": None, "default_state": "hot",
        "states": [
            {
                "name": "hot",
                "actions": [
                    {
                        "retry": {"count": 3, "backoff": "exponential", "delay": "1m"},
                        "rollover": {"min_index_age": "1d", "copy_alias": False},
                    }
                ],
                "transitions": [],
            }
        ],
        "ism_template": [
            {"index_patterns": ["syslog-*"], "priority": 200, "last_updated_time": 1}
        ],
    }
}  # fmt: skip
ISM_RENDERED: JSON = {
    "policy": {
        "description": "d",
        "default_state": "hot",
        "states": [
            {"name": "hot", "actions": [{"rollover": {"min_index_age": "1d"}}], "transitions": []}
        ],
        "ism_template": [{"index_patterns": ["syslog-*"], "priority": 200}],
    }
}


def test_what_engines_add_to_policies_is_no_difference() -> None:
    assert normal.policy(ISM) == normal.policy(ISM_RENDERED)
    delete: JSON = {"delete": {"min_age": "30d", "actions": {"delete": {}}}}
    given: JSON = {
        "delete": {"min_age": "30d", "actions": {"delete": {"delete_searchable_snapshot": True}}}
    }
    ours: JSON = {"policy": {"phases": delete, "_meta": {"managed_by": "rsyslog-tune"}}}
    assert normal.policy(ours) == normal.policy({"policy": {"phases": given}})
    later: JSON = {"delete": {"min_age": "31d", "actions": {"delete": {}}}}
    assert normal.policy(ours) != normal.policy({"policy": {"phases": later}})

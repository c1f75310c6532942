"""The files for the engine: names, streams, policies, components, node settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.engines.test_index import INDEX, OPENSEARCH, ROLLING, SETTINGS, STREAM
from tests.profile.examples import small
from tuner.render.artefacts import render
from tuner.render.tree import Tree

POLICY = {"retention": "30d", "rollover": {"max_age": "1d", "max_primary_shard_size": "50gb"}}
MANAGED = ROLLING | {"lifecycle": POLICY}


def files(changes: Mapping[str, object]) -> dict[str, str]:
    return {one.path: one.text for one in render(small(changes))}


def body(path: str, changes: Mapping[str, object]) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(files(changes)[path])
    return parsed


def template(changes: Mapping[str, object]) -> dict[str, Any]:
    return body("index-template.json", changes)


def test_settings_are_spelled_as_the_engine_spells_them() -> None:
    changes: dict[str, object] = {
        f"{SETTINGS}.merge.policy.merge_factor": 16,
        f"{SETTINGS}.merge.scheduler.auto_throttle": False,
        f"{SETTINGS}.sort.field": ["@timestamp"],
    }
    assert template(changes)["template"]["settings"] == {
        "index.number_of_shards": 1,
        "index.number_of_replicas": 1,
        "index.merge.scheduler.auto_throttle": False,
        "index.merge.policy.merge_factor": 16,
        "index.sort.field": ["@timestamp"],
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [("mode", "logsdb"), ("store.type", "niofs"), ("mapping.ignore_malformed", True)],
)
def test_live_settings_have_nothing_that_an_open_index_refuses(name: str, value: object) -> None:
    changes = {f"{SETTINGS}.{name}": value}
    assert f"index.{name}" in template(changes)["template"]["settings"]
    assert body("live-settings.json", changes) == {"index.number_of_replicas": 1}


def test_a_data_stream_has_a_template_of_its_kind() -> None:
    found = template(STREAM)
    assert found["index_patterns"] == ["logs-syslog-default"]
    assert found["data_stream"] == {}
    assert "data_stream" not in template({})


@pytest.mark.parametrize(
    "timestamp",
    [
        {"property": "timereported"},
        {"property": "timereported", "uses": ["range", "retrieve"]},
        {"column": "when", "format": "yyyy-MM-dd"},
    ],
)
def test_a_data_stream_has_a_timestamp_that_the_engine_takes(timestamp: dict[str, object]) -> None:
    """It must be indexed, have doc values, and may not ignore what is malformed."""
    field = {**timestamp, "name": "@timestamp", "type": "date"}
    csv = {"parse": {"format": "csv", "columns": ["when"]}, "outputs[logs].document": [field]}
    made = template({**STREAM, **csv})["template"]["mappings"]["properties"]["@timestamp"]
    assert made.keys() <= {"type", "format"}


def test_of_two_templates_for_one_index_the_longer_name_wins() -> None:
    """Engines refuse overlapping patterns of the same priority."""
    daily = {"outputs[logs].index": {"name": "app", "rotate": "daily"}}
    audit = {"outputs[logs].index": {"name": "app-audit", "rotate": "daily"}}
    assert template(daily)["priority"] < template(audit)["priority"]


def test_a_data_stream_is_written_to_by_its_name_with_create() -> None:
    text = files(STREAM)["rsyslog.conf"]
    assert 'searchIndex="logs-syslog-default"' in text
    assert 'writeoperation="create"' in text


def test_a_rolling_alias_has_a_first_index() -> None:
    changes = {INDEX: ROLLING}
    assert template(changes)["index_patterns"] == ["syslog-*"]
    first = body("first-index.json", changes)
    assert first["aliases"] == {"syslog": {"is_write_index": True}}
    assert 'searchIndex="syslog"' in files(changes)["rsyslog.conf"]
    assert "first-index.json" not in files({})


def test_ilm_rolls_over_by_the_alias_and_deletes() -> None:
    changes = {INDEX: MANAGED}
    settings = template(changes)["template"]["settings"]
    assert settings["index.lifecycle.name"] == "syslog"
    assert settings["index.lifecycle.rollover_alias"] == "syslog"
    assert body("lifecycle-policy.json", changes)["policy"]["phases"] == {
        "hot": {"min_age": "0ms", "actions": {"rollover": POLICY["rollover"]}},
        "delete": {"min_age": "30d", "actions": {"delete": {}}},
    }


def test_ilm_finds_the_write_index_of_a_data_stream_itself() -> None:
    changes = {INDEX: {"data_stream": "logs", "lifecycle": POLICY}}
    settings = template(changes)["template"]["settings"]
    assert settings["index.lifecycle.name"] == "logs"
    assert "index.lifecycle.rollover_alias" not in settings


def test_ism_names_its_indices_in_the_policy() -> None:
    changes: dict[str, object] = {**OPENSEARCH, INDEX: MANAGED}
    settings = template(changes)["template"]["settings"]
    assert {name for name in settings if "lifecycle" in name or "plugins" in name} == {
        "index.plugins.index_state_management.rollover_alias"
    }
    policy = body("lifecycle-policy.json", changes)["policy"]
    hot, delete = policy["states"]
    assert (policy["default_state"], delete["actions"]) == (hot["name"], [{"delete": {}}])
    assert hot["actions"] == [
        {"rollover": {"min_index_age": "1d", "min_primary_shard_size": "50gb"}}
    ]
    assert hot["transitions"] == [
        {"state_name": "delete", "conditions": {"min_rollover_age": "30d"}}
    ]
    assert policy["ism_template"] == [{"index_patterns": ["syslog-*"], "priority": 206}]


def test_ism_counts_a_daily_index_from_its_creation() -> None:
    index = {"name": "syslog", "rotate": "daily", "lifecycle": {"retention": "7d"}}
    states = body("lifecycle-policy.json", {**OPENSEARCH, INDEX: index})["policy"]["states"]
    assert states[0]["transitions"][0]["conditions"] == {"min_index_age": "7d"}
    assert states[0]["actions"] == []


def test_components_say_together_what_the_template_says() -> None:
    whole = template({})
    changes: dict[str, object] = {f"{INDEX}.components": True}
    composed = template(changes)
    parts = [body(f"component-{part}.json", changes) for part in ("settings", "mappings")]
    assert composed["composed_of"] == ["syslog-settings", "syslog-mappings"]
    assert parts[0]["template"] | parts[1]["template"] == whole["template"]
    assert composed["_meta"] == whole["_meta"]
    assert "template" not in composed


def test_each_of_several_outputs_has_a_folder() -> None:
    profile = small()
    first = profile.measured
    second = first.model_copy(
        update={"name": "audit", "index": first.index.model_copy(update={"name": "audit"})}
    )
    several = {
        one.path: one.text
        for one in render(profile.model_copy(update={"outputs": (first, second)}))
    }
    assert "index-template.json" not in several
    patterns = [
        json.loads(several[f"{name}/index-template.json"])["index_patterns"]
        for name in ("logs", "audit")
    ]
    assert patterns == [["syslog"], ["audit"]]


def test_node_settings_are_values_of_yaml() -> None:
    changes: dict[str, object] = {
        "node.indices.memory.index_buffer_size": "30%",
        "node.thread_pool.write.queue_size": 5000,
        "node.bootstrap.memory_lock": True,
    }
    assert files(changes)["elasticsearch.yml"].splitlines()[-3:] == [
        'indices.memory.index_buffer_size: "30%"',
        "thread_pool.write.queue_size: 5000",
        "bootstrap.memory_lock: true",
    ]


def test_files_that_the_profile_no_longer_needs_go(tmp_path: Path) -> None:
    managed: dict[str, object] = {INDEX: MANAGED | {"components": True}}
    for release in ({}, OPENSEARCH):
        Tree(render(small(managed | release)), tmp_path).write()
        assert (tmp_path / "lifecycle-policy.json").exists()
        Tree(render(small(release)), tmp_path).write()
        assert {path.name for path in tmp_path.glob("*.json")} == {
            "index-template.json",
            "live-settings.json",
        }


def test_the_template_of_an_index_has_the_fields_of_all_that_write_to_it() -> None:
    """Messages that were CEE with their parts, others as they are: into one index."""
    plain = [{"property": "timereported", "name": "@timestamp"},
             {"property": "msg", "name": "message"}]  # fmt: skip
    parsed = [*plain, {"json": "user", "name": "user"}]
    output = small({}).outputs[0].model_dump(mode="json", by_alias=True, exclude_unset=True)
    outputs = [
        output | {"name": "cee", "document": parsed, "filter": {"parsesuccess": True}},
        output | {"name": "plain", "document": plain, "filter": {"parsesuccess": False}},
    ]
    written = files({"outputs": outputs, "parse": {"format": "json"}})
    fields = [
        set(json.loads(text)["template"]["mappings"]["properties"])
        for path, text in written.items()
        if path.endswith("index-template.json")
    ]
    assert fields
    assert all(one == {"@timestamp", "message", "user"} for one in fields)

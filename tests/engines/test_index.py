"""Index settings by engine and release, names, data streams and lifecycles."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tests.lab.test_bind import SITE
from tests.profile.examples import SMALL, small
from tuner.engines.index_settings import INDEX_SETTINGS, IndexSettings
from tuner.engines.node import NODE_SETTINGS, Node
from tuner.engines.settings import CODECS
from tuner.errors import BadProfile
from tuner.lab.bind import Bound, bind
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.profile.schema import keys_of
from tuner.render.artefacts import render

INDEX = "outputs[logs].index"
SETTINGS = f"{INDEX}.settings"
OPENSEARCH: dict[str, object] = {"release": {"opensearch": "2.19"}}
STREAM: Mapping[str, object] = {INDEX: {"data_stream": "logs-syslog-default"}}
ROLLING = {"name": "syslog", "rotate": "rollover"}


def said(changes: Mapping[str, object]) -> dict[str, str]:
    """What is wrong with the small profile with `changes`, by its code."""
    try:
        loaded = parse_profile(edit(SMALL, changes), "p.yaml")
    except BadProfile as bad:
        return {problem.code: problem.message for problem in bad.problems}
    return {problem.code: problem.message for problem in loaded.warnings}


def release(text: str) -> dict[str, object]:
    engine, version = text.split()
    return {"release": {engine: version}}


def test_every_setting_that_a_profile_takes_has_its_releases() -> None:
    assert keys_of((IndexSettings,)).keys() == INDEX_SETTINGS.keys()
    assert keys_of((Node,)).keys() == {*NODE_SETTINGS, "heap"}


@pytest.mark.parametrize(
    ("name", "value", "first", "last"),
    [
        ("translog.flush_threshold_age", "5m", "elasticsearch 8.8", "elasticsearch 8.7"),
        ("merge.policy.type", "tiered", "elasticsearch 8.7", "elasticsearch 8.6"),
        ("mode", "logsdb", "elasticsearch 8.17", "elasticsearch 8.16"),
        ("seq_no.index_options", "doc_values_only", "elasticsearch 9.1", "elasticsearch 9.0"),
        ("replication.type", "SEGMENT", "opensearch 2.7", "opensearch 2.6"),
        ("append_only.enabled", True, "opensearch 2.19", "opensearch 2.18"),
        ("derived_source.enabled", True, "opensearch 3.2", "opensearch 3.1"),
    ],
)
def test_a_setting_is_refused_before_the_release_that_brought_it(
    name: str, value: object, first: str, last: str
) -> None:
    changes = {f"{SETTINGS}.{name}": value}
    assert "RT303" not in said(release(first) | changes)
    brought = first.replace("elastic", "Elastic").replace("opensearch", "OpenSearch")
    assert said(release(last) | changes)["RT303"].endswith(
        f"does not know {name}, introduced in {brought}: remove it"
    )


@pytest.mark.parametrize(
    ("where", "name", "value", "other"),
    [
        (SETTINGS, "bloom_filter_for_id_field.enabled", False, "opensearch 2.19"),
        (SETTINGS, "use_compound_file", False, "elasticsearch 8.19"),
        ("node", "thread_pool.write_coordination.size", 2, "opensearch 2.19"),
    ],
)
def test_a_setting_of_the_other_engine_is_refused(
    where: str, name: str, value: object, other: str
) -> None:
    knows = "OpenSearch" if other.startswith("elastic") else "Elasticsearch"
    wanted = f"does not know {name}, only {knows} has it: remove it"
    assert said({**release(other), f"{where}.{name}": value})["RT303"].endswith(wanted)


def test_a_setting_that_no_profile_needs_is_rendered_as_it_is_written() -> None:
    profile = parse_profile(
        edit(SMALL, {f"{SETTINGS}.max_terms_count": 9, f"{SETTINGS}.routing_path": ["host.name"]}),
        "p.yaml",
    ).profile
    files = {file.path: json.loads(file.text) for file in render(profile) if "json" in file.path}
    settings = files["index-template.json"]["template"]["settings"]
    assert settings["index.max_terms_count"] == 9
    assert settings["index.routing_path"] == ["host.name"]
    assert files["live-settings.json"]["index.max_terms_count"] == 9
    assert "index.routing_path" not in files["live-settings.json"]


def test_a_setting_that_there_is_not_is_refused_with_what_is_spelled_almost_so() -> None:
    message = said({SETTINGS: {"max_terms_cout": 9}})["RT001"]
    assert "max_terms_count" in message
    assert "RT002" in said({f"{SETTINGS}.max_terms_count": "nine"})


@pytest.mark.parametrize(
    ("name", "value", "engine", "why"),
    [
        ("uuid", "a", "elasticsearch 8.19", "the engine sets it itself"),
        ("uuid", "a", "opensearch 3.6", "the engine sets it itself"),
        ("translog.retention.age", "5m", "elasticsearch 8.0", "Elasticsearch took it up to 7.17"),
    ],
)
def test_a_setting_that_the_engine_takes_no_more_or_from_nobody_is_refused(
    name: str, value: object, engine: str, why: str
) -> None:
    message = said({**release(engine), f"{SETTINGS}.{name}": value})["RT303"]
    assert message.endswith(f"{why}: remove it")
    assert "RT303" not in said(
        {**release("elasticsearch 7.17"), f"{SETTINGS}.translog.retention.age": "5m"}
    )


@pytest.mark.parametrize("codec", CODECS)
def test_each_engine_has_its_codecs(codec: str) -> None:
    shared = {"default", "best_compression"}
    changes: dict[str, object] = {f"{SETTINGS}.codec": codec}
    refused = "RT320" in said(release("elasticsearch 8.15") | changes)
    assert refused == (codec not in shared)
    refused = "RT320" in said(release("elasticsearch 8.19") | changes)
    assert refused == (codec not in shared and not codec.startswith("legacy"))
    refused = "RT320" in said(OPENSEARCH | changes)
    assert refused == codec.startswith("legacy")
    assert ("RT320" in said(release("opensearch 2.8") | changes)) == (codec not in shared)


def test_only_zstd_has_a_compression_level() -> None:
    changes: dict[str, object] = {**OPENSEARCH, f"{SETTINGS}.codec.compression_level": 3}
    assert "RT320" in said(changes)
    assert said(changes | {f"{SETTINGS}.codec": "zstd"}) == {}


@pytest.mark.parametrize("index", [{}, {"name": "a", "data_stream": "b"}])
def test_documents_go_to_one_place(index: object) -> None:
    assert said({INDEX: index})["RT002"].startswith(
        "outputs[0].index is wrong: give exactly one of name and data_stream"
    )


def test_a_data_stream_needs_a_timestamp_that_is_a_date() -> None:
    assert said(STREAM) == {}
    text = [{"property": "timereported", "name": "@timestamp"}]
    message = said({**STREAM, "outputs[logs].document": text})["RT321"]
    assert message.startswith("a data stream refuses documents without @timestamp")
    assert "RT321" not in said({"outputs[logs].document": text})


def test_a_data_stream_is_not_rotated() -> None:
    assert said({INDEX: {"data_stream": "logs", "rotate": "daily"}}).keys() == {"RT322"}


@pytest.mark.parametrize(
    "index",
    [
        {"name": "syslog", "lifecycle": {"rollover": {"max_age": "1d"}}},
        {"name": "syslog", "lifecycle": {"retention": "7d"}},
        {"name": "syslog", "rotate": "daily", "lifecycle": {"rollover": {"max_age": "1d"}}},
        ROLLING | {"lifecycle": {"retention": "7d"}},
        {"data_stream": "logs", "lifecycle": {"retention": "7d"}},
    ],
)
def test_a_lifecycle_that_cannot_work_is_refused(index: dict[str, object]) -> None:
    assert said({INDEX: index}).keys() == {"RT323"}


@pytest.mark.parametrize(
    "index",
    [
        {"name": "syslog", "rotate": "daily", "lifecycle": {"retention": "7d"}},
        ROLLING | {"lifecycle": {"retention": "7d", "rollover": {"max_age": "1d"}}},
        ROLLING | {"lifecycle": {"rollover": {"max_docs": 100}}},
        {"data_stream": "logs", "lifecycle": {"rollover": {"max_primary_shard_size": "50gb"}}},
    ],
)
def test_a_lifecycle_that_works_is_accepted(index: dict[str, object]) -> None:
    assert said({INDEX: index}) == {}
    assert said({**OPENSEARCH, INDEX: index}) == {}
    assert said({**release("opensearch 1.2"), INDEX: index}).keys() == {"RT323"}


@pytest.mark.parametrize("lifecycle", [{}, {"rollover": {}}])
def test_an_empty_lifecycle_is_none(lifecycle: object) -> None:
    assert "RT002" in said({INDEX: ROLLING | {"lifecycle": lifecycle}})


def test_an_index_is_sorted_by_fields_that_have_doc_values() -> None:
    assert said({f"{SETTINGS}.sort.field": ["@timestamp"]}) == {}
    assert said({f"{SETTINGS}.sort.field": ["message"]}).keys() == {"RT324"}
    orders: dict[str, object] = {
        f"{SETTINGS}.sort.field": ["@timestamp"],
        f"{SETTINGS}.sort.order": ["desc", "asc"],
    }
    assert said(orders).keys() == {"RT324"}


def test_a_write_waits_for_no_more_copies_than_there_are() -> None:
    assert said({f"{SETTINGS}.write.wait_for_active_shards": 3}).keys() == {"RT325"}
    assert said({f"{SETTINGS}.write.wait_for_active_shards": 2}) == {}
    assert said({f"{SETTINGS}.write.wait_for_active_shards": "all"}) == {}


def test_an_index_that_only_appends_takes_no_ids_that_overwrite() -> None:
    changes: dict[str, object] = {**OPENSEARCH, f"{SETTINGS}.append_only.enabled": True}
    assert said(changes) == {}
    changes["outputs[logs].bulkid"] = "uuid"
    assert "RT326" in said(changes)
    assert "RT326" not in said({**changes, "outputs[logs].writeoperation": "create"})


def test_merge_settings_that_do_nothing_are_told() -> None:
    changes: dict[str, object] = {f"{SETTINGS}.merge.policy.segments_per_tier": 20}
    assert said(changes).keys() == {"RT327"}
    assert said(changes | release("elasticsearch 8.6")) == {}
    assert said(changes | OPENSEARCH) == {}
    assert said(changes | {f"{SETTINGS}.merge.policy.type": "tiered"}) == {}


MODE = f"{SETTINGS}.mode"


@pytest.mark.parametrize(
    ("mode", "engine", "codes"),
    [
        ("logsdb", "elasticsearch 8.19", set()),
        ("columnar", "elasticsearch 9.4", {"RT345"}),
        ("columnar", "elasticsearch 9.5", {"RT346"}),
        ("logsdb_columnar", "elasticsearch 9.5", {"RT346"}),
        ("standard", "elasticsearch 9.5", set()),
    ],
)
def test_a_columnar_mode_is_new_and_a_preview(mode: str, engine: str, codes: set[str]) -> None:
    changes = {**release(engine), MODE: mode, f"{SETTINGS}.number_of_replicas": 0}
    assert said(changes).keys() - {"RT302"} == codes


COLUMNAR: dict[str, object] = {**release("elasticsearch 9.5"), MODE: "columnar"}


@pytest.mark.parametrize(
    ("changes", "is_refused"),
    [
        ({}, False),
        ({"mapping.source.mode": "stored"}, True),
        ({"mapping.source.mode": "columnar_stored"}, False),
        ({"mapping.source.mode": "synthetic"}, False),
        ({"mapping.source.mode": "columnar_stored", "mode": "logsdb"}, True),
        ({"seq_no.index_options": "points_and_doc_values"}, True),
        ({"seq_no.index_options": "doc_values_only"}, False),
        (
            {"seq_no.index_options": "points_and_doc_values", "disable_sequence_numbers": False},
            False,
        ),
        ({"recovery.use_synthetic_source": False}, True),
        ({"recovery.use_synthetic_source": False, "mode": "standard"}, False),
    ],
)
def test_what_columns_do_not_go_with_is_refused(
    changes: Mapping[str, object], is_refused: bool
) -> None:
    written = {f"{SETTINGS}.{name}": value for name, value in changes.items()}
    assert ("RT347" in said({**COLUMNAR, **written})) is is_refused


def test_json_that_no_mapping_names_is_lost_as_columns() -> None:
    dated = {"property": "timereported", "name": "@timestamp", "type": "date"}
    document = [{"json": "http", "name": "http", "type": "json"}, dated]
    changes = {**COLUMNAR, "parse": {"format": "json"}, "outputs[logs].document": document}
    assert "drops the JSON in http" in said(changes)["RT348"]
    assert "RT348" not in said({**changes, MODE: "logsdb"})
    assert "RT348" not in said(COLUMNAR)


@pytest.mark.parametrize(("mode", "needs_it"), [("logsdb", True), ("columnar", False)])
def test_a_mode_for_logs_needs_a_timestamp(mode: str, needs_it: bool) -> None:
    text = [{"property": "msg", "name": "message"}]
    changes = {**COLUMNAR, MODE: mode, "outputs[logs].document": text}
    assert ("RT321" in said(changes)) is needs_it
    assert "RT321" not in said({**COLUMNAR, MODE: mode})


def test_an_index_for_logs_is_sorted_by_a_timestamp_that_can_sort() -> None:
    """Elasticsearch refuses one without doc values, whatever it is used for."""
    dated = {"property": "timereported", "name": "@timestamp", "type": "date"}
    for mode, mapping in (
        ("standard", {"type": "date", "index": False, "doc_values": False}),
        ("logsdb", {"type": "date"}),
        ("logsdb_columnar", {"type": "date"}),
    ):
        profile = small({**COLUMNAR, MODE: mode, "outputs[logs].document": [dated]})
        (template,) = (one.text for one in render(profile) if one.path == "index-template.json")
        properties = json.loads(template)["template"]["mappings"]["properties"]
        assert properties == {"@timestamp": mapping}


def test_the_mapping_of_columns_leaves_every_field_its_values() -> None:
    for mode, is_off in (("standard", True), ("columnar", False)):
        profile = small({**COLUMNAR, MODE: mode})
        (template,) = (one.text for one in render(profile) if one.path == "index-template.json")
        assert ('"doc_values": false' in template) is is_off


@pytest.mark.parametrize(
    ("engine", "replicas", "is_affected"),
    [("9.4", 1, False), ("9.5", 1, True), ("9.5", 0, False), ("9.6", 1, False)],
)
def test_replicas_that_can_diverge_are_told(engine: str, replicas: int, is_affected: bool) -> None:
    changes = {**release(f"elasticsearch {engine}"), f"{SETTINGS}.number_of_replicas": replicas}
    assert ("RT349" in said(changes)) is is_affected


@pytest.mark.parametrize(
    ("rsyslog", "engine", "is_told"),
    [("8.2302", "3.8", False), ("8.2302", "3.9", True), ("8.2606", "3.9", False)],
)
def test_an_engine_that_can_limit_bulks_is_told(rsyslog: str, engine: str, is_told: bool) -> None:
    changes = {"release": {"rsyslog": rsyslog, "opensearch": engine}}
    assert ("RT350" in said(changes)) is is_told


def test_synthetic_source_needs_a_licence() -> None:
    assert said({f"{SETTINGS}.mapping.source.mode": "synthetic"}).keys() == {"RT328"}


def bound(changes: Mapping[str, object]) -> Bound:
    return bind(small(changes), SITE, (40514,))


def test_a_lab_measures_a_rolling_alias_as_an_index_and_says_so() -> None:
    index = ROLLING | {"lifecycle": {"rollover": {"max_age": "1d"}}}
    found = bound({INDEX: index, f"{SETTINGS}.write.wait_for_active_shards": 2})
    told = {str(one) for one in found.substitutions}
    assert {
        f"{INDEX}: syslog -> rsyslog-tune-abc-t1-syslog",
        f"{INDEX}: index.lifecycle.name -> left out",
        f"{INDEX}: index.lifecycle.rollover_alias -> left out",
        f"{INDEX}: index.write.wait_for_active_shards 2 -> 1",
    } <= told


def test_a_lab_measures_a_data_stream_as_an_index_and_says_so() -> None:
    """A trial cannot remove a data stream."""
    found = bound(STREAM)
    told = {str(one) for one in found.substitutions}
    assert {
        f"{INDEX}: data_stream -> left out",
        f"{INDEX}: logs-syslog-default -> rsyslog-tune-abc-t1-logs-syslog-default",
    } <= told


@pytest.mark.parametrize("name", ["default_pipeline", "final_pipeline"])
def test_a_lab_leaves_out_ingest_pipelines_and_says_so(name: str) -> None:
    """It has none of that name, and would refuse every document."""
    found = bound({f"{SETTINGS}.{name}": "geoip"})
    assert f"{INDEX}: index.{name} -> left out" in {str(one) for one in found.substitutions}


def test_nothing_is_kept_only_to_measure_the_ceiling() -> None:
    nothing = {"outputs[logs].index.mapping": "none"}
    assert said(nothing).keys() == {"RT329"}
    assert said({**nothing, "guardrails.tier": "berserk"}) == {}

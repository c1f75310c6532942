"""What we render for an engine, the engine takes: each setting, each kind of template.

The engines of Maven Central are minimal.  What they lack is listed here, and that they lack it is
checked too, so that the list stays true.
"""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.live.engines import RELEASES, running
from tests.profile.examples import small
from tuner.engine import owned
from tuner.engine.client import EngineClient, EngineRefused
from tuner.engine.sampled import leaves
from tuner.engines.index_settings import INDEX_SETTINGS
from tuner.engines.node import NODE_SETTINGS, Node
from tuner.engines.release import Release
from tuner.engines.settings import CODECS, MODES, unknown_to
from tuner.lab.entrances import TcpPort, free_port
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.render.artefacts import render, rsyslog_conf

pytestmark = [pytest.mark.live, pytest.mark.full]

# The modules data-streams, x-pack-ilm and the plugins custom-codecs and index-management.
LACKS = {
    ("elasticsearch", (7, 17)): {"lifecycle", "data stream"},
    ("elasticsearch", (8, 19)): {"lifecycle"},
    ("elasticsearch", (9, 2)): {"lifecycle"},
    ("elasticsearch", (9, 5)): {"lifecycle"},
    ("opensearch", (2, 19)): {"lifecycle", "zstd", "zstd_no_dict", "qat_lz4", "qat_deflate"},
    ("opensearch", (3, 2)): {"lifecycle", "zstd", "zstd_no_dict", "qat_lz4", "qat_deflate"},
    ("opensearch", (3, 6)): {"lifecycle", "zstd", "zstd_no_dict", "qat_lz4", "qat_deflate"},
    ("opensearch", (3, 8)): {"lifecycle", "zstd", "zstd_no_dict", "qat_lz4", "qat_deflate"},
}
INDEX = "outputs[logs].index"
EVENTS = 50
POLICY = {"retention": "30d", "rollover": {"max_age": "1d"}}
KINDS: dict[str, object] = {
    "plain": {"name": "syslog"},
    "daily": {"name": "syslog", "rotate": "daily"},
    "rollover": {"name": "syslog", "rotate": "rollover"},
    "dynamic": {"name": "syslog", "mapping": "dynamic"},
    "data stream": {"data_stream": "logs-syslog-default"},
    "lifecycle": {"name": "syslog", "rotate": "rollover", "lifecycle": POLICY},
}
# Where "true" is no value, one that is.
VALUES: dict[str, object] = {
    "number_of_shards": 2, "number_of_replicas": 0, "replication.type": "SEGMENT",
    "write.wait_for_active_shards": 1, "routing.allocation.total_shards_per_node": 3,
    "unassigned.node_left.delayed_timeout": "5m", "refresh_interval": "5s",
    "search.idle.after": "10s", "codec": "best_compression", "store.type": "niofs",
    "translog.durability": "async", "translog.sync_interval": "1s",
    "translog.flush_threshold_size": "1gb", "translog.flush_threshold_age": "5m",
    "translog.generation_threshold_size": "128mb", "flush_after_merge": "256mb",
    "merge_on_flush.max_full_flush_merge_wait_time": "5s", "merge.scheduler.max_thread_count": 1,
    "merge.scheduler.max_merge_count": 6, "merge.policy": "log_byte_size",
    "merge.policy.type": "tiered", "merge.policy.merge_factor": 16,
    "merge.policy.segments_per_tier": 20, "merge.policy.max_merge_at_once": 20,
    "merge.policy.max_merged_segment": "2gb", "merge.policy.floor_segment": "16mb",
    "merge.policy.deletes_pct_allowed": 30, "merge.log_byte_size_policy.merge_factor": 20,
    "merge.log_byte_size_policy.min_merge": "16mb",
    "merge.log_byte_size_policy.max_merge_segment": "2gb", "mapping.total_fields.limit": 200,
    "mapping.depth.limit": 10, "mapping.ignore_above": 1024, "mapping.source.mode": "stored",
    "mode": "logsdb", "seq_no.index_options": "doc_values_only", "sort.field": ["@timestamp"],
    "sort.order": ["desc"], "default_pipeline": "_none", "final_pipeline": "_none",
    "codec.compression_level": 3, "priority": 5, "auto_expand_replicas": "0-1",
    "max_result_window": 20000, "routing.allocation.include._tier_preference": "data_hot",
    "sort.missing": ["_last"], "sort.mode": ["max"], "soft_deletes.retention_lease.period": "6h",
    "mapping.field_name_length.limit": 200, "mapping.synthetic_source_keep": "arrays",
    "mapping.synthetic_id": False,
}  # fmt: skip
NODE_VALUES: dict[str, object] = {
    "indices.memory.index_buffer_size": "20%", "indices.memory.min_index_buffer_size": "32mb",
    "indices.memory.max_index_buffer_size": "200mb", "indexing_pressure.memory.limit": "20%",
    "thread_pool.write.size": 2, "thread_pool.write.queue_size": 500, "node.processors": 1,
    "thread_pool.write_coordination.size": 2, "thread_pool.write_coordination.queue_size": 500,
    "http.max_content_length": "50mb", "bootstrap.memory_lock": False,
    "indices.time_series_index.default_index_merge_policy": "log_byte_size",
}  # fmt: skip
# What a setting is accepted with only.
WITH: dict[str, dict[str, object]] = {
    "sort.order": {"sort.field": ["@timestamp"]},
    "sort.missing": {"sort.field": ["@timestamp"]},
    "sort.mode": {"sort.field": ["@timestamp"]},
    "disable_sequence_numbers": {"seq_no.index_options": "doc_values_only"},
    "recovery.use_synthetic_source": {"mode": "logsdb"},
    "logsdb.route_on_sort_fields": {
        "mode": "logsdb",
        "sort.field": ["host.name", "process.name", "@timestamp"],
    },
    "codec.compression_level": {"codec": "zstd"},
    "bulk.adaptive_shard_selection.enabled": {"append_only.enabled": True},
}
# What OpenSearch takes for the attribute of a node that has that name, of which it has none.
AN_ATTRIBUTE = "routing.allocation.include._tier_preference"
# What our mapping is refused with (RT340).
WITHOUT_MAPPING = frozenset({"derived_source.enabled"})


@dataclass(frozen=True)
class Engine:
    """A running engine, and the release that the profile is for."""

    release: Release
    client: EngineClient

    @property
    def lacks(self) -> set[str]:
        return LACKS[self.release.engine.value, self.release.engine_version]

    def knows(self, name: str) -> bool:
        """Whether we say that it knows an index setting."""
        return INDEX_SETTINGS[name].unknown_to(self.release) is None

    def files(self, index: object, document: object = "ecs") -> dict[str, Any]:
        """The JSON files of a profile with this index and document."""
        version = ".".join(map(str, self.release.engine_version))
        release = {self.release.engine.value: version}
        changes = {"release": release, INDEX: index, "outputs[logs].document": document}
        return {
            one.path: json.loads(one.text)
            for one in render(small(changes))
            if one.path.endswith(".json")
        }

    def refusal(self, template: dict[str, object]) -> str | None:
        """Why the engine refuses a template, None when it takes it."""
        try:
            self.client.request("PUT", "/_index_template/under-test", template)
        except EngineRefused as refused:
            return str(refused)
        self.client.request("DELETE", "/_index_template/under-test")
        return None


@pytest.fixture(scope="module", params=RELEASES, ids=lambda one: str(one.engine_version))
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    settings = _node(request.param).settings
    with running(request.param, tmp_path_factory.mktemp("engine"), settings) as client:
        yield Engine(request.param, client)


def _node(release: Release) -> Node:
    """A profile's node with every setting that the release knows."""
    known = {
        f"node.{name}": value
        for name, value in NODE_VALUES.items()
        if NODE_SETTINGS[name].unknown_to(release) is None
    }
    version = ".".join(map(str, release.engine_version))
    return small({"release": {release.engine.value: version}, **known}).node


def test_the_node_has_the_settings_that_it_was_started_with(engine: Engine) -> None:
    answer = engine.client.get("/_nodes/settings?flat_settings=true")["nodes"]
    assert isinstance(answer, dict)
    (node,) = answer.values()
    wanted = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in _node(engine.release).settings.items()
    }
    assert len(wanted) >= 9
    assert {name: node["settings"].get(name) for name in wanted} == wanted


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_template_is_accepted_and_simulated(engine: Engine, kind: str) -> None:
    template = engine.files(KINDS[kind])["index-template.json"]
    refusal = engine.refusal(template)
    assert (refusal is None) == (kind not in engine.lacks), refusal
    if refusal is not None:
        return
    engine.client.request("PUT", "/_index_template/under-test", template)
    try:
        name = template["index_patterns"][0].replace("*", "000001")
        answer = engine.client.request("POST", f"/_index_template/_simulate_index/{name}")
        assert isinstance(answer, dict)
        simulated = answer["template"]
        assert simulated["settings"]["index"]["number_of_shards"] == "1"
        if kind != "dynamic":
            found = simulated["mappings"]["properties"]["message"]
            assert found == template["template"]["mappings"]["properties"]["message"]
    finally:
        engine.client.request("DELETE", "/_index_template/under-test")


@pytest.mark.parametrize("name", INDEX_SETTINGS)
def test_the_engine_knows_the_settings_that_we_say_it_knows(engine: Engine, name: str) -> None:
    template = engine.files({"name": "syslog"})["index-template.json"]
    extra: Mapping[str, object] = {
        name: VALUES.get(name, True),
        **{key: value for key, value in WITH.get(name, {}).items() if engine.knows(key)},
    }
    if name in WITHOUT_MAPPING:
        del template["template"]["mappings"]
    for key, value in extra.items():
        template["template"]["settings"][f"index.{key}"] = value
    refusal = engine.refusal(template)
    if not engine.knows(name):
        if name == AN_ATTRIBUTE:
            return
        assert refusal is not None
        assert f"unknown setting [index.{name}]" in refusal
    elif "zstd" in extra.values() and "zstd" in engine.lacks:
        assert refusal is not None
        assert "codec" in refusal
    else:
        assert refusal is None


SEARCHES: dict[str, dict[str, object]] = {
    "term": {"term": {"host.name": "web1"}},
    "full_text": {"match": {"message": "password"}},
    "phrase": {"match_phrase": {"message": "password for root"}},
    "range": {"range": {"severity": {"gte": 4}}},
}
DOCUMENT: list[dict[str, object]] = [
    {"property": "timereported", "name": "@timestamp", "type": "date"},
    {"property": "hostname", "name": "host.name", "uses": ["term", "aggregate", "retrieve"]},
    {"property": "syslogseverity", "name": "severity", "type": "integer", "uses": ["range"]},
    {"property": "msg", "name": "message", "uses": ["full_text", "phrase", "retrieve"]},
    {"property": "procid", "name": "procid"},
]


@pytest.mark.parametrize("mode", MODES)
def test_an_index_of_each_mode_serves_the_uses_of_its_fields(engine: Engine, mode: str) -> None:
    if unknown_to(engine.release, *MODES[mode]) is not None:
        template = engine.files({"name": "modes"}, DOCUMENT)["index-template.json"]
        template["template"]["settings"]["index.mode"] = mode
        assert engine.refusal(template) is not None
        return
    files = engine.files({"name": "modes", "settings": {"mode": mode}}, DOCUMENT)
    engine.client.request("PUT", "/modes", files["index-template.json"]["template"])
    try:
        for number, words in enumerate(("Failed password for root", "session opened")):
            document = {
                "@timestamp": f"2026-11-29T00:00:0{number}Z", "host": {"name": f"web{number + 1}"},
                "severity": 4 - number, "message": words, "procid": "7",
            }  # fmt: skip
            engine.client.request("POST", "/modes/_doc?refresh=true", document)
        for use, query in SEARCHES.items():
            answer = engine.client.request("POST", "/modes/_search", {"query": query})
            hits = answer["hits"]["hits"] if isinstance(answer, dict) else []
            assert len(hits) == 1, use
            kept = dict(leaves(hits[0]["_source"]))
            assert kept.keys() == {field["name"] for field in DOCUMENT}
            assert (kept["host.name"], kept["procid"]) == ("web1", "7")
        counted = {"size": 0, "aggs": {"hosts": {"terms": {"field": "host.name"}}}}
        answer = engine.client.request("POST", "/modes/_search", counted)
        assert isinstance(answer, dict)
        assert len(answer["aggregations"]["hosts"]["buckets"]) == 2
    finally:
        engine.client.request("DELETE", "/modes")


@pytest.mark.parametrize("codec", CODECS)
def test_the_engine_has_the_codecs_that_we_say_it_has(engine: Engine, codec: str) -> None:
    template = engine.files({"name": "syslog"})["index-template.json"]
    template["template"]["settings"]["index.codec"] = codec
    known = unknown_to(engine.release, *CODECS[codec]) is None and codec not in engine.lacks
    refusal = engine.refusal(template)
    assert (refusal is None) == known, refusal


def test_components_make_the_same_index_as_the_template(engine: Engine) -> None:
    simulated = []
    for components in (False, True):
        files = engine.files({"name": "syslog", "components": components})
        for part in ("settings", "mappings"):
            body = files.get(f"component-{part}.json")
            if body is not None:
                engine.client.request("PUT", f"/_component_template/syslog-{part}", body)
        engine.client.request("PUT", "/_index_template/under-test", files["index-template.json"])
        answer = engine.client.request("POST", "/_index_template/_simulate_index/syslog")
        assert isinstance(answer, dict)
        simulated.append(answer["template"])
        engine.client.request("DELETE", "/_index_template/under-test")
    assert simulated[0] == simulated[1]


def test_live_settings_are_accepted_by_an_open_index(engine: Engine) -> None:
    settings = {"refresh_interval": "5s", "codec": "best_compression", "number_of_replicas": 0}
    files = engine.files({"name": "syslog", "settings": settings})
    engine.client.request("PUT", "/_index_template/under-test", files["index-template.json"])
    engine.client.request("PUT", "/syslog")
    try:
        engine.client.request("PUT", "/syslog/_settings", files["live-settings.json"])
    finally:
        engine.client.request("DELETE", "/syslog")
        engine.client.request("DELETE", "/_index_template/under-test")


def test_an_alias_rolls_over_to_an_index_of_the_template(engine: Engine) -> None:
    files = engine.files({"name": "syslog", "rotate": "rollover"})
    engine.client.request("PUT", "/_index_template/under-test", files["index-template.json"])
    engine.client.request("PUT", "/syslog-000001", files["first-index.json"])
    try:
        engine.client.request("PUT", "/syslog/_doc/1?op_type=create", {"message": "hello"})
        engine.client.request("POST", "/syslog/_rollover")
        second = engine.client.get("/syslog-000002/_mapping")
        mappings = second["syslog-000002"]
        assert isinstance(mappings, dict)
        assert mappings["mappings"]["dynamic"] == "false"
    finally:
        for name in ("syslog-000001", "syslog-000002"):
            engine.client.request("DELETE", f"/{name}")
        engine.client.request("DELETE", "/_index_template/under-test")


@pytest.mark.parametrize("kind", ["rollover", "data stream"])
def test_rsyslogd_writes_to_what_the_files_set_up(
    engine: Engine, tmp_path: Path, kind: str
) -> None:
    if kind in engine.lacks:
        pytest.skip(f"the minimal {engine.release.engine.value} has no {kind}")
    index = {"name": "end-to-end", "rotate": "rollover"}
    if kind == "data stream":
        index = {"data_stream": "logs-end-to-end"}
    files = engine.files(index)
    engine.client.request("PUT", f"/_index_template/{kind[:4]}", files["index-template.json"])
    if kind == "rollover":
        engine.client.request("PUT", "/end-to-end-000001", files["first-index.json"])
    port = free_port()
    changes = {
        INDEX: index,
        "inputs[0].port": port,
        "outputs[logs].servers": [engine.client.url],
        "outputs[logs].queue.timeoutShutdown": 5000,
    }
    with scratch(tmp_path) as folder:
        shipper = Rsyslogd(
            rsyslog_conf(small(changes)), subfolder(folder, "shipper"), [TcpPort(port)]
        )
        with socket.create_connection(("127.0.0.1", port)) as connection:
            for number in range(EVENTS):
                connection.sendall(b"<13>Oct 11 22:14:15 host app: event %d\n" % number)
        target = small(changes).measured.index.target
        _wait_for(engine.client, target)
        assert shipper.finish(5.0) is None
    backing = owned.indices(engine.client, f".ds-{target}" if kind == "data stream" else target)
    assert len(backing) == 1


def _wait_for(client: EngineClient, target: str) -> None:
    """Until all events are found; fails when they are not, or are too many."""
    deadline = time.monotonic() + 20
    found: object = None
    while found != EVENTS and time.monotonic() < deadline:
        with contextlib.suppress(EngineRefused):
            client.request("POST", f"/{target}/_refresh")
            found = client.get(f"/{target}/_count")["count"]
        time.sleep(0.1)
    assert found == EVENTS

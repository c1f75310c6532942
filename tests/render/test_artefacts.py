"""What a profile becomes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.profile.examples import small
from tests.render.tokens import Object, parse
from tests.shipped import EXAMPLES
from tuner.lint.load import load_profile
from tuner.modules.queue import Queue
from tuner.profile.model import Profile
from tuner.render.artefacts import render
from tuner.render.engine_files import index_template, live_settings

ROOT = Path(__file__).parents[2]
PROFILES = [ROOT / "profiles/default.yaml", *EXAMPLES]
FILES = {
    "filename", "spoolDirectory", "maxDiskSpace", "maxFileSize", "checkpointInterval",
    "syncQueueFiles", "saveOnShutdown",
}  # fmt: skip
# Their defaults are the same everywhere, or are known to later releases only.
WHERE_WRITTEN = {
    "dequeueTimeBegin", "dequeueTimeEnd", "samplingInterval", "takeFlowCtlFromMsg", "onCorruption",
    "diskQueueType", "diskQueueAutoUpgrade", "diskQueueIdleTimeout", "mutexContentionStats",
    "scope", "local.frontendSize", "local.maxFrontends", "local.frontendStats",
    "local.helperBatchSize",
}  # fmt: skip
QUEUE = {f"queue.{info.alias or name}" for name, info in Queue.model_fields.items()} - {
    f"queue.{name}" for name in WHERE_WRITTEN
}
IN_MEMORY = QUEUE - {f"queue.{name}" for name in FILES}


def text_of(profile: Profile, path: str = "rsyslog.conf") -> str:
    return {artefact.path: artefact.text for artefact in render(profile)}[path]


def objects(changes: Mapping[str, object] | None = None) -> list[Object]:
    return parse(text_of(small(changes)))


def only(found: list[Object], kind: str) -> Object:
    (match,) = [one for one in found if one.kind == kind]
    return match


def action(changes: Mapping[str, object] | None = None) -> dict[str, str | list[str]]:
    """The parameters of the output's action."""
    return only(objects(changes), "ruleset").body[-1].parameters


def document(changes: Mapping[str, object] | None = None) -> str:
    """The document of one event, with %property:options% for what rsyslog fills in."""
    template = only(objects(changes), "template")
    return "".join(
        str(piece.parameters["value"])
        if piece.kind == "constant"
        else "%" + ":".join(str(value) for value in piece.parameters.values()) + "%"
        for piece in template.body
    )


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_rendering_twice_gives_the_same_bytes(path: Path) -> None:
    assert render(load_profile(path).profile) == render(load_profile(path).profile)


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_every_queue_parameter_is_written_out(path: Path) -> None:
    found = parse(text_of(load_profile(path).profile))
    assert only(found, "main_queue").parameters.keys() == IN_MEMORY
    for sent in only(found, "ruleset").body[1:]:
        names = {name for name in sent.parameters if name in QUEUE}
        assert names in ({"queue.type"}, IN_MEMORY)


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_only_the_objects_we_mean_to_write_appear(path: Path) -> None:
    found = parse(text_of(load_profile(path).profile))
    kinds = {"global", "module", "template", "main_queue", "ruleset", "input"}
    assert {one.kind for one in found} == kinds
    types = {inner.parameters["type"] for inner in only(found, "ruleset").body}
    assert types <= {"omelasticsearch", "omfile", "mmutf8fix"}


def test_a_queue_with_files_writes_their_parameters_too() -> None:
    files = {"filename": "logs", "spoolDirectory": "/var/spool/rsyslog"}
    changes = {f"outputs[logs].queue.{key}": value for key, value in files.items()}
    assert {name for name in action(changes) if name in QUEUE} == QUEUE


def test_a_missing_main_queue_is_written_with_the_defaults_of_the_implicit_one() -> None:
    found = only(objects({"main_queue": None, "outputs[logs].queue": None}), "main_queue")
    assert found.parameters["queue.workerThreads"] == "2"
    assert found.parameters["queue.dequeueBatchSize"] == "256"


def test_a_direct_action_has_nothing_but_its_type() -> None:
    found = action({"outputs[logs].queue": None})
    assert {name: found[name] for name in found if name in QUEUE} == {"queue.type": "Direct"}


def test_the_output_sends_bulks_and_retries() -> None:
    found = action()
    assert found["bulkmode"] == "on"
    assert found["action.resumeRetryCount"] == "-1"
    assert found["server"] == ["http://127.0.0.1:9200"]
    assert found["searchIndex"] == "syslog"


@pytest.mark.parametrize(
    ("release", "wanted"), [("8.2206", ""), ("8.2508", ""), ("8.2510", None), ("8.2608", None)]
)
def test_the_document_type_is_left_out_in_the_way_of_each_release(
    release: str, wanted: str | None
) -> None:
    assert action({"release.rsyslog": release}).get("searchType") == wanted


@pytest.mark.parametrize(
    ("timeout", "filter_path", "wanted"),
    [
        (None, None, None),
        ("30s", None, "30s"),
        (None, ["errors", "items.*.status"], "1m&filter_path=errors,items.*.status"),
        ("30s", ["errors", "items.*.status"], "30s&filter_path=errors,items.*.status"),
    ],
)
def test_the_filter_of_replies_rides_on_the_timeout(
    timeout: str | None, filter_path: list[str] | None, wanted: str | None
) -> None:
    changes = {"outputs[logs].timeout": timeout, "outputs[logs].filter_path": filter_path}
    assert action(changes).get("timeout") == wanted


def test_a_password_is_a_reference_and_its_file_private() -> None:
    auth = {"uid": "shipper", "pwd": {"file": "/etc/rsyslog.d/es.pwd"}}
    changes: dict[str, object] = {"outputs[logs].auth": auth}
    found = action(changes)
    assert (found["uid"], found["pwd"]) == ("shipper", "`cat /etc/rsyslog.d/es.pwd`")
    private = {artefact.path for artefact in render(small(changes)) if artefact.private}
    assert private == {"rsyslog.conf"}
    assert not any(artefact.private for artefact in render(small()))


def test_tls_files_are_passed_on() -> None:
    found = action(
        {"outputs[logs].servers": ["https://127.0.0.1:9200"], "outputs[logs].tls.cacert": "/ca"}
    )
    assert found["tls.cacert"] == "/ca"


def test_imptcp_settings_go_to_the_module() -> None:
    module = objects({"inputs[0].threads": 3, "inputs[0].processOnPoller": False})[1]
    assert module.parameters == {"load": "imptcp", "threads": "3", "processOnPoller": "off"}


def test_inputs_are_bound_to_the_ruleset() -> None:
    found = objects()
    assert only(found, "input").parameters["ruleset"] == "small"
    assert only(found, "ruleset").parameters == {"name": "small"}


def test_a_document_is_one_line_of_json_without_a_line_end() -> None:
    text = document({"outputs[logs].document": "sematext"})
    assert text == (
        '{"@timestamp":"%timereported:rfc3339%","host":"%hostname:json%",'
        '"severity":"%syslogseverity-text:json%","facility":"%syslogfacility-text:json%",'
        '"syslogtag":"%syslogtag:json%","message":"%msg:json%"}'
    )


def test_dotted_names_are_nested() -> None:
    text = document({"outputs[logs].document": "ecs"})
    filled = text.replace("%syslogseverity%", "6").replace("%syslogfacility%", "3")
    parsed = json.loads(filled)
    assert parsed["log"]["syslog"]["severity"] == {"code": 6, "name": "%syslogseverity-text:json%"}
    assert parsed["host"] == {"name": "%hostname:json%"}


def test_only_digits_stand_without_quotes() -> None:
    assert '"procid":"%procid:json%"' in document({"outputs[logs].document": "ecs"})


def test_a_daily_index_is_named_by_the_day_of_the_event() -> None:
    found = objects({"outputs[logs].index.rotate": "daily"})
    name = next(one for one in found if one.parameters.get("name") == "logs-index")
    pieces = [one.parameters.get("value", one.parameters.get("dateFormat")) for one in name.body]
    assert pieces == ["syslog-", "year", ".", "month", ".", "day"]
    parameters = only(found, "ruleset").body[-1].parameters
    assert (parameters["searchIndex"], parameters["dynSearchIndex"]) == ("logs-index", "on")


def test_utf8_is_repaired_unless_switched_off() -> None:
    kinds = [inner.parameters["type"] for inner in only(objects(), "ruleset").body]
    assert kinds == ["mmutf8fix", "omelasticsearch"]
    changes = {"outputs[logs].mmutf8fix": False}
    kinds = [inner.parameters["type"] for inner in only(objects(changes), "ruleset").body]
    assert kinds == ["omelasticsearch"]


def test_the_index_template_wins_over_built_in_ones() -> None:
    profile = small({"outputs[logs].index.settings.refresh_interval": "30s"})
    body = index_template(profile, profile.measured)
    assert (body["index_patterns"], body["priority"]) == (["syslog"], 206)
    assert json.loads(text_of(profile, "index-template.json")) == body
    template = body["template"]
    assert isinstance(template, dict)
    assert template["settings"] == {
        "index.number_of_shards": 1,
        "index.number_of_replicas": 1,
        "index.refresh_interval": "30s",
    }
    assert template["mappings"]["dynamic"] is False


def test_a_daily_index_has_a_pattern() -> None:
    profile = small({"outputs[logs].index.rotate": "daily"})
    assert index_template(profile, profile.measured)["index_patterns"] == ["syslog-*"]


def test_a_dynamic_mapping_is_no_mapping() -> None:
    profile = small({"outputs[logs].index.mapping": "dynamic"})
    template = index_template(profile, profile.measured)["template"]
    assert isinstance(template, dict)
    assert "mappings" not in template


def test_live_settings_leave_out_what_is_fixed_at_creation() -> None:
    changes = {
        "outputs[logs].index.settings.codec": "best_compression",
        "outputs[logs].index.settings.translog.durability": "request",
    }
    settings = live_settings(small(changes).measured)
    assert settings == {
        "index.number_of_replicas": 1,
        "index.translog.durability": "request",
    }


def test_node_settings_are_files_of_their_own() -> None:
    profile = small({"node.heap": "4g", "node.indices.memory.index_buffer_size": "30%"})
    assert text_of(profile, "jvm.options.d/heap.options").endswith("\n-Xms4g\n-Xmx4g\n")
    setting = 'indices.memory.index_buffer_size: "30%"\n'
    assert text_of(profile, "elasticsearch.yml").endswith(setting)


def test_opensearch_has_its_own_file_name() -> None:
    changes = {
        "release": {"opensearch": "2.19"},
        "node.indices.memory.index_buffer_size": "30%",
    }
    assert "opensearch.yml" in [artefact.path for artefact in render(small(changes))]


def hashes(changes: Mapping[str, object] | None = None) -> tuple[str, str]:
    """The hash in rsyslog.conf, and the one in the index template."""
    profile = small(changes)
    meta = index_template(profile, profile.measured)["_meta"]
    assert isinstance(meta, dict)
    return text_of(profile).splitlines()[0].split("sections ")[1], meta["profile_hash"]


def test_a_hash_changes_only_with_what_reaches_its_file() -> None:
    shipper, engine = hashes()
    assert hashes({"guardrails.tier": "relaxed", "workload.seed": 9}) == (shipper, engine)
    changed = hashes({"main_queue.size": 90000})
    assert changed[0] != shipper
    assert changed[1] == engine
    changed = hashes({"outputs[logs].index.settings.refresh_interval": "5s"})
    assert changed[0] == shipper
    assert changed[1] != engine

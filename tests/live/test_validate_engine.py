"""`validate --elasticsearch` and `--smoke` with real engines: what they refuse is told where the
profile says it, what they take comes through, and nothing is left behind."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.here import Done, here
from tests.live.conftest import tune, tune_and_signal
from tests.profile.examples import SMALL
from tuner.engine.client import JSON, EngineClient
from tuner.engine.installed import installed_templates
from tuner.engine.owned import indices
from tuner.engines.release import Engine, Release
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit

pytestmark = pytest.mark.live

INDEX = "outputs[logs].index"


@pytest.fixture
def release(each_engine: tuple[Release, EngineClient]) -> Release:
    return each_engine[0]


@pytest.fixture
def running_engine(each_engine: tuple[Release, EngineClient]) -> EngineClient:
    return each_engine[1]


@pytest.fixture
def engine(running_engine: EngineClient) -> Iterator[EngineClient]:
    """The engine, which must have afterwards what it had before."""
    before = everything(running_engine)
    yield running_engine
    assert everything(running_engine) == before


def everything(client: EngineClient) -> list[object]:
    """All that can be stored in an engine by what we render."""
    components = client.get("/_component_template")["component_templates"]
    templates = client.get("/_index_template")["index_templates"]
    names = indices(client, "")
    return [components, templates, names, client.get("/_cluster/settings")]


def written(folder: Path, release: Release, changes: dict[str, object] | None = None) -> Path:
    """A profile for that release, with its file."""
    path = folder / "small.yaml"
    version = {release.engine.value: ".".join(map(str, release.engine_version))}
    path.write_text(edit(SMALL, {"release": version, **(changes or {})}), "utf-8")
    return path


def layers(done: Done) -> dict[str, JSON]:
    return {one["name"]: one for one in json.loads(done.out)["layers"]}


def problems(done: Done) -> list[tuple[str, str, str]]:
    """Code, the key at the place that is told, and what is told, of the engine's own problems."""
    return [
        (one["code"], str(one["line"]), one["message"])
        for one in json.loads(done.out)["problems"]
        if one["code"].startswith("RT5")
    ]


def key_at(path: Path, line: str) -> str:
    return path.read_text("utf-8").splitlines()[int(line) - 1]


def test_what_is_rendered_is_taken_and_nothing_is_stored(
    engine: EngineClient, release: Release, tmp_path: Path
) -> None:
    for index in (
        {"name": "syslog"},
        {"name": "syslog", "rotate": "daily", "components": True},
        {"name": "syslog", "rotate": "rollover", "mapping": "dynamic"},
    ):
        path = written(tmp_path, release, {INDEX: index})
        done = here("validate", path, "--elasticsearch", engine.url)
        assert done.code == 0, done.out + done.err
        assert "engine         ok" in done.out


@pytest.mark.full
def test_another_release_is_told(engine: EngineClient, release: Release, tmp_path: Path) -> None:
    path = written(tmp_path, Release(elasticsearch="8.11"))
    done = here("validate", path, "--elasticsearch", engine.url, "--output", "json")
    assert done.code == 78
    ((code, line, message),) = problems(done)
    version = ".".join(map(str, release.engine_version))
    assert code == "RT501"
    assert message.endswith(f'write {release.engine.value}: "{version}"')
    assert "release" in key_at(path, line)
    assert f"{path}:2:" in done.err


def test_what_the_engine_refuses_is_told_where_it_is_written(
    engine: EngineClient, release: Release, tmp_path: Path
) -> None:
    settings = {
        "refresh_interval": "5s",
        "translog.generation_threshold_size": "1b",
        "default_pipeline": "nowhere",
    }
    path = written(tmp_path, release, {INDEX: {"name": "syslog", "settings": settings}})
    done = here("validate", path, "--elasticsearch", engine.url, "--output", "json")
    assert done.code == 78
    found = problems(done)
    assert [code for code, _, _ in found] == ["RT502", "RT505"]
    (_, line, message), (_, _, pipeline) = found
    assert "failed to parse value [1b] for setting" in message
    assert "translog.generation_threshold_size" in key_at(path, line)
    assert "no ingest pipeline nowhere" in pipeline


def test_a_mapping_that_is_refused_is_told_at_its_field(
    engine: EngineClient, release: Release, tmp_path: Path
) -> None:
    document = [
        {"column": "when", "name": "when", "type": "date", "format": "nonsense", "uses": ["range"]},
        {"property": "msg", "name": "message"},
    ]
    parse = {"format": "csv", "columns": ["when"]}
    path = written(tmp_path, release, {"outputs[logs].document": document, "parse": parse})
    done = here("validate", path, "--elasticsearch", engine.url, "--output", "json")
    assert done.code == 78, done.err
    ((code, line, message),) = problems(done)
    assert code == "RT502"
    assert "on field [when]: Invalid format: [nonsense]" in message
    assert "nonsense" in key_at(path, line)


@pytest.mark.full
def test_policies_that_the_minimal_engines_lack(
    engine: EngineClient, release: Release, tmp_path: Path
) -> None:
    index = {"name": "syslog", "rotate": "daily", "lifecycle": {"retention": "30d"}}
    path = written(tmp_path, release, {INDEX: index})
    done = here("validate", path, "--elasticsearch", engine.url, "--output", "json")
    assert done.code == 78
    assert [code for code, _, _ in problems(done)] == ["RT504"]


@pytest.mark.full
def test_a_profile_is_tried_beside_its_own_template(
    running_engine: EngineClient, release: Release, tmp_path: Path
) -> None:
    """Next to a template of the same priority and patterns no engine takes another."""
    path = written(tmp_path, release)
    body = {"index_patterns": ["syslog"], "priority": 200, "template": {"settings": {}}}
    client = running_engine
    client.request("PUT", "/_index_template/by-hand", body)
    try:
        done = here("validate", path, "--elasticsearch", client.url)
        assert done.code == 0, done.out
        stronger = {**body, "index_patterns": ["sys*"], "priority": 900}
        client.request("PUT", "/_index_template/all", stronger)
        done = here("validate", path, "--elasticsearch", client.url)
        assert done.code == 78
        assert "the template all of the cluster, whose priority 900" in done.err
    finally:
        for one in installed_templates(client):
            client.request("DELETE", f"/_index_template/{one.name}")


OWN = """\
module(load="omelasticsearch")
module(load="imtcp")
input(type="imtcp" port="10514")
template(name="day" type="string" string="tune-own-%$year%")
action(type="omelasticsearch" searchType="" bulkmode="on" searchIndex="day" dynSearchIndex="on")
"""


def test_texts_that_nobody_searches_are_told_of_a_configuration(
    running_engine: EngineClient, release: Release, tmp_path: Path
) -> None:
    """The engine says what was asked: of app only the keyword, of host the text too."""
    client, path = running_engine, tmp_path / "own.conf"
    path.write_text(OWN, "utf-8")
    document: JSON = {"app": "sshd", "message": "one two", "host": "web1", "unasked": "x"}
    client.request("POST", "/tune-own-1/_doc?refresh=true", document)
    try:
        for name in ("app", "host"):
            counted: JSON = {"size": 0, "aggs": {"n": {"terms": {"field": f"{name}.keyword"}}}}
            client.request("POST", "/tune-own-*/_search", counted)
        for name, word in (("message", "two"), ("host", "web1")):
            matching: JSON = {"query": {"match": {name: word}}}
            client.request("POST", "/tune-own-*/_search", matching)
        done = here("validate", path, "--elasticsearch", client.url, "--output", "json")
    finally:
        client.request("DELETE", "/tune-own-1")
    assert done.code == 0, done.err
    if release.engine is Engine.OPENSEARCH:
        assert problems(done) == []
        assert "this engine does not count searches by field" in str(layers(done)["engine"])
        return
    ((code, line, message),) = problems(done)
    assert (code, line) == ("RT513", "5")
    assert "nobody searched in the text of app in tune-own-*" in message


def test_one_event_comes_through_as_described(
    engine: EngineClient, release: Release, tmp_path: Path, nothing_left_behind: None
) -> None:
    document = [
        {"property": "timereported", "name": "@timestamp", "type": "date",
         "uses": ["range", "aggregate"]},
        {"property": "hostname", "name": "host.name", "uses": ["term"]},
        {"property": "programname", "name": "program", "uses": ["term"]},
        {"property": "procid", "name": "pid", "type": "integer", "uses": ["range"]},
        {"property": "syslogseverity", "name": "severity", "type": "integer", "uses": ["term"]},
        {"property": "syslogfacility-text", "name": "facility", "uses": ["term"]},
        {"property": "syslogtag", "name": "tag"},
        {"property": "msg", "name": "message", "uses": ["full_text"]},
        {"constant": True, "name": "shipped", "type": "boolean", "uses": ["term"]},
        {"constant": 1.5, "name": "site.weight", "type": "float"},
    ]  # fmt: skip
    path = written(tmp_path, release, {"outputs[logs].document": document})
    done = tune(
        "validate", path, "--elasticsearch", engine.url, "--smoke", "--output", "json",
        folder=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.out + done.err
    smoke = layers(done)["smoke"]
    assert smoke["passed"] is True
    assert str(smoke["remark"]).endswith("as described, 10 fields")
    assert "changed for the lab: outputs[logs].servers" in str(smoke["notes"])


@pytest.mark.full
@pytest.mark.parametrize("form", ["rfc5424", "rfc3164"])
def test_shipped_documents_come_through(
    engine: EngineClient, release: Release, tmp_path: Path, form: str
) -> None:
    if release.engine_version != (8, 19) and form == "rfc3164":
        pytest.skip("one engine is enough for all documents")
    documents = ["ecs", "logstash", "sematext", "elma"] if form == "rfc3164" else ["ecs"]
    for document in documents:
        changes = {"outputs[logs].document": document, "workload.format": form,
                   INDEX: {"name": "syslog", "rotate": "daily"}}  # fmt: skip
        path = written(tmp_path, release, dict(changes))
        done = tune("validate", path, "--elasticsearch", engine.url, "--smoke", folder=tmp_path)
        assert done.code == 0, done.out + done.err


@pytest.mark.full
def test_a_smoke_that_finds_something_else_fails(
    engine: EngineClient, release: Release, tmp_path: Path
) -> None:
    """The pinned parser finds the text elsewhere, so that no document tells its message."""
    path = written(tmp_path, release, {"parser": ["rsyslog.rfc3164"], "workload.format": "rfc5424"})
    done = tune("validate", path, "--elasticsearch", engine.url, "--smoke", folder=tmp_path)
    assert done.code == 5, done.out
    assert (
        "smoke          not run: documents come, but none tells which message it is of" in done.out
    )


def test_ctrl_c_leaves_nothing(
    engine: EngineClient, release: Release, tmp_path: Path, nothing_left_behind: None
) -> None:
    path = written(tmp_path, release)
    done = tune_and_signal(
        "validate", path, "--elasticsearch", engine.url, "--smoke",
        folder=tmp_path, number=signal.SIGINT, after_line="sending one event",
    )  # fmt: skip
    assert done.code == 130
    assert "Traceback" not in done.err


@pytest.mark.full
def test_without_an_engine_one_is_started(tmp_path: Path, nothing_left_behind: None) -> None:
    path = written(tmp_path, Release(elasticsearch="8.19"), {"node.heap": "512m"})
    done = tune("validate", path, "--smoke", folder=tmp_path)
    assert done.code == 0, done.out + done.err
    assert "smoke          ok: one event came through elasticsearch 8.19.0" in done.out
    assert parse_profile(path.read_text("utf-8"), "x").profile.release.engine is (
        Engine.ELASTICSEARCH
    )

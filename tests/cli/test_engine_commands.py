"""`validate --elasticsearch`, `diff` and `render --stdout`, as a user meets them; against real
engines in tests/live."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.engine.answers import NODES, NONE, answering
from tests.profile.examples import SMALL
from tuner.cli.commands import app
from tuner.errors import BadProfile, BadUsage, DifferencesFound, JobFailed, Refused, Unreachable
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.render.artefacts import render as rendered

RUN = CliRunner()
SIMULATE = "/_index_template/_simulate_index/syslog"
WELL = {
    "/_index_template": NONE,
    "/_nodes/http": NODES,
    "/_nodes/stats/indexing_pressure": NODES,
    SIMULATE: {"template": {}},
}


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL, "utf-8")
    return path


def tune(*arguments: object) -> Result:
    return RUN.invoke(app, [str(one) for one in arguments])


def change(profile: Path, changes: dict[str, object]) -> None:
    profile.write_text(edit(profile.read_text("utf-8"), changes), "utf-8")


def test_nothing_is_stored_by_an_engine_that_tries_a_profile(profile: Path) -> None:
    with answering(WELL) as engine:
        done = tune("validate", profile, "--elasticsearch", engine.url, "--output", "json")
    assert done.exit_code == 0, done.exception
    layers = {one["name"]: one for one in json.loads(done.stdout)["layers"]}
    assert layers["engine"]["passed"] is True
    assert layers["engine"]["remark"] == "Elasticsearch 8.19.0 accepts it"
    written = {path for method, path, _ in engine.requests if method != "GET"}
    assert written == {SIMULATE}


def test_an_engine_without_policies_and_pipelines(profile: Path) -> None:
    change(
        profile,
        {
            "outputs[logs].index": {"name": "syslog", "rotate": "daily",
                                    "lifecycle": {"retention": "30d"}},
            "outputs[logs].pipelineName": "geo",
        },
    )  # fmt: skip
    answers = {**WELL, "/_index_template/_simulate_index/syslog-000001": {}}
    with answering(answers) as engine:
        done = tune("validate", profile, "--elasticsearch", engine.url)
    assert isinstance(done.exception, BadProfile)
    assert [one.code for one in done.exception.problems] == ["RT504", "RT505"]
    engine_line = next(line for line in done.stdout.splitlines() if line.startswith("engine"))
    assert "REJECTED: Elasticsearch 8.19.0 rejects it: 2 problems" in engine_line
    assert "the lifecycle policy syslog was not tried" in done.stdout


def test_a_stronger_template_of_the_cluster_is_told(profile: Path) -> None:
    body = {"index_patterns": ["sys*"], "priority": 500}
    theirs = {"index_templates": [{"name": "all", "index_template": body}]}
    with answering({**WELL, "/_index_template": theirs}) as engine:
        done = tune("validate", profile, "--elasticsearch", engine.url)
    assert isinstance(done.exception, BadProfile)
    (problem,) = done.exception.problems
    assert problem.code == "RT503"
    assert "template all of the cluster, whose priority 500" in problem.message


def test_the_own_template_is_replaced_in_the_trial(profile: Path) -> None:
    body = {"index_patterns": ["syslog"], "priority": 200}
    ours = {"index_templates": [{"name": "by-hand", "index_template": body}]}
    simulate = "/_index_template/_simulate/by-hand"
    with answering({**WELL, "/_index_template": ours, simulate: {}, SIMULATE: 400}) as engine:
        assert tune("validate", profile, "--elasticsearch", engine.url).exit_code == 0
    assert ("POST", simulate, None) in engine.requests


def test_an_engine_that_is_not_there(profile: Path) -> None:
    done = tune("validate", profile, "--elasticsearch", "http://127.0.0.1:9")
    assert isinstance(done.exception, Unreachable)
    assert "engine         not run: http://127.0.0.1:9 does not answer" in done.stdout


def test_an_engine_that_lets_us_not_in(profile: Path) -> None:
    with answering({"/_nodes/_local": 401}) as engine:
        done = tune("validate", profile, "--elasticsearch", engine.url)
    assert isinstance(done.exception, JobFailed)
    assert "HTTP 401: no such thing" in str(done.exception)


def test_secrets_go_nowhere_in_the_clear(profile: Path, tmp_path: Path) -> None:
    secret = tmp_path / "pwd"
    secret.write_text("geheim", "utf-8")
    auth = {"uid": "u", "pwd": {"file": str(secret)}}
    change(profile, {"outputs[logs].auth": auth})
    for command in ("validate", "diff"):
        done = tune(command, profile, "--elasticsearch", "http://es.example.com:9200")
        assert isinstance(done.exception, Refused), done.exception
        assert "in the clear" in str(done.exception)
        assert "geheim" not in done.output


@pytest.mark.parametrize("more", [["--smoke"], ["--elasticsearch", "http://127.0.0.1:9"]])
def test_offline_starts_and_asks_nothing(profile: Path, more: list[str]) -> None:
    assert isinstance(tune("validate", profile, "--offline", *more).exception, BadUsage)


def test_a_url_is_no_place_for_a_password(profile: Path) -> None:
    for command in ("validate", "diff"):
        done = tune(command, profile, "--elasticsearch", "http://u:p@127.0.0.1:9200")
        assert isinstance(done.exception, BadUsage)


def test_a_cluster_without_anything_of_it(profile: Path) -> None:
    with answering(WELL) as engine:
        done = tune("diff", profile, "--elasticsearch", engine.url)
    assert isinstance(done.exception, DifferencesFound)
    assert str(done.exception) == "1 of 1 objects differ: index template syslog (missing)"
    assert done.stdout.startswith("--- /dev/null\n+++ profile/index/template/syslog\n")
    assert {method for method, _, _ in engine.requests} == {"GET"}


POLICY = {
    "phases": {
        "hot": {"min_age": "0ms", "actions": {}},
        "delete": {"min_age": "30d", "actions": {"delete": {"delete_searchable_snapshot": True}}},
    },
    "_meta": {"managed_by": "rsyslog-tune"},
}


def test_everything_is_compared_and_what_is_the_same_is_not_shown(profile: Path) -> None:
    index = {"name": "syslog", "rotate": "daily", "lifecycle": {"retention": "30d"}}
    change(profile, {"outputs[logs].index": index})
    files = rendered(parse_profile(profile.read_text("utf-8"), "small.yaml").profile)
    body = json.loads(next(one.text for one in files if one.path == "index-template.json"))
    answers: dict[str, object] = {
        "/_index_template": {"index_templates": [{"name": "mine", "index_template": body}]},
        "/_ilm/policy/syslog": {"syslog": {"version": 3, "policy": POLICY}},
        "/syslog-*/_settings": {
            "syslog-2026.11.20": {
                "settings": {"index.number_of_replicas": "1", "index.number_of_shards": "9"},
                "defaults": {},
            },
            "syslog-2026.11.21": {
                "settings": {"index.number_of_replicas": "1", "index.refresh_interval": "9s"},
                "defaults": {},
            },
        },
    }
    with answering(answers) as engine:
        done = tune("diff", profile, "--elasticsearch", engine.url)
        as_json = tune("diff", profile, "--elasticsearch", engine.url, "--output", "json")
    assert isinstance(done.exception, DifferencesFound)
    assert [line for line in done.stdout.splitlines() if line[0] in "+-"] == [
        "--- cluster/index/syslog-2026.11.21",
        "+++ profile/index/syslog-2026.11.21",
        '-  "index.refresh_interval": "9s"',
    ]
    shown = json.loads(as_json.stdout)
    assert (shown["schema"], shown["kind"], shown["differs"]) == (1, "diff", True)
    assert {one["name"]: one["state"] for one in shown["objects"]} == {
        "index template mine": "same",
        "lifecycle policy syslog": "same",
        "index syslog-2026.11.20": "same",
        "index syslog-2026.11.21": "differs",
    }


def test_a_default_that_nobody_gave_is_no_difference(profile: Path) -> None:
    settings = {"translog.durability": "request", "translog.flush_threshold_size": "512mb"}
    change(profile, {"outputs[logs].index": {"name": "syslog", "settings": settings}})
    live = {
        "settings": {"index.number_of_replicas": "1"},
        "defaults": {
            "index.translog.durability": "REQUEST",
            "index.translog.flush_threshold_size": "10gb",
        },
    }
    with answering({**WELL, "/syslog/_settings": {"syslog": live}}) as engine:
        done = tune("diff", profile, "--elasticsearch", engine.url, "--output", "json")
    (index,) = [one for one in json.loads(done.stdout)["objects"] if one["name"] == "index syslog"]
    changed = [line for line in index["diff"].splitlines()[2:] if line[0] in "+-"]
    assert changed == ['+  "index.translog.flush_threshold_size": "512mb"']


def test_every_file_on_stdout_with_its_name(profile: Path, tmp_path: Path) -> None:
    done = tune("render", profile, "--stdout")
    assert done.exit_code == 0
    names = [line[4:-4] for line in done.stdout.splitlines() if line.startswith("==> ")]
    files = rendered(parse_profile(SMALL, "small.yaml").profile)
    assert names == [one.path for one in files]
    assert [path.name for path in tmp_path.iterdir()] == ["small.yaml"]


def test_one_file_on_stdout_to_its_last_byte(profile: Path) -> None:
    for file in rendered(parse_profile(SMALL, "small.yaml").profile):
        assert tune("render", "--stdout", profile, file.path).stdout == file.text


@pytest.mark.parametrize(
    "arguments",
    [["--stdout", "nothing.json"], ["--stdout", "--check"], ["--stdout", "--diff"],
     ["--stdout", "-o", "out"], ["rsyslog.conf"]],
)  # fmt: skip
def test_stdout_goes_with_nothing_else(profile: Path, arguments: list[str]) -> None:
    assert isinstance(tune("render", profile, *arguments).exception, BadUsage)

"""What is rendered for a configuration management, as far as no tool is needed to judge it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.profile.examples import small
from tuner.lint.load import load_profile
from tuner.render.artefacts import render, rsyslog_conf
from tuner.render.export import exported
from tuner.render.form import Format
from tuner.render.modules import packages_of
from tuner.render.tree import Status, Tree


def files_of(form: Format, changes: dict[str, object] | None = None) -> dict[str, str]:
    profile = small(changes)
    return {one.path: one.text for one in exported(profile, render(profile), form)}


@pytest.mark.parametrize("form", [Format.ANSIBLE, Format.PUPPET, Format.SALT])
def test_each_form_carries_every_rendered_file_as_it_is(form: Format) -> None:
    plain = files_of(Format.PLAIN)
    there = files_of(form)
    assert {path: there[f"files/{path}"] for path in plain} == plain


def test_a_role_says_what_it_installs_and_when_rsyslogd_is_well() -> None:
    changes: dict[str, object] = {
        "inputs": [
            {"type": "imrelp", "port": 2514},
            {"type": "imudp", "port": 514},
        ]
    }
    said = yaml.safe_load(files_of(Format.ANSIBLE, changes)["defaults/main.yml"])
    assert said["rsyslog_tune_packages"] == ["rsyslog", "rsyslog-elasticsearch", "rsyslog-relp"]
    assert "ss -Hlnt 'sport = :2514'" in said["rsyslog_tune_healthy"]
    assert "ss -Hlnu 'sport = :514'" in said["rsyslog_tune_healthy"]


def test_a_tls_driver_is_a_package_too() -> None:
    tls = {
        "type": "imtcp",
        "port": 6514,
        "streamDriver.name": "ossl",
        "streamDriver.mode": 1,
        "streamDriver.authMode": "anon",
        "streamDriver.caFile": "/etc/ssl/ca.pem",
        "streamDriver.certFile": "/etc/ssl/own.pem",
        "streamDriver.keyFile": "/etc/ssl/own.key",
    }
    assert "rsyslog-openssl" in packages_of(rsyslog_conf(small({"inputs": [tls]})))


def test_what_a_snippet_needs_is_a_package_too() -> None:
    changes: dict[str, object] = {"snippets": {"modules": ["mmkubernetes"]}}
    said = yaml.safe_load(files_of(Format.ANSIBLE, changes)["defaults/main.yml"])
    assert "rsyslog-kubernetes" in said["rsyslog_tune_packages"]


def test_a_file_that_the_profile_no_longer_has_is_removed_from_a_role(tmp_path: Path) -> None:
    for heap, state in (("2g", Status.NEW), (None, Status.REMOVED)):
        profile = small({} if heap is None else {"node": {"heap": heap}})
        states = Tree(exported(profile, render(profile), Format.ANSIBLE), tmp_path).write()
        assert states["files/jvm.options.d/heap.options"] is state


def staged(folder: Path, *targets: str) -> tuple[str, str]:
    """The script, and the folder of what it installs: files of these places, with their names."""
    script, stage = folder / "swap", folder / "stage"
    script.write_text(files_of(Format.ANSIBLE)["files/swap"], encoding="utf-8")
    stage.mkdir()
    (stage / "targets").write_text("".join(f"{one}\n" for one in targets), encoding="utf-8")
    for number in range(1, len(targets) + 1):
        (stage / str(number)).write_text(f"# file {number}\n", encoding="utf-8")
    return str(script), str(stage)


def swap(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A step, where rsyslogd says what it reads, and refuses what is "bad"."""
    rsyslogd = folder / "rsyslogd"
    reads = 'find "$(dirname "$3")" -type f | sort | xargs cat\n! grep -rq bad "$(dirname "$3")"\n'
    rsyslogd.write_text(f"#!/bin/sh\n{reads}", encoding="utf-8")
    rsyslogd.chmod(0o755)
    path = {"PATH": f"{folder}:/usr/bin:/bin", "TMPDIR": str(folder)}
    command = ["sh", *words]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env=path
    )


def test_a_fragment_that_nothing_includes_is_not_installed(tmp_path: Path) -> None:
    config, target = tmp_path / "rsyslog.conf", tmp_path / "rsyslog.d/small.conf"
    config.write_text('module(load="imuxsock")\n', encoding="utf-8")
    script, stage = staged(tmp_path, str(target))
    done = swap(tmp_path, script, "check", stage, str(config))
    assert done.returncode == 1
    assert f"includes nothing of {target.parent}" in done.stderr


def test_rsyslogd_reads_all_files_in_their_places_where_apparmor_lets_it(tmp_path: Path) -> None:
    """With what else is there, such as a table in a folder below, and nothing of it live."""
    drop_ins, config, alone = tmp_path / "rsyslog.d", tmp_path / "rsyslog.conf", tmp_path / "x.conf"
    (drop_ins / "tables").mkdir(parents=True)
    (drop_ins / "theirs.conf").write_text(f"table {drop_ins}/tables/a\n", encoding="utf-8")
    (drop_ins / "tables/a").write_text("a table\n", encoding="utf-8")
    config.write_text(f"include(file='{drop_ins}/*.conf')\ninclude {alone}\n", encoding="utf-8")
    script, stage = staged(tmp_path, str(drop_ins / "ours.conf"), str(alone))
    done = swap(tmp_path, script, "check", stage, str(config))
    assert done.returncode == 0, done.stderr
    work = f"{drop_ins}/.rsyslog-tune."
    for place in (f"{drop_ins}/*.conf", str(alone), f"{drop_ins}/tables/a"):
        (line,) = [one for one in done.stdout.splitlines() if place in one and "#" not in one]
        assert work in line, "it leads to what is checked"
    for text in ("# file 1", "# file 2", "a table", "checked:"):
        assert text in done.stdout
    assert {one.name for one in drop_ins.iterdir()} == {"theirs.conf", "tables"}


def test_several_files_are_put_back_together_as_they_were(tmp_path: Path) -> None:
    """Also where the run before replaced some of them, and ended before rsyslogd was restarted."""
    config, new = tmp_path / "rsyslog.conf", tmp_path / "rsyslog.d/new.conf"
    config.write_text(f"include {new.parent}/*.conf\n", encoding="utf-8")
    script, stage = staged(tmp_path, str(new), str(config))
    (tmp_path / "stage/2").write_text(f"# ours\ninclude {new.parent}/*.conf\n", encoding="utf-8")
    before = config.read_text("utf-8")
    assert swap(tmp_path, script, "check", stage, str(config)).returncode == 0
    new.write_bytes((tmp_path / "stage/1").read_bytes())
    assert swap(tmp_path, script, "check", stage, str(config)).returncode == 0
    config.write_bytes((tmp_path / "stage/2").read_bytes())
    assert swap(tmp_path, script, "differs", stage).returncode == 0, "it was not restarted yet"
    done = swap(tmp_path, script, "activate", stage, "true", "true")
    assert (done.returncode, swap(tmp_path, script, "differs", stage).returncode) == (0, 1)
    assert swap(tmp_path, script, "check", stage, str(config)).stdout == ""
    config.write_text(before, encoding="utf-8")
    new.unlink()
    assert swap(tmp_path, script, "check", stage, str(config)).returncode == 0
    new.write_bytes((tmp_path / "stage/1").read_bytes())
    config.write_bytes((tmp_path / "stage/2").read_bytes())
    failed = swap(tmp_path, script, "activate", stage, "false", "true")
    assert (failed.returncode, "put back" in failed.stderr) == (1, True)
    assert (config.read_text("utf-8"), new.exists()) == (before, False)


def test_what_rsyslogd_refuses_is_not_kept_as_something_to_restart_for(tmp_path: Path) -> None:
    config = tmp_path / "rsyslog.conf"
    script, stage = staged(tmp_path, str(config))
    (tmp_path / "stage/1").write_text("bad\n", encoding="utf-8")
    assert swap(tmp_path, script, "check", stage, str(config)).returncode == 1
    assert not (tmp_path / "stage/before").exists()


@pytest.mark.parametrize("format_", [Format.ANSIBLE, Format.PUPPET, Format.SALT])
def test_a_base_brings_each_file_to_its_place_and_its_template_to_the_engine(
    tmp_path: Path, format_: Format
) -> None:
    etc = tmp_path / "copy/etc"
    (etc / "rsyslog.d").mkdir(parents=True)
    (etc / "rsyslog.conf").write_text("$IncludeConfig /etc/rsyslog.d/*.conf\n", encoding="utf-8")
    action = (
        'module(load="omelasticsearch")\naction(type="omelasticsearch" server="es1" pwd="secret")\n'
    )
    (etc / "rsyslog.d/50-es.conf").write_text(action, encoding="utf-8")
    template = {"index_patterns": ["logs"], "template": {"settings": {"number_of_shards": 1}}}
    (tmp_path / "t.json").write_text(json.dumps(template), encoding="utf-8")
    named = "{rsyslog: copy/etc/rsyslog.conf, root: copy, template: t.json}"
    changes = "changes: {template.index.refresh_interval: 9s}"
    (tmp_path / "prod.yaml").write_text(f"name: prod\nbase: {named}\n{changes}\n", "utf-8")
    profile = load_profile(tmp_path / "prod.yaml").profile
    made = {one.path: one for one in exported(profile, render(profile), format_)}
    assert made["files/rsyslog.d/50-es.conf"].text == action
    body = json.loads(made["files/t.json"].text)
    assert body["template"]["settings"] == {"index.refresh_interval": "9s", "number_of_shards": 1}
    assert body["_meta"]["managed_by"] == "rsyslog-tune"
    text = "".join(one.text for path, one in made.items() if not path.startswith("files/"))
    for word in ("/etc/rsyslog.d/50-es.conf", "_index_template/prod", body["_meta"]["profile_hash"],
                 "http://es1:9200", "rsyslog-elasticsearch", "0600"):  # fmt: skip
        assert word in text
    assert "secret" not in text
    if format_ is Format.ANSIBLE:
        values = yaml.safe_load(made["defaults/main.yml"].text)
        assert values["rsyslog_tune_files"] == [
            {"source": "rsyslog.d/50-es.conf", "target": "/etc/rsyslog.d/50-es.conf",
             "mode": "0600"},
            {"source": "rsyslog.conf", "target": "/etc/rsyslog.conf", "mode": "0644"},
        ]  # fmt: skip
        assert [task["name"] for task in yaml.safe_load(made["tasks/main.yml"].text)][2:4] == [
            "Ask the engine for its index template", "Give it the one of the profile"
        ]  # fmt: skip

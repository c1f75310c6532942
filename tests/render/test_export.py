"""What is rendered for a configuration management, as far as no tool is needed to judge it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.profile.examples import small
from tuner.render.artefacts import render, rsyslog_conf
from tuner.render.export import Format, exported
from tuner.render.modules import packages_of
from tuner.render.tree import Status, write


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


def test_what_a_step_needs_is_a_package_too() -> None:
    changes: dict[str, object] = {"steps": [{"type": "mmkubernetes"}]}
    said = yaml.safe_load(files_of(Format.ANSIBLE, changes)["defaults/main.yml"])
    assert "rsyslog-kubernetes" in said["rsyslog_tune_packages"]


def test_a_file_that_the_profile_no_longer_has_is_removed_from_a_role(tmp_path: Path) -> None:
    for heap, state in (("2g", Status.NEW), (None, Status.REMOVED)):
        profile = small({} if heap is None else {"node": {"heap": heap}})
        states = write(exported(profile, render(profile), Format.ANSIBLE), tmp_path)
        assert states["files/jvm.options.d/heap.options"] is state


@pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed")
def test_a_fragment_that_nothing_includes_is_not_installed(tmp_path: Path) -> None:
    swap = tmp_path / "swap"
    swap.write_text(files_of(Format.ANSIBLE)["files/swap"], encoding="utf-8")
    (tmp_path / "rsyslog.conf").write_text('module(load="imuxsock")\n', encoding="utf-8")
    (tmp_path / "new").write_text("", encoding="utf-8")
    target = tmp_path / "rsyslog.d/small.conf"
    command = ["sh", str(swap), "check", str(target), str(tmp_path / "rsyslog.conf"), "new"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert f"includes nothing of {target.parent}" in done.stderr


@pytest.mark.parametrize("target", ["rsyslog.d/small.conf", "rsyslog.conf"])
def test_rsyslogd_reads_a_candidate_where_apparmor_lets_it(tmp_path: Path, target: str) -> None:
    (tmp_path / "swap").write_text(files_of(Format.ANSIBLE)["files/swap"], encoding="utf-8")
    drop_ins = tmp_path / "rsyslog.d"
    drop_ins.mkdir()
    (tmp_path / "rsyslog.conf").write_text(f"include(file='{drop_ins}/*.conf')\n", encoding="utf-8")
    (tmp_path / "new").write_text("", encoding="utf-8")
    (tmp_path / "rsyslogd").write_text('#!/bin/sh\necho "$3"\n', encoding="utf-8")
    (tmp_path / "rsyslogd").chmod(0o755)
    command = ["sh", "swap", "check", str(tmp_path / target), str(tmp_path / "rsyslog.conf"), "new"]
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=tmp_path, env=path
    )
    assert done.stdout.startswith(f"{drop_ins}/.rsyslog-tune.")
    assert list(drop_ins.iterdir()) == []

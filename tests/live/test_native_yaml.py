"""rsyslog's own YAML, translated by a real rsyslogd."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.live.rsyslogs import SUITES
from tests.shipped import ROOT, release_at_hand
from tuner.cli.commands import app
from tuner.errors import JobFailed, ProgramMissing
from tuner.host.process import run
from tuner.host.programs import CHOSEN_RSYSLOGD
from tuner.lint.load import load_profile
from tuner.profile.placement import sockets_of
from tuner.render.artefacts import rsyslog_conf

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

RUN = CliRunner()
NEWEST = SUITES[-1]
READS_YAML = 2604
NATIVE = """\
global:
  workDirectory: /var/spool/rsyslog
modules:
  - load: imtcp
  - load: omelasticsearch
inputs:
  - type: imtcp
    port: "10514"
    ruleset: main
  - type: imtcp
    port: "10515"
templates:
  - name: doc
    type: string
    string: '{"message":"%msg:::json%"}'
include:
  - path: FOLDER/rules.conf
rulesets:
  - name: main
    statements:
      - type: omelasticsearch
        name: logs
        server: ["http://127.0.0.1:9"]
        uid: shipper
        pwd: hunter2
        bulkmode: "on"
        searchIndex: syslog
        template: doc
        queue.type: LinkedList
        queue.size: "50000"
"""
RULES = 'if $programname == "cron" then { action(type="omfile" file="/tmp/cron.log") }\n'


@pytest.fixture
def native(tmp_path: Path) -> Path:
    (tmp_path / "rules.conf").write_text(RULES, encoding="utf-8")
    path = tmp_path / "rsyslog.yaml"
    path.write_text(NATIVE.replace("FOLDER", str(tmp_path)), encoding="utf-8")
    return path


@pytest.mark.each_rsyslogd("import")
def test_a_profile_stands_on_what_rsyslogd_makes_of_its_own_yaml(native: Path) -> None:
    profile = native.parent / "mine.yaml"
    done = RUN.invoke(app, ["import", str(native), "-o", str(profile)])
    if release_at_hand() < READS_YAML:
        assert isinstance(done.exception, ProgramMissing)
        assert "rsyslogd reads since 8.2604" in str(done.exception)
        assert not profile.exists()
        return
    assert done.exit_code == 0, done.exception or done.stderr
    script = native.parent / "mine.conf"
    assert f"the profile stands on its translation, {script}" in done.stderr
    assert "hunter2" not in profile.read_text("utf-8") + done.stderr
    assert "hunter2" in script.read_text("utf-8")
    assert script.stat().st_mode & 0o777 == 0o600
    loaded = load_profile(profile).profile
    assert sockets_of(loaded) == ("tcp:10514", "tcp:10515")
    (logs,) = loaded.indexed
    assert logs.queue is not None
    assert logs.queue.size == 50_000


@pytest.mark.each_rsyslogd("import")
def test_what_rsyslogd_refuses_is_said_in_its_words(native: Path) -> None:
    native.write_text("inputs: [a\n", encoding="utf-8")
    done = RUN.invoke(app, ["import", str(native), "-o", str(native.parent / "mine.yaml")])
    if release_at_hand() >= READS_YAML:
        assert isinstance(done.exception, JobFailed)
        assert str(done.exception).startswith(f"rsyslogd does not translate {native}: ")
        assert "yamlconf" in str(done.exception)


def test_a_host_gives_no_yaml(native: Path) -> None:
    profile = str(native.parent / "p.yaml")
    done = RUN.invoke(app, ["import", str(native), "--host", "local://", "-o", profile])
    assert "is rsyslog's own YAML: run rsyslogd -N1" in str(done.exception)


@pytest.mark.full
@pytest.mark.skipif(not NEWEST.rsyslogd.is_file(), reason="make rsyslogs fetches the newest")
def test_control_rsyslogd_does_not_read_its_own_translation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why we render no YAML; once this fails it may be worth offering."""
    monkeypatch.setenv(CHOSEN_RSYSLOGD, str(NEWEST.rsyslogd))
    script, native = tmp_path / "rsyslog.conf", tmp_path / "rsyslog.yaml"
    default = load_profile(ROOT / "profiles/default.yaml").profile
    script.write_text(rsyslog_conf(default), encoding="utf-8")
    daemon = str(NEWEST.rsyslogd)
    assert (
        run([daemon, "-N1", "-F", "yaml", "-o", str(native), "-f", str(script)], 60).returncode == 0
    )
    said = run([daemon, "-N1", "-f", str(native)], 60)
    assert said.returncode == 1
    assert "could not interpret master config file" in said.stderr

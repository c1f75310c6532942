"""What `apply` says at once of all that is in its way, after it has shown what would change."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner, Result

from tests.profile.examples import SMALL
from tuner.cli.commands import app
from tuner.deploy.target import Facts
from tuner.errors import DifferencesFound, JobFailed, Refused
from tuner.profile.edit import edit

RUN = CliRunner()
THEIRS = b"*.* /var/log/messages\n"


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A first import, as it comes: its secret is on the host, which has its own configuration."""
    found = Facts("8.2302.0", {"/etc/rsyslog.conf": THEIRS}, None, 1, frozenset(), frozenset())
    host = SimpleNamespace(facts=lambda _: found)
    monkeypatch.setattr("tuner.cli.hosts.RemoteHost", lambda *_: host)
    path = tmp_path / "site.yaml"
    secret = {"uid": "shipper", "pwd": {"file": f"{tmp_path}/logs.pwd"}}
    servers = {"outputs[0].auth": secret, "outputs[0].servers": ["https://es1.example:9200"]}
    path.write_text(edit(SMALL, servers), encoding="utf-8")
    return path


def apply(profile: Path, *more: str) -> Result:
    return RUN.invoke(app, ["apply", str(profile), "--host", "ssh://collector1", *more])


@pytest.mark.parametrize("word", ["--check", "--diff"])
def test_what_would_change_is_shown_before_all_that_is_in_the_way(word: str, profile: Path) -> None:
    done = apply(profile, word)
    assert "+module(" in done.stdout
    assert "-*.* /var/log/messages" in done.stdout
    assert isinstance(done.exception, Refused)
    first, *reasons = str(done.exception).splitlines()
    assert first == "several things are in the way:"
    secret, file = reasons
    assert "logs.pwd" in secret
    assert "--skip-engine leaves it alone" in secret
    assert "is not rendered by rsyslog-tune" in file
    assert "--take-over" in file
    shown = json.loads(apply(profile, word, "--output", "json").stdout)
    assert shown["differs"]


def test_with_the_flags_that_it_names_it_goes_on(profile: Path) -> None:
    done = apply(profile, "--check", "--skip-engine", "--take-over")
    assert isinstance(done.exception, DifferencesFound)
    assert "+module(" in done.stdout


def test_one_thing_in_the_way_keeps_its_own_exit_code(profile: Path) -> None:
    done = apply(profile, "--check", "--take-over")
    assert isinstance(done.exception, JobFailed)
    assert "+module(" in done.stdout


def test_no_plan_is_written_that_could_not_be_applied(profile: Path, tmp_path: Path) -> None:
    done = apply(profile, "--plan-out", str(tmp_path / "plan.json"))
    assert isinstance(done.exception, Refused)
    assert not (tmp_path / "plan.json").exists()

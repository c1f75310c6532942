"""What a host has in its files and counters steers no terminal, whoever shows it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.diagnose.logged import LOGS, text_of
from tests.profile.examples import SMALL
from tuner.cli.commands import app
from tuner.errors import DifferencesFound

# Clears the screen, renames the window, and turns the direction of writing.
STEERING = "\x1b[2J\x1b]0;mine\x07\x9b31m\u202e\u2066\u200f"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u2066\u200f]")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This machine as a host with a configuration of its own, and a profile for it."""
    host = tmp_path / "host"
    (host / "rsyslog.d").mkdir(parents=True)
    (host / "rsyslog.conf").write_text(f"# {STEERING}\n*.* /var/log/all\n", encoding="utf-8")
    paths = {
        "configuration": f"{host}/rsyslog.conf", "fragments": f"{host}/rsyslog.d",
        "state": f"{host}/state",
    }  # fmt: skip
    service = {"restart": ["true"], "pid_file": f"{host}/pid"}
    entry = {"address": "local://", "service": service, "paths": paths}
    (tmp_path / "hosts.yaml").write_text(json.dumps({"hosts": {"here": entry}}), encoding="utf-8")
    (tmp_path / "p.yaml").write_text(SMALL, encoding="utf-8")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "mine"))
    return tmp_path


def run(site: Path, *words: str) -> Result:
    inventory = ("--inventory", str(site / "hosts.yaml"))
    done = CliRunner().invoke(app, [*words, *inventory], env={"COLUMNS": "200"})
    assert not RAW.search(done.stdout), done.stdout
    assert not RAW.search(done.stderr), done.stderr
    return done


@pytest.mark.parametrize("output", ["text", "json"])
@pytest.mark.parametrize(
    "command", [("apply", "--take-over", "--diff"), ("apply", "--take-over"), ("verify",)], ids=str
)
def test_its_files_are_shown_without_what_steers(
    site: Path, command: tuple[str, ...], output: str
) -> None:
    name, *more = command
    done = run(site, name, str(site / "p.yaml"), "--skip-engine", *more, "--output", output)
    shown = done.stdout
    if output == "json" and command == ("apply", "--take-over"):
        assert shown == ""  # nobody is asked
        return
    if output == "json":
        shown = json.dumps(json.loads(shown))
        assert "\\u001b[2J" in shown
    else:
        assert "-# ?[2J?]0;mine??31m" in shown
    assert "-*.* /var/log/all" in shown


@pytest.mark.parametrize("output", ["text", "json"])
def test_its_counters_are_shown_without_what_steers(site: Path, output: str) -> None:
    conf = (LOGS / "queue-full.conf").read_text("utf-8")
    log = site / "host" / "impstats.log"
    conf = conf.replace("/var/spool/rsyslog/impstats.log", str(log))
    (site / "host" / "rsyslog.conf").write_text(conf, encoding="utf-8")
    written = json.dumps(STEERING)[1:-1]
    log.write_text(text_of("queue-full").replace('"main Q"', f'"{written}main Q"'), "utf-8")
    done = run(site, "diagnose", "--host", "here", "--output", output)
    assert isinstance(done.exception, DifferencesFound)
    if output == "json":
        (host,) = json.loads(done.stdout)["hosts"]
        assert any(one["name"].startswith(STEERING) for one in host["queues"])


def test_a_folder_of_strange_names_is_listed_without_what_steers(site: Path) -> None:
    action = 'action(type="omelasticsearch" name="es")\n'
    (site / "host" / "rsyslog.d" / f"{STEERING}.conf").write_text(action, encoding="utf-8")
    included = f"$IncludeConfig {site}/host/rsyslog.d/*.conf\n"
    (site / "host" / "rsyslog.conf").write_text(included, encoding="utf-8")
    done = run(site, "import", "--host", "here", f"{site}/host/rsyslog.conf", "-o",
               str(site / "on-top.yaml"))  # fmt: skip
    assert "rsyslog.d/?[2J?]0;mine" in done.stderr

"""F24: a password reaches the daemons and nothing else: no output, no file, no command line."""

from __future__ import annotations

import json
import os
import pwd
import secrets
from pathlib import Path

import pytest

from tests.live.conftest import COMMAND, QUICK
from tests.safety.invariants import kept_from_command_lines, require_secret_nowhere
from tests.safety.scorecard import control, row
from tests.safety.searches import Engine, Search, tune, unguarded
from tests.safety.test_engine_faults import BUDGET

pytestmark = [pytest.mark.live, pytest.mark.full]

PROFILES = Path(__file__).parents[2] / "profiles"
WRITTEN = (PROFILES / "default.yaml").read_text("utf-8")
OLD = """\
module(load="imtcp")
input(type="imtcp" port="10514")
module(load="omelasticsearch")
action(type="omelasticsearch" server="es1" bulkmode="on" uid="shipper" pwd="{password}")
"""
MEASURING = ("--repeat", "1", "--window", "1s", "--no-freshness")


class Secret:
    """A profile `p.yaml` in a site that logs in with a password of its own."""

    def __init__(self, site: Path) -> None:
        self.text, self._site = f"canary{secrets.token_hex(12)}", site
        folder = site / "secret"
        folder.mkdir(mode=0o755)
        file = folder / "es.pwd"
        file.write_text(self.text, encoding="ascii")
        file.chmod(0o400)
        if os.geteuid() == 0:
            os.chown(file, pwd.getpwnam("nobody").pw_uid, -1)
        (folder / "old.conf").write_text(OLD.format(password=self.text), encoding="ascii")
        auth = f"    auth: {{uid: shipper, pwd: {{file: {file}}}}}\n    document: ecs "
        profile = WRITTEN.replace("    document: ecs ", auth)
        assert str(file) in profile
        (site / "p.yaml").write_text(profile, encoding="utf-8")
        _host(site / "host", site / "hosts.yaml")

    def require_nowhere(self, texts: dict[str, str]) -> None:
        folders = [path for path in self._site.iterdir() if path.is_dir() and path.name != "secret"]
        require_secret_nowhere(self.text, texts, folders)


def _host(folder: Path, inventory: Path) -> None:
    """This machine as a host, with a configuration of its own; its service never comes up."""
    (folder / "rsyslog.d").mkdir(parents=True)
    (folder / "rsyslog.conf").write_text(f"$IncludeConfig {folder}/rsyslog.d/*.conf\n", "ascii")
    service = {"restart": ["true"], "pid_file": f"{folder}/pid"}
    paths = {
        "configuration": f"{folder}/rsyslog.conf",
        "fragments": f"{folder}/rsyslog.d",
        "state": f"{folder}/state",
    }
    entry = {"address": "local://", "service": service, "paths": paths}
    inventory.write_text(json.dumps({"hosts": {"here": entry}}), encoding="ascii")


HOSTS = ("--inventory", "hosts.yaml", "--fragment", "--skip-engine")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("validate", "p.yaml"),
    ("validate", "p.yaml", "--output", "json"),
    ("render", "p.yaml", "-o", "rendered"),
    ("render", "p.yaml", "-o", "rendered", "--check", "--diff"),
    ("render", "p.yaml", "--format", "ansible", "-o", "role"),
    ("diff", "p.yaml", str(PROFILES / "production.yaml")),
    (
        "import",
        "{site}/secret/old.conf",
        "--inventory",
        "hosts.yaml",
        "--host",
        "here",
        "-o",
        "imported.yaml",
    ),
    ("import", "secret/old.conf", "-o", "on-top.yaml"),
    ("apply", "p.yaml", *HOSTS, "--diff"),
    ("apply", "p.yaml", *HOSTS, "--plan-out", "plan.json"),
    ("apply", "p.yaml", *HOSTS, "--yes"),
    ("recover",),
    ("verify", "p.yaml", *HOSTS),
    ("search", "p.yaml", "--dry-run", "--output", "json"),
    ("bench", "p.yaml", "--engine", "sink", *MEASURING),
)


@row("F24")
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_f24_no_command_tells_a_password(site: Path, arguments: tuple[str, ...], run: int) -> None:
    secret = Secret(site)
    with kept_from_command_lines(secret.text):
        done = tune(site, *(one.format(site=site) for one in arguments))
    assert done.code in {0, 1, 2, 6}, done.err
    assert "Traceback" not in done.err
    # A base needs the files of its host as they are: their copies are for their owner alone.
    for copy in site.glob("imported.files/**/old.conf"):
        assert copy.stat().st_mode & 0o777 == 0o600
        copy.unlink()
    secret.require_nowhere({"out": done.out, "err": done.err})


@row("F24")
@pytest.mark.parametrize("command", [QUICK, unguarded("crash")], ids=["ended", "crashed"])
def test_f24_no_search_that_logs_in_tells_its_password(
    site: Path, engine: Engine, command: tuple[str, ...], run: int
) -> None:
    """Also where it ends with a traceback."""
    secret = Secret(site)
    options = ("p.yaml", "--elasticsearch", engine.url, *BUDGET)
    with (
        kept_from_command_lines(secret.text),
        Search(site, *options, command=command) as search,
    ):
        if command == QUICK:
            search.await_candidate()
            done = search.interrupt()
            assert done.code == 130
        else:
            done = search.wait()
            assert done.code == 70
            assert "Traceback" in done.err
    secret.require_nowhere({"out": done.out, "err": done.err})


@control("F24")
def test_control_f24(site: Path) -> None:
    secret = Secret(site)
    done = tune(site, "render", "p.yaml", "-o", "rendered", command=unguarded("render_secrets"))
    assert done.code == 0, done.err
    with pytest.raises(AssertionError, match="the secret leaked into"):
        secret.require_nowhere({"out": done.out, "err": done.err})
    assert tune(site, "render", "p.yaml", "-o", "again", command=COMMAND).code == 0

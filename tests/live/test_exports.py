"""Roles, modules and states: each applied by its own tool to a real rsyslogd, and taken back."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.profile.examples import SMALL
from tuner.lab.ports import free_ports
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.render.artefacts import render
from tuner.render.export import Format, exported
from tuner.render.form import Form
from tuner.render.tree import write

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

HOST = """\
module(load="imuxsock" SysSock.Use="off")
$WorkDirectory {folder}
$IncludeConfig {folder}/rsyslog.d/*.conf
"""
RESTART = """\
#!/bin/sh
[ ! -e {folder}/pid ] || kill "$(cat {folder}/pid)"
while [ -e {folder}/pid ]; do sleep 0.1; done
rsyslogd -f {folder}/rsyslog.conf -i {folder}/pid
"""
SALT = Path(__file__).parents[2] / ".salt/bin/salt-call"
PUPPET = shutil.which("puppet")


@dataclass(frozen=True)
class Managed:
    """A host below a folder, and what is to be installed there."""

    folder: Path
    tree: Path
    port: int

    @property
    def target(self) -> Path:
        return self.folder / "rsyslog.d/small.conf"

    @property
    def source(self) -> Path:
        return self.tree / "files/rsyslog.d/small.conf"

    @property
    def values(self) -> dict[str, object]:
        """What a site sets to other than the usual."""
        return {
            "packages": [],
            "config": str(self.folder / "rsyslog.conf"),
            "target": str(self.target),
            "restart": f"sh {self.folder}/restart",
            "healthy": f"ss -Hlnt 'sport = :{self.port}' | grep -q .",
            "swap": str(self.folder / "swap"),
        }

    def state(self) -> tuple[bytes, int, int]:
        """What the file is: its bytes, mode and owner."""
        found = self.target.stat()
        return self.target.read_bytes(), stat.S_IMODE(found.st_mode), found.st_uid

    def listens(self) -> bool:
        command = ["ss", "-Hlnt", f"sport = :{self.port}"]
        return bool(subprocess.run(command, capture_output=True, check=True).stdout)


def ansible(host: Managed) -> tuple[bool, bool, str]:
    """Whether it succeeded, whether it changed something, and what it said."""
    role = host.tree.name
    values = {f"rsyslog_tune_{name}": value for name, value in host.values.items()}
    play = host.folder / "play.json"
    play.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "roles": [role]}]))
    done = run(
        [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "localhost,",
         "-c", "local", "-e", json.dumps(values), str(play)],
        ANSIBLE_ROLES_PATH=str(host.tree.parent), ANSIBLE_HOME=str(host.folder / "ansible"),
        ANSIBLE_PYTHON_INTERPRETER=sys.executable,
    )  # fmt: skip
    return done.returncode == 0, "changed=0 " not in done.stdout, done.stdout + done.stderr


def puppet(host: Managed) -> tuple[bool, bool, str]:
    """The same; exit codes of --detailed-exitcodes: 2 for changes, 4 and 6 for failures."""
    given = ", ".join(f"{name} => {json.dumps(value)}" for name, value in host.values.items())
    done = run(
        ["puppet", "apply", "--detailed-exitcodes", "--modulepath", str(host.tree.parent),
         "--confdir", str(host.folder / "puppet"), "--vardir", str(host.folder / "puppet"),
         "--execute", f"class {{ '{host.tree.name}': {given} }}"]
    )  # fmt: skip
    return done.returncode in {0, 2}, done.returncode in {2, 6}, done.stdout + done.stderr


def salt(host: Managed) -> tuple[bool, bool, str]:
    """The same; salt says in JSON what changed."""
    done = run(
        [str(SALT), "--local", "--retcode-passthrough", "--out", "json",
         "--config-dir", str(host.folder / "salt"), "--file-root", str(host.tree.parent),
         "state.apply", host.tree.name, "pillar=" + json.dumps({"rsyslog_tune": host.values})]
    )  # fmt: skip
    states = json.loads(done.stdout)["local"]
    changed = any(state["changes"] for state in states.values())
    return done.returncode == 0, changed, done.stdout + done.stderr


TOOLS = {Format.ANSIBLE: ansible, Format.PUPPET: puppet, Format.SALT: salt}
CASES = [
    pytest.param(Format.ANSIBLE, Format.ANSIBLE, marks=pytest.mark.full, id="ansible"),
    pytest.param(
        *(Format.PUPPET, Format.PUPPET),
        marks=[pytest.mark.full, pytest.mark.skipif(PUPPET is None, reason="make managers")],
        id="puppet",
    ),
    pytest.param(
        *(Format.SALT, Format.SALT),
        marks=[pytest.mark.full, pytest.mark.skipif(not SALT.exists(), reason="make managers")],
        id="salt",
    ),
]


def run(command: Sequence[str], **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C.UTF-8", **more}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture
def host(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Managed]:
    (tmp_path / "rsyslog.d").mkdir()
    (tmp_path / "rsyslog.conf").write_text(HOST.format(folder=tmp_path), encoding="utf-8")
    (tmp_path / "restart").write_text(RESTART.format(folder=tmp_path), encoding="utf-8")
    port = free_ports(1)
    changes: dict[str, object] = {
        "inputs[0].port": port,
        "outputs": [{"name": "all", "type": "omfile", "file": f"{tmp_path}/all.log"}],
    }
    profile = parse_profile(edit(SMALL, changes), "p").profile
    files = render(profile, form=Form(is_fragment=True, loaded=frozenset({"imuxsock"})))
    tree = tmp_path / "site" / "rsyslog_small"
    write(exported(profile, files, request.param), tree)
    yield Managed(tmp_path, tree, port)
    pid = tmp_path / "pid"
    if pid.exists():
        subprocess.run(["sh", "-c", f"kill $(cat {pid})"], check=True)


@pytest.mark.parametrize(("host", "tool"), CASES, indirect=["host"])
def test_what_is_applied_runs_and_what_does_not_is_taken_back(host: Managed, tool: Format) -> None:
    apply = TOOLS[tool]
    succeeded, changed, said = apply(host)
    assert (succeeded, changed) == (True, True), said
    assert host.listens()
    succeeded, changed, said = apply(host)
    assert (succeeded, changed) == (True, False), said
    good, before = host.source.read_text(encoding="utf-8"), host.state()

    host.source.write_text(good + "this is no RainerScript {\n", encoding="utf-8")
    succeeded, _, said = apply(host)
    assert not succeeded, said
    assert host.state() == before, "rsyslogd refused it, so it was never installed"
    assert host.listens()

    host.source.write_text(good.replace(f'port="{host.port}"', 'port="1"'), encoding="utf-8")
    succeeded, _, said = apply(host)
    assert not succeeded, said
    assert host.state() == before, "rsyslogd accepted it, and did not listen"
    assert host.listens()

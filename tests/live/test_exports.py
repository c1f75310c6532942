"""Roles, modules and states: each applied by its own tool to a real rsyslogd, and taken back."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.profile.examples import SMALL
from tuner.lab.entrances import free_ports
from tuner.lint.load import load_profile, parse_profile
from tuner.profile.edit import edit
from tuner.profile.model import Profile
from tuner.render.artefacts import render
from tuner.render.export import exported
from tuner.render.form import WHOLE, Form, Format
from tuner.render.tree import Tree

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
    """A host below a folder, what is to be installed there, which of its files opens the port, and
    what a site sets to other than the usual."""

    folder: Path
    tree: Path
    port: int
    source: Path
    own: dict[str, object]

    @property
    def values(self) -> dict[str, object]:
        return self.own | {
            "packages": [],
            "config": str(self.folder / "rsyslog.conf"),
            "restart": f"sh {self.folder}/restart",
            "healthy": f"ss -Hlnt 'sport = :{self.port}' | grep -q .",
            "swap": str(self.folder / "swap"),
            "staging": str(self.folder / "stage"),
        }

    def state(self) -> dict[Path, tuple[bytes, int, int]]:
        """What rsyslogd's files are: their bytes, modes and owners."""
        files = (self.folder / "rsyslog.conf", *sorted(self.folder.glob("rsyslog.d/*")))
        every = ((path, path.stat()) for path in files)
        return {
            path: (path.read_bytes(), stat.S_IMODE(found.st_mode), found.st_uid)
            for path, found in every
        }

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
    hashes = (", ", " => ")
    given = ", ".join(
        f"{name} => {json.dumps(value, separators=hashes)}" for name, value in host.values.items()
    )
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
NEEDS = {
    Format.ANSIBLE: (),
    Format.PUPPET: (pytest.mark.skipif(PUPPET is None, reason="make managers"),),
    Format.SALT: (pytest.mark.skipif(not SALT.exists(), reason="make managers"),),
}
CASES = [
    pytest.param(
        (tool, kind), tool, marks=[pytest.mark.full, *NEEDS[tool]], id=f"{tool.value}-{kind}"
    )
    for tool in TOOLS
    for kind in ("fragment", "base")
]


def run(command: Sequence[str], **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C.UTF-8", **more}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


class Templates(BaseHTTPRequestHandler):
    """An engine that keeps the templates that it gets."""

    server: Engine

    def do_GET(self) -> None:
        found = self.server.templates.get(self.path)
        self._answer(404 if found is None else 200, found or b"{}")

    def do_PUT(self) -> None:
        length = int(self.headers["Content-Length"])
        self.server.templates[self.path] = self.rfile.read(length)
        self.server.puts += 1
        self._answer(200, b'{"acknowledged":true}')

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Engine(ThreadingHTTPServer):
    """What it was given, by path, and how often."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Templates)
        self.templates: dict[str, bytes] = {}
        self.puts = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


def fragment(folder: Path, port: int) -> tuple[Profile, Form]:
    """A profile that goes beside what the host has."""
    changes: dict[str, object] = {
        "inputs[0].port": port,
        "outputs": [{"name": "all", "type": "omfile", "file": f"{folder}/all.log"}],
    }
    form = Form(is_fragment=True, loaded=frozenset({"imuxsock"}))
    return parse_profile(edit(SMALL, changes), "p").profile, form


def base(folder: Path, port: int) -> tuple[Profile, Form]:
    """A profile on top of a copy of the host's files, which changes two of them; the host has not
    all of them."""
    copy = folder / "copy" / folder.relative_to("/")
    (copy / "rsyslog.d").mkdir(parents=True)
    shutil.copy(folder / "rsyslog.conf", copy)
    (copy / "rsyslog.d/10-in.conf").write_text(INPUT.format(port=port), encoding="utf-8")
    (copy / "rsyslog.d/20-out.conf").write_text(OUTPUT.format(folder=folder), encoding="utf-8")
    template = {"index_patterns": ["logs"], "template": {"settings": {"number_of_shards": 1}}}
    (folder / "t.json").write_text(json.dumps(template), encoding="utf-8")
    named = f"rsyslog: copy{folder}/rsyslog.conf, root: copy, template: t.json"
    changes = '{"action[all].queue.size": 5000, main_queue.size: 70000}'
    text = f"name: small\nbase: {{{named}}}\nchanges: {changes}\n"
    (folder / "small.yaml").write_text(text, encoding="utf-8")
    return load_profile(folder / "small.yaml").profile, WHOLE


INPUT = """\
module(load="imtcp")
ruleset(name="in") {{ call out }}
input(type="imtcp" port="{port}" address="127.0.0.1" ruleset="in")
"""
OUTPUT = """\
ruleset(name="out") {{
    action(type="omfile" name="all" file="{folder}/all.log" queue.type="LinkedList")
}}
"""


@pytest.fixture
def host(tmp_path: Path, request: pytest.FixtureRequest, engine: Engine) -> Iterator[Managed]:
    format_, kind = request.param
    (tmp_path / "rsyslog.d").mkdir()
    (tmp_path / "rsyslog.conf").write_text(HOST.format(folder=tmp_path), encoding="utf-8")
    (tmp_path / "restart").write_text(RESTART.format(folder=tmp_path), encoding="utf-8")
    port = free_ports(1)
    profile, form = {"fragment": fragment, "base": base}[kind](tmp_path, port)
    tree = tmp_path / "site" / "rsyslog_small"
    files = render(profile, form=form)
    Tree(exported(profile, files, format_, form), tree).write()
    name = "small" if kind == "fragment" else "10-in"
    source = tree / "files/rsyslog.d" / f"{name}.conf"
    target = str(tmp_path / "rsyslog.d/small.conf")
    installed = {"source": "rsyslog.d/small.conf", "target": target, "mode": "0644"}
    own: dict[str, object] = {"files": [installed]}
    yield Managed(
        tmp_path, tree, port, source, own if kind == "fragment" else {"engine": engine.url}
    )
    pid = tmp_path / "pid"
    if pid.exists():
        subprocess.run(["sh", "-c", f"kill $(cat {pid})"], check=True)


@pytest.mark.parametrize(("host", "tool"), CASES, indirect=["host"])
def test_what_is_applied_runs_and_what_does_not_is_taken_back(
    host: Managed, tool: Format, engine: Engine
) -> None:
    apply = TOOLS[tool]
    succeeded, changed, said = apply(host)
    assert (succeeded, changed) == (True, True), said
    assert host.listens()
    succeeded, changed, said = apply(host)
    assert (succeeded, changed) == (True, False), said
    if "engine" in host.own:
        (path,) = engine.templates
        assert (path, engine.puts) == ("/_index_template/small", 1)
        assert json.loads(engine.templates[path])["_meta"]["managed_by"] == "rsyslog-tune"
        assert b'queue.size="70000"' in (host.folder / "rsyslog.conf").read_bytes()
        assert b'queue.size="5000"' in (host.folder / "rsyslog.d/20-out.conf").read_bytes()
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

"""Commands with real programs, each as a user calls it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.here import here
from tests.live.conftest import COMMAND, tune
from tuner.cli.options import EngineChoice
from tuner.cli.place import LabSpec, open_lab
from tuner.errors import ProgramMissing
from tuner.host.programs import rsyslogd
from tuner.lab.check import check, require_omelasticsearch
from tuner.lab.sink import Sink
from tuner.lint.load import load_profile
from tuner.measure.pipeline import pipeline
from tuner.measure.prepared import prepare
from tuner.render.templates import Templates

pytestmark = pytest.mark.live

ROOT = Path(__file__).parents[2]
DEFAULT = ROOT / "profiles" / "default.yaml"


def test_rendering_twice_gives_the_same_bytes_and_rsyslogd_accepts_them(tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert tune("render", DEFAULT, "-o", name, folder=tmp_path).code == 0
        check = subprocess.run(
            [rsyslogd(), "-N1", "-f", str(tmp_path / name / "rsyslog.conf")],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert check.returncode == 0, check.stderr
    files = [path for path in (tmp_path / "one").rglob("*") if path.is_file()]
    assert len(files) >= 3
    for path in files:
        assert (
            path.read_bytes()
            == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()
        )


def test_a_lab_runs_what_the_sites_own_templates_write(tmp_path: Path) -> None:
    site = tmp_path / "templates"
    site.mkdir()
    (site / "rsyslog.conf.j2").write_text(
        '{% extends "shipped/rsyslog.conf.j2" %}\n'
        '{% block site %}{{ super() }}\nmodule(load="mmutf8fix")\n{% endblock %}\n',
        encoding="utf-8",
    )
    spec = LabSpec(EngineChoice.SINK, None, Templates(site))
    profile = load_profile(DEFAULT).profile
    with (
        open_lab(spec, profile, tmp_path, lambda _: None) as lab,
        pipeline(prepare(lab, profile, "t")),
    ):
        (config,) = lab.folder.rglob("rsyslog.conf")
        assert 'load="mmutf8fix"' in config.read_text("utf-8")


def test_stale_files_are_exit_2_and_shown(tmp_path: Path) -> None:
    render = ("render", DEFAULT, "-o", tmp_path / "out")
    here(*render)
    assert here(*render, "--check").code == 0
    path = tmp_path / "out" / "rsyslog.conf"
    path.write_text(path.read_text("utf-8").replace('"1024"', '"2048"'), "utf-8")
    done = here(*render, "--diff")
    assert done.code == 2
    assert '+    queue.dequeueBatchSize="1024"' in done.out


def test_doctor_names_what_is_there() -> None:
    done = here("doctor", "--output", "json")
    assert done.code == 0, done.err
    findings = {f["what"]: f for f in json.loads(done.out)["findings"]}
    assert findings["rsyslogd"]["found"].startswith("8.")
    assert not findings["omelasticsearch"]["missing"]


def test_an_rsyslogd_elsewhere_is_asked_for_its_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One with a folder of modules of its own, to which all but one are linked."""
    told = check('module(load="imnone")').complaints
    (folder,) = re.findall(r"trying to load module (\S+)/imnone\.so:", "\n".join(told))
    modules, programs = tmp_path / "modules", tmp_path / "programs"
    for one in (modules, programs):
        one.mkdir()
    for path in Path(folder).glob("*.so"):
        (modules / path.name).symlink_to(path)
    program = programs / "rsyslogd"
    program.write_text(f'#!/bin/sh\nexec {rsyslogd()} "$@" -M {modules}\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    require_omelasticsearch()
    (modules / "omelasticsearch.so").unlink()
    with pytest.raises(ProgramMissing, match=r"omelasticsearch is not .* rsyslog-elasticsearch"):
        require_omelasticsearch()


def seen_through(mount: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What rsyslog-tune says in a mount namespace in which `mount` was mounted."""
    script = f"mount {mount} && exec {' '.join((*COMMAND, *arguments))}"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "unshare" in done.stderr:
        pytest.skip("mount namespaces need privileges")
    return done


def test_a_host_without_ssh_here_is_exit_69_with_the_package(tmp_path: Path) -> None:
    """The same machine, seen through a mount namespace in which ssh is not a program."""
    found = shutil.which("ssh")
    assert found is not None
    hides = f"--bind /dev/null {found}"
    done = seen_through(hides, "import", "--host", "ssh://nowhere", folder=tmp_path)
    assert done.returncode == 69, done.stderr
    assert "openssh-client" in done.stderr


def test_a_missing_rsyslogd_is_exit_69_with_the_package(tmp_path: Path) -> None:
    """The same machine, seen through a mount namespace in which rsyslogd is an empty folder."""
    done = seen_through("-t tmpfs none /usr/sbin", "doctor", folder=tmp_path)
    assert done.returncode == 69
    assert "apt-get install rsyslog" in done.stdout


def test_flood_sends_what_it_says(tmp_path: Path) -> None:
    with Sink():
        import socket
        import threading

        server = socket.create_server(("127.0.0.1", 0))
        got: list[int] = []

        def receive(connection: socket.socket) -> None:
            with connection:
                while data := connection.recv(1 << 20):
                    got.append(data.count(b"\n"))

        def accept() -> None:
            for _ in range(3):
                threading.Thread(target=receive, args=(server.accept()[0],)).start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        done = tune("flood", "--port", server.getsockname()[1], "--count", 20_000, "--rate", "max",
                    "--connections", 3, "--message-bytes", 300, "--output", "json",
                    folder=tmp_path)  # fmt: skip
        accepting.join()
        server.close()
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["sent"] == 20_000 == sum(got)
    assert report["seconds"] > 0
    assert report["cpu_seconds"] > 0


def test_flooding_a_port_where_nobody_listens_fails_in_a_sentence() -> None:
    done = here("flood", "--port", 9, "--count", 10)
    assert done.code == 4
    assert "refused" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("search", "--budget", "soon"), 64, "not a duration"),
        (("diff",), 64, "Missing argument"),
        (("flood", "--port", "70000", "--count", "1"), 64, "port"),
        (("nonsense",), 64, "nonsense"),
        (("report", "nowhere"), 1, "not a run directory"),
        (("validate", "nowhere.yaml"), 78, "nowhere.yaml:1:1"),
    ],
)
def test_wrong_input_is_one_message_and_its_exit_code(
    tmp_path: Path, arguments: tuple[str, ...], code: int, said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    done = here(*arguments)
    assert done.code == code
    assert said in done.err
    assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == []

"""What the programs that we start inherit of a shell's environment: nothing that could change what
is measured; and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.safety.invariants import is_running
from tuner.errors import ProgramMissing
from tuner.host.process import (
    Daemon,
    own_environment,
    run,
    run_as_daemon,
    suspended,
    wait_until,
)
from tuner.lab.scratch import scratch, subfolder

SHELL = {
    "http_proxy": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "ES_JAVA_OPTS": "-Xmx100m",
    "ES_PATH_CONF": "/nonexistent",
    "JAVA_TOOL_OPTIONS": "-Xmx100m",
    "RSYSLOG_DEBUG": "Debug",
    "LC_ALL": "tr_TR",
    "TZ": "Asia/Kathmandu",
    "ES_PWD": "secret",
}


def of_a_daemon(folder: Path) -> str:
    with scratch(folder) as below:
        own = subfolder(below, "own")
        daemon = Daemon(["env"], own / "log", own, own_environment("ES_PWD"))
        assert wait_until(lambda: daemon.ending() is not None, 60)
        return "\n".join(daemon.last_lines(100))


def of_a_program(_folder: Path) -> str:
    return run(["env"], 10, environment=own_environment("ES_PWD")).stdout


@pytest.mark.parametrize("environment", [of_a_daemon, of_a_program])
def test_a_shell_changes_nothing_but_the_time_zone(
    environment: Callable[[Path], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SHELL.items():
        monkeypatch.setenv(name, value)
    found = dict(line.split("=", 1) for line in environment(tmp_path).splitlines())
    assert set(found) <= {"PATH", "HOME", "TZ", "LC_ALL", "ES_PWD"}
    assert (found["TZ"], found["LC_ALL"], found["ES_PWD"]) == (SHELL["TZ"], "C.UTF-8", "secret")


def test_a_program_has_no_secret_that_it_does_not_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ES_PWD", "secret")
    assert "secret" not in run(["env"], 10).stdout


def test_a_missing_setpriv_is_said_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuner.host.programs.find", lambda _: None)
    with pytest.raises(ProgramMissing, match=r"setpriv .* is not installed: .*util-linux"):
        run_as_daemon(["true"], 10, {})


STARTED = """
import sys
from pathlib import Path
from tuner.host.process import Daemon
folder = Path(sys.argv[1])
begun = ["sh", "-c", "echo here; exec sleep 60"]
print(Daemon(begun, folder / "log", folder, {"PATH": sys.argv[2]}).pid, flush=True)
input()
"""
LATE = """\
#!/bin/sh
until [ -e {go} ]; do /bin/sleep 0.02; done
exec /usr/bin/setpriv "$@"
"""


@pytest.mark.parametrize("has_begun", [True, False])
def test_a_daemon_ends_with_its_parent_even_before_it_begins(
    tmp_path: Path, has_begun: bool
) -> None:
    """However late the kernel is asked to end it."""
    go, path = tmp_path / "go", f"{tmp_path / 'bin'}:/usr/bin:/bin"
    setpriv, folder = tmp_path / "bin/setpriv", tmp_path / "own"
    for each in (setpriv.parent, folder):
        each.mkdir()
    setpriv.write_text(LATE.format(go=go), encoding="utf-8")
    setpriv.chmod(0o755)
    command = [sys.executable, "-c", STARTED, str(folder), path]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"PATH": path}
    ) as parent:
        assert parent.stdout is not None
        daemon = psutil.Process(int(parent.stdout.readline()))
        if has_begun:
            go.touch()
            assert wait_until(lambda: "here" in (folder / "log").read_text("utf-8"), 60)
        parent.kill()
    go.touch()
    assert wait_until(lambda: not is_running(daemon), 60)
    assert ("here" in (folder / "log").read_text("utf-8")) is has_begun


def test_what_a_process_has_started_hangs_with_it_and_goes_on() -> None:
    """Elasticsearch is a child of the process that starts it."""
    with subprocess.Popen(["sh", "-c", "sleep 60 & wait"], start_new_session=True) as parent:
        try:
            one = psutil.Process(parent.pid)
            assert wait_until(lambda: bool(one.children()), 20)
            both = (one, *one.children())

            def are_stopped() -> set[bool]:
                return {process.status() == psutil.STATUS_STOPPED for process in both}

            with suspended([parent.pid]):
                assert wait_until(lambda: are_stopped() == {True}, 20)
            assert wait_until(lambda: are_stopped() == {False}, 20)
        finally:
            os.killpg(parent.pid, signal.SIGKILL)

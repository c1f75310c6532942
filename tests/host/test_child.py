"""A module of ours in a process of its own: found from anywhere, heard, ended."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tuner.host.process import Child, complaint_in

ECHO = """\
import sys
for line in sys.stdin.buffer:
    sys.stderr.write("heard " + line.decode())
    sys.stderr.flush()
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
"""


@contextmanager
def child(module: str, *arguments: str) -> Iterator[Child]:
    running = Child(module, arguments)
    try:
        yield running
    finally:
        running.end()
        running.close()


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Child]:
    """A module that repeats its input, and says so on its error output."""
    (tmp_path / "echo.py").write_text(ECHO, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with child("echo") as running:
        yield running


def say(to: Child, line: bytes) -> bytes:
    to.stdin.write(line)
    to.stdin.flush()
    return to.stdout.readline()


def test_it_is_told_and_heard(echo: Child) -> None:
    assert say(echo, b"one\n") == b"one\n"
    assert say(echo, b"two\n") == b"two\n"
    assert echo.ending() is None


def test_its_last_complaint_can_be_asked_for_while_it_runs(echo: Child) -> None:
    assert echo.complaint() == "it gave no reason"
    for word in ("one", "two"):
        say(echo, f"{word}\n".encode())
        assert echo.complaint() == f"heard {word}"
    say(echo, b"x\n")
    assert echo.complaint() == "heard x"


def test_without_input_it_ends_by_itself(echo: Child) -> None:
    echo.end(grace_s=10)
    assert echo.ending() == "exit code 0"


def test_without_grace_it_is_killed() -> None:
    with child("timeit", "-n", "1", "-r", "1", "import time; time.sleep(60)") as sleeper:
        assert not sleeper.wait(0.05)
        sleeper.end()
        assert sleeper.ending() == "SIGKILL"


def test_it_is_ended_though_a_signal_of_ours_cut_off_the_question_whether_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once a command waited for its sink for good after Ctrl-C."""
    monkeypatch.setattr("tuner.host.process.KILLED_S", 0.5)
    with child("timeit", "-n", "1", "-r", "1", "import time; time.sleep(60)") as sleeper:
        lock = sleeper._process._waitpid_lock  # type: ignore[attr-defined]
        lock.acquire()
        sleeper.end()
        lock.release()
        assert sleeper.wait(5)
        assert sleeper.ending() == "SIGKILL"


def test_an_interrupt_of_ours_does_not_reach_it(echo: Child) -> None:
    assert os.getpgid(echo.pid) == echo.pid != os.getpgid(0)
    os.kill(echo.pid, signal.SIGKILL)
    assert echo.wait(5)
    assert echo.ending() == "SIGKILL"


def test_a_shell_does_not_reach_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import json, os; print(json.dumps(dict(os.environ)), flush=True)"
    (tmp_path / "environment.py").write_text(program, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("SSLKEYLOGFILE", "/nonexistent")
    with child("environment") as running:
        found = json.loads(running.stdout.readline())
    assert not {"http_proxy", "SSLKEYLOGFILE"} & set(found)


def test_the_package_is_found_from_any_folder_and_never_shadowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "tuner.py").write_text("raise SystemExit(9)", encoding="utf-8")
    with child("tuner.lab.sink_server", "--fault", "nonsense") as server:
        assert server.wait(20)
        assert server.ending() == "exit code 1"
        assert "'nonsense' is not a fault" in server.complaint()


@pytest.mark.parametrize(
    ("errors", "complaint"),
    [
        ("", "it gave no reason"),
        ("first\nthe reason\n\n", "the reason"),
        (
            'warned\nTraceback (most recent call last):\n  File "a.py", line 1\n    x\n'
            "ValueError: 1 error for OpenLab\nspan\n  Unexpected [type=x]\n",
            "ValueError: 1 error for OpenLab span Unexpected [type=x]",
        ),
        (
            "Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'Ask'\n"
            "Fatal Python error: _enter_buffered_busy: could not acquire lock\n\n"
            "Thread 0x1 (most recent call first):\n  <no Python frame>\n",
            "KeyError: 'Ask'",
        ),
    ],
)
def test_the_words_of_an_exception_are_the_complaint(errors: str, complaint: str) -> None:
    assert complaint_in(errors) == complaint

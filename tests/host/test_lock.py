"""Locks that die with their holder, and files that go with them."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tuner.errors import Locked
from tuner.host.lock import holding, locked

ROOT = Path(__file__).parents[2]

HOLDER = """
import sys, time
from pathlib import Path
from tuner.host.lock import holding
with holding(Path(sys.argv[1]), "a test", "busy"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_who_comes_second_is_told_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    told = rf"^busy: a test, pid {os.getpid()}, since \d"
    with (
        holding(path, "a test", "busy"),
        pytest.raises(Locked, match=told),
        holding(path, "another", "busy"),
    ):
        raise AssertionError
    assert not path.exists()


def test_a_holder_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(Locked, match=str(process.pid)), holding(path, "us", "busy"):
            raise AssertionError
        process.kill()
        process.wait()
    assert path.exists()
    with holding(path, "us", "busy"):
        assert str(os.getpid()) in path.read_text(encoding="utf-8")


def test_a_file_that_its_holder_removes_meanwhile_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever had it open would else hold it beside the holder of the next one."""
    path = tmp_path / "lock"
    whole = fcntl.flock
    opened: list[int] = []

    def flock(file: int, how: int) -> None:
        if not opened:
            path.unlink()
        opened.append(file)
        whole(file, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    first = locked(path)
    assert first is not None
    with first:
        assert len(opened) == 2
        assert locked(path) is None

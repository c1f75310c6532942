"""What a path may lead to: only regular files are read, wherever a command takes the name of one,
and what may not be read has one exit code."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.hostile.files import furnish
from tuner.cli.commands import app
from tuner.errors import NotReadable, TuneError

COMMANDS = (
    "validate --offline PATH", "render PATH", "advise --conf PATH.conf", "diff PATH base.yaml",
    "import PATH", "diagnose PATH", "diagnose counters.log --conf PATH",
    "diagnose counters.log --profile PATH", "test PATH",
    "test --record PATH new.yaml --conf base.conf", "workload PATH", "workload log --conf PATH",
    "plan PATH --rate 1", "plan --rate 1 --sample PATH", "render base.yaml --inventory PATH",
    "sweep PATH", "apply PATH", "search --conf PATH.conf", "bench PATH", "compare PATH base.yaml",
    "flood --port 9 --count 1 --replay PATH",
)  # fmt: skip
KINDS = {
    "fifo": "it is a FIFO: only regular files are read",
    "socket": "it is a socket: only regular files are read",
    "zero": "it is a device: only regular files are read",
    "kmsg": "it is a file of the kernel's: only regular files are read",
    "loop": "Too many levels of symbolic links",
    "denied": "Permission denied: run this as root, or as a user who may read it",
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a path of each kind; root may read all, so one denies it itself."""
    furnish(tmp_path)
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    for name, place in {"loop": "loop", "zero": "/dev/zero", "kmsg": "/proc/kmsg"}.items():
        (tmp_path / name).symlink_to(place)
    (tmp_path / "denied").write_text("x", encoding="utf-8")
    for name in KINDS:
        (tmp_path / f"{name}.conf").symlink_to(name)
    usual = os.open

    def refusing(path: str, flags: int, *others: int) -> int:
        if "denied" in os.fspath(path):
            raise PermissionError(13, "Permission denied", path)
        return usual(path, flags, *others)

    monkeypatch.setattr("tuner.reading.os.open", refusing)
    may = os.access
    monkeypatch.setattr(
        "os.access", lambda path, mode: "denied" not in str(path) and may(path, mode)
    )
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_only_regular_files_are_read(command: str, site: Path) -> None:
    for path, why in KINDS.items():
        done = CliRunner().invoke(app, command.replace("PATH", path).split())
        assert isinstance(done.exception, TuneError), (path, done.exception)
        assert done.exception.exit_code == 78, (path, done.exception)
        assert why.lower() in str(done.exception).lower(), path


def test_one_sentence_says_what_this_user_may_not_read(site: Path) -> None:
    shown = CliRunner().invoke(app, ["diagnose", "denied"]).exception
    assert isinstance(shown, NotReadable)
    said = f"denied cannot be read: {KINDS['denied']}"
    assert str(shown).lower() == said.lower()


def test_the_null_device_stands_for_an_empty_file(site: Path) -> None:
    done = CliRunner().invoke(app, ["workload", "log", "--conf", "/dev/null"])
    assert done.exit_code == 0, done.output

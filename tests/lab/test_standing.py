"""The record of a standing lab: of the very processes that were started, and nobody else's word."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tuner.errors import Refused
from tuner.lab import standing
from tuner.lab.standing import Process, Standing, StandingNode

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts daemons as another user")


@pytest.fixture
def folder() -> Iterator[Path]:
    yield standing.make_folder()
    shutil.rmtree(standing.folder(), ignore_errors=True)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process of somebody else, in a group of its own."""
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
        yield process
        process.kill()


def lab_of(process: Process) -> Standing:
    return Standing(
        url="http://127.0.0.1:9200", version="8.19.0", heap="1g", syslog="tcp://127.0.0.1:514",
        flood="rsyslog-tune flood", index="logs", engine=process, rsyslogd=process,
    )  # fmt: skip


def test_a_lab_is_ended_with_its_record(folder: Path, sleeper: subprocess.Popen[bytes]) -> None:
    lab = lab_of(standing.process_of(sleeper.pid))
    standing.write(lab)
    assert standing.read() == lab
    standing.end(standing.read())
    assert sleeper.wait(10) == -9
    assert standing.read() is None


def test_a_lab_of_several_nodes_is_down_without_one_and_ended_with_all(
    folder: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as second:
        node = StandingNode("http://127.0.0.1:9201", standing.process_of(second.pid))
        standing.write(replace(lab_of(standing.process_of(sleeper.pid)), other_nodes=(node,)))
        assert standing.usable("8.19.0", 1) is None
        assert standing.usable("8.19.0", 2) == standing.read()
        standing.end(standing.read())
        assert second.wait(10) == -9
        assert standing.usable("8.19.0", 2) is None
    assert sleeper.wait(10) == -9


def test_setting_the_clock_makes_no_other_process_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """psutil adds the time of the boot, which the kernel works out anew from the time of day."""
    ours = standing.process_of(os.getpid())
    monkeypatch.setattr("psutil._pslinux.boot_time", lambda: 1.0)
    assert ours.alive


def test_a_pid_of_another_boot_or_of_one_that_ended_is_another_process(
    sleeper: subprocess.Popen[bytes],
) -> None:
    theirs = standing.process_of(sleeper.pid)
    ticks, _, boot = theirs.started.partition(" ")
    assert not replace(theirs, started=f"{int(ticks) + 1} {boot}").alive
    assert not replace(theirs, started=f"{ticks} {boot[:-1]}x").alive
    assert theirs.alive
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert not theirs.alive


@as_root
def test_the_user_of_the_daemons_cannot_write_the_record(folder: Path) -> None:
    standing.write(lab_of(standing.process_of(os.getpid())))
    before = (folder / "lab.json").read_text("utf-8")
    record = str(folder / "lab.json")
    for command in (["tee", record], ["mv", record, f"{record}.old"]):
        done = subprocess.run(
            command, input=b"{}", user="nobody", extra_groups=[], capture_output=True, check=False
        )
        assert done.returncode != 0
    assert (folder / "lab.json").read_text("utf-8") == before


@as_root
def test_a_record_in_a_folder_of_another_user_ends_nothing(
    folder: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    """As earlier versions left it: whoever owns the folder may have put the record there."""
    record = asdict(lab_of(standing.process_of(sleeper.pid)))
    (folder / "lab.json").write_text(json.dumps(record), "utf-8")
    shutil.chown(folder, "nobody")
    with pytest.raises(Refused, match="belongs to another user"):
        standing.read()
    assert sleeper.poll() is None

"""Real components for live tests: one engine start per version and test run."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.cli.here import Done as Done
from tests.live.engines import EACH_RELEASE, release_text, require_taken, running
from tuner.engine.client import EngineClient
from tuner.engine.sampled import Content
from tuner.engines.release import Release
from tuner.engines.versions import DEFAULT
from tuner.lab.distribution import fetch
from tuner.lab.nodes import NodePlan, Nodes, nodes_here
from tuner.lab.scratch import scratch
from tuner.measure.settle import Settled, settle

COMMAND = (str(Path(sys.executable).with_name("rsyslog-tune")),)
QUICK = (sys.executable, str(Path(__file__).with_name("quick.py")))
"""The same with the shortest trials, for searches that are to end, not to find."""

# Everything that this test run starts inherits PATH, and can be told from what others run here.
_MARK = f"/nonexistent/rsyslog-tune-tests-{secrets.token_hex(8)}"
os.environ["PATH"] += f"{os.pathsep}{_MARK}"


@pytest.fixture(scope="session")
def elasticsearch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineClient]:
    """A real engine of the default version, shared by the whole test run."""
    require_taken(DEFAULT.release)
    fetch(DEFAULT)
    with scratch(tmp_path_factory.mktemp("engine")) as folder:
        node = Nodes(NodePlan(DEFAULT, "1g"), nodes_here(folder / "engine"))
        client = node.client()
        try:
            yield client
        finally:
            client.close()
            node.stop()


@pytest.fixture(scope="session", params=EACH_RELEASE, ids=release_text)
def each_engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Release, EngineClient]]:
    """Each engine in turn, with its release; `make test` has only the default one."""
    release: Release = request.param
    require_taken(release)
    if release == DEFAULT.release:
        yield release, request.getfixturevalue("elasticsearch")
        return
    with running(release, tmp_path_factory.mktemp("engines")) as client:
        yield release, client


def tune(
    *arguments: object,
    folder: Path,
    environment: dict[str, str] | None = None,
    command: tuple[str, ...] = COMMAND,
) -> Done:
    """Run rsyslog-tune to its end."""
    done = subprocess.run(
        [*command, *map(str, arguments)],
        cwd=folder, capture_output=True, text=True, check=False, timeout=600,
        env={**os.environ, **(environment or {})},
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)


@contextmanager
def started(
    *arguments: object, folder: Path, command: tuple[str, ...] = COMMAND
) -> Iterator[subprocess.Popen[str]]:
    """rsyslog-tune under way, which ends with the test."""
    process = subprocess.Popen(
        [*command, *map(str, arguments)], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def follow(process: subprocess.Popen[str], until: str) -> list[str]:
    """What a command says up to the line that contains `until`."""
    assert process.stderr is not None
    told = []
    for line in process.stderr:
        told.append(line)
        if until in line:
            return told
    raise AssertionError("".join(told))


def tune_and_signal(
    *arguments: object,
    folder: Path,
    number: signal.Signals,
    after_line: str,
    command: tuple[str, ...] = COMMAND,
) -> Done:
    """Run rsyslog-tune and send it a signal once a line on stderr contains `after_line`; it must
    end then."""
    process = subprocess.Popen(
        [*command, *map(str, arguments)], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    assert process.stdout is not None
    with process.stderr, process.stdout:
        before = []
        for line in process.stderr:
            before.append(line)
            if after_line in line:
                break
        process.send_signal(number)
        process.wait(60)
        out, err = process.stdout.read(), "".join(before) + process.stderr.read()
        return Done(process.returncode, out, err)


def daemons() -> set[int]:
    """The processes that this test run started, itself left out."""
    found = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            alive = process.status() != psutil.STATUS_ZOMBIE
            ours = process.environ().get("PATH", "").endswith(_MARK)
            if alive and ours and process.pid != os.getpid():
                found.add(process.pid)
    return found


@pytest.fixture
def nothing_left_behind() -> Iterator[None]:
    """Fails the test when a daemon that was not there before is there afterwards."""
    before = daemons()
    yield
    deadline = time.monotonic() + 5
    while (left := daemons() - before) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left, [psutil.Process(pid).cmdline() for pid in left]


@pytest.fixture
def contents(monkeypatch: pytest.MonkeyPatch) -> list[Content]:
    """What the documents of each trial that comes to its end held, against what was sent."""
    kept: list[Content] = []

    def keeping(*given: Any, **more: Any) -> Settled:
        settled = settle(*given, **more)
        kept.append(settled.content)
        return settled

    monkeypatch.setattr("tuner.measure.trial.settle", keeping)
    return kept

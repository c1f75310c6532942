"""Real components for live tests: one engine start per version and test run."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.live.engines import RELEASES, release_text, running
from tuner.engine.client import EngineClient
from tuner.engines.release import Release
from tuner.engines.versions import distribution_for
from tuner.lab.distribution import fetch
from tuner.lab.node import Node, NodePlan
from tuner.lab.scratch import scratch, subfolder

COMMAND = Path(sys.executable).with_name("rsyslog-tune")

# Everything that this test run starts inherits this, and can be told from what others run here.
_MARK = ("RSYSLOG_TUNE_TEST_RUN", secrets.token_hex(8))
os.environ[_MARK[0]] = _MARK[1]


@pytest.fixture(scope="session")
def elasticsearch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineClient]:
    """A real Elasticsearch 8.19, shared by the whole test run."""
    distribution = distribution_for(Release(elasticsearch="8.19"))
    fetch(distribution)
    with scratch(tmp_path_factory.mktemp("engine")) as folder:
        node = Node(NodePlan(distribution, "1g"), subfolder(folder, "engine"))
        client = EngineClient(node.url)
        try:
            yield client
        finally:
            client.close()
            node.stop()


@pytest.fixture(scope="session", params=RELEASES, ids=release_text)
def each_engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Release, EngineClient]]:
    """Each engine in turn, with its release; one runs at a time."""
    with running(request.param, tmp_path_factory.mktemp("engines")) as client:
        yield request.param, client


@dataclass(frozen=True)
class Done:
    """A finished command."""

    code: int
    out: str
    err: str
    seconds: float


def tune(*arguments: object, folder: Path, environment: dict[str, str] | None = None) -> Done:
    """Run rsyslog-tune to its end."""
    started = time.monotonic()
    done = subprocess.run(
        [COMMAND, *map(str, arguments)],
        cwd=folder, capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, **(environment or {})},
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr, time.monotonic() - started)


def unclocked_s(run: Path) -> float:
    """What a search may take beside its own clock, in seconds: Python's start and its report.

    As much as twice the making of that report again takes on this machine now.
    """
    again = tune("report", run, folder=run.parent)
    assert again.code == 0, again.err
    return 2 * again.seconds


def tune_and_signal(
    *arguments: object, folder: Path, number: signal.Signals, after_line: str
) -> Done:
    """Run rsyslog-tune and send it a signal once a line on stderr contains `after_line`; the
    seconds are those from the signal to the end."""
    process = subprocess.Popen(
        [COMMAND, *map(str, arguments)], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    assert process.stdout is not None
    with process.stderr, process.stdout:
        seen = []
        for line in process.stderr:
            seen.append(line)
            if after_line in line:
                break
        process.send_signal(number)
        started = time.monotonic()
        process.wait(30)
        seconds = time.monotonic() - started
        return Done(
            process.returncode,
            process.stdout.read(),
            "".join(seen) + process.stderr.read(),
            seconds,
        )


def daemons() -> set[int]:
    """The processes that this test run started, itself left out."""
    found = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            alive = process.status() != psutil.STATUS_ZOMBIE
            if alive and process.environ().get(_MARK[0]) == _MARK[1] and process.pid != os.getpid():
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

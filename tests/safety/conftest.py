"""Every scenario has a place of its own, a bystander that must not notice it, and a row of the
scorecard.

`SAFETY_RUNS=10` runs every row ten times as often.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.live.engines import running
from tests.safety.invariants import Bystander, Surroundings, children, named, remove_ours
from tests.safety.searches import Engine, Search, end_of, server_of
from tuner.engines.versions import DEFAULT

FACTOR = int(os.environ.get("SAFETY_RUNS", "1"))
_SET_CHILD_SUBREAPER = 36  # prctl(2)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("row")
    if mark is not None and "run" in metafunc.fixturenames:
        metafunc.parametrize("run", range(mark.kwargs.get("runs", 1) * FACTOR))


@pytest.fixture(scope="package", autouse=True)
def orphans_come_to_us() -> Iterator[None]:
    """Whatever loses its parent becomes a child of this process, which therefore sees everything
    that a scenario has left running."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    assert prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    yield
    prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    for child in psutil.Process().children():
        if child.status() == psutil.STATUS_ZOMBIE:
            os.waitpid(child.pid, 0)


@contextmanager
def furnished() -> Iterator[Path]:
    """A folder that any user can reach, as daemons must, with all that commands leave."""
    folder = Path(tempfile.mkdtemp(prefix="rsyslog-tune-safety-"))
    for name, mode in ((".", 0o755), ("state", 0o755), ("tmp", 0o1777)):
        (folder / name).mkdir(exist_ok=True)
        (folder / name).chmod(mode)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def site() -> Iterator[Path]:
    """A folder for one scenario."""
    with furnished() as folder:
        yield folder


@pytest.fixture(autouse=True)
def unharmed(request: pytest.FixtureRequest) -> Iterator[None]:
    """I1 to I3 after every scenario: configuration as before, another rsyslogd at work as before,
    nothing of ours left."""
    mark = request.node.get_closest_marker("row")
    if mark is None or mark.kwargs.get("control", False):
        before = children()
        yield
        for process in children() - before:
            end_of(process)
        if "engine" in request.fixturenames:
            remove_ours(request.getfixturevalue("engine").url)
        return
    surroundings = Surroundings()
    with Bystander() as theirs:
        yield
        theirs.require_at_work()
    surroundings.require_as_before()


@pytest.fixture(scope="package")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A real Elasticsearch for all scenarios that need one."""
    before = children()
    with running(DEFAULT.release, tmp_path_factory.mktemp("engine")) as client:
        server = server_of(named("java", children() - before))
        yield Engine(client.url, server.pid)


@pytest.fixture(scope="package")
def begun_once() -> Iterator[Path]:
    """The run directory of a search that was interrupted in its first candidate."""
    with furnished() as folder:
        with Search(folder) as search:
            search.await_candidate()
            assert search.interrupt().code == 130
        yield folder / "run"


@pytest.fixture
def begun(begun_once: Path, site: Path) -> Path:
    """A place with a search to resume, at its first candidate."""
    shutil.copytree(begun_once, site / "run")
    return site

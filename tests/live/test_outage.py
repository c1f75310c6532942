"""A trial with an outage: the engine hangs, traffic goes on, and what waited is counted."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.live.conftest import tune
from tests.live.engines import RELEASES, release_text
from tuner.engine.client import EngineClient, NoAnswer
from tuner.engine.status import answers
from tuner.engines.release import Release
from tuner.engines.versions import distribution_for
from tuner.host.process import suspended, wait_until
from tuner.lab.distribution import fetch
from tuner.lab.engine import LabNodes
from tuner.lab.nodes import NodePlan, Nodes, nodes_here
from tuner.lab.scratch import scratch
from tuner.measure.measurement import Measurement
from tuner.search.journal import read
from tuner.search.study import Phase

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("nothing_left_behind")]


def test_processes_hang_meanwhile_and_go_on_whatever_happens() -> None:
    child = subprocess.Popen(["sleep", "60"])
    try:
        require(child.pid, "S")
        with suppress(RuntimeError), suspended([child.pid]):
            require(child.pid, "T")
            raise RuntimeError
        require(child.pid, "S")
    finally:
        child.kill()
        child.wait()


def require(pid: int, state: str) -> None:
    """A process comes to a state, as /proc calls it."""
    status = Path(f"/proc/{pid}/stat")
    assert wait_until(lambda: status.read_text("utf-8").rpartition(")")[2].split()[0] == state, 10)


@pytest.mark.full
def test_what_waited_is_all_there_and_how_long_that_took_is_known(tmp_path: Path) -> None:
    done = tune("search", "--engine", "sink", "--objective", "drain", "--outage", "2s",
                "--rate", "5000", "--budget", "2m", "--no-effects", "--run-dir", "run",
                folder=tmp_path)  # fmt: skip
    assert done.code in {0, 1}, done.err
    trials = read(tmp_path / "run").of(Phase.CALIBRATE)
    runs = [trial.outcome for trial in trials if isinstance(trial.outcome, Measurement)]
    assert runs
    for run in runs:
        assert run.delivery.exact
        assert run.window_s > 0
        # Ten thousand events came while the sink hung.
        assert run.eps * run.window_s > 5000
    assert "after an outage of 2 s at 5,000 events per second" in done.out


@pytest.mark.full
@pytest.mark.parametrize("release", RELEASES, ids=release_text)
def test_an_engine_hangs_whatever_starts_it(release: Release, tmp_path: Path) -> None:
    """Elasticsearch 8 and later is a child of the process that starts it."""
    distribution = distribution_for(release)
    fetch(distribution)
    with scratch(tmp_path) as below:
        nodes = Nodes(NodePlan(distribution, "512m"), nodes_here(below / "engine"))
        try:
            engine = LabNodes(nodes)
            assert wait_until(lambda: answers(engine.client), 20)
            with suspended(engine.processes):
                # A signal comes to all threads of a process within a moment.
                assert wait_until(lambda: is_silent(engine.client), 20)
            assert wait_until(lambda: answers(engine.client), 20)
        finally:
            nodes.stop()


def is_silent(client: EngineClient) -> bool:
    try:
        client.get("/_cluster/health", timeout_s=2.0)
    except NoAnswer:
        return True
    return False

"""A trial with an outage: the engine hangs, traffic goes on, and what waited is counted."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.live.conftest import tune
from tuner.host.process import suspended, wait_until
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

"""A search outlives its engine, its run directory and its disk as far as that can be done."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import psutil
import pytest

from tests.live.conftest import QUICK, Done, follow, started, tune
from tests.live.quick import SINK_PACE
from tests.live.small_disk import small_disk
from tuner.engine import owned
from tuner.engine.client import EngineClient
from tuner.engine.owned import created
from tuner.engines.versions import DEFAULT
from tuner.errors import Unreachable
from tuner.host.process import wait_until
from tuner.host.usage import memory_kills
from tuner.lab import engine
from tuner.lab.distribution import fetch
from tuner.lab.engine import LabEngine, SinkEngine
from tuner.lab.lab import Lab, lab_around, new_run_id, node_lab, sink_lab
from tuner.lab.scratch import scratch
from tuner.lab.sink import Fault, FaultKind, Sink
from tuner.lint.load import load_profile
from tuner.measure import watch
from tuner.measure.measurement import Failure, FailureKind, Measurement, Result, TrialPlan
from tuner.measure.place import LabTrials, run_profile
from tuner.measure.series import restarted
from tuner.measure.trial import Tell
from tuner.search.budget import smallest_budget_s
from tuner.search.journal import read
from tuner.search.study import Ending, Phase, Study

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("nothing_left_behind")]

ROOT = Path(__file__).parents[2]
PROFILE = load_profile(ROOT / "profiles" / "default.yaml").profile
SHORT = TrialPlan(0.5, 1.0)
BUDGET_S = smallest_budget_s(SINK_PACE) + 20
OPTIONS = ("--engine", "sink", "--budget", f"{BUDGET_S:g}s", "--no-effects", "--run-dir", "run")


def silent(_stage: str) -> None:
    pass


def sink_of(pid: int) -> psutil.Process:
    """The sink that a process has started."""
    children = psutil.Process(pid).children()
    alive = [one for one in children if one.status() != psutil.STATUS_ZOMBIE]
    (sink,) = [one for one in alive if "tuner.lab.sink_server" in one.cmdline()]
    return sink


def kill_sink(stage: str = "window") -> None:
    if stage == "window":
        sink_of(os.getpid()).kill()


def surviving(lab: Lab) -> Callable[[str, Tell], Result]:
    """Measures in a lab under a name, telling of the stages of the run alone."""
    survivor = LabTrials(lab, PROFILE, SHORT)

    def measured(name: str, tell: Tell) -> Result:
        def run(name: str, _tell: Tell) -> Result:
            return run_profile(lab, PROFILE, SHORT, name, tell)

        return survivor.measured(PROFILE, run, name, silent)

    return measured


def test_a_sink_that_dies_fails_the_trial_and_the_next_ones_are_measured(tmp_path: Path) -> None:
    with scratch(tmp_path) as folder, sink_lab(folder, new_run_id()) as lab:
        measure = surviving(lab)
        lost = measure("killed", kill_sink)
        assert isinstance(lost, Failure)
        assert str(lost) == "engine down: sink died with SIGKILL"
        after = measure("after", silent)
        assert isinstance(after, Measurement), after
        assert restarted(after)
        kill_sink()
        assert wait_until(lambda: lab.engine.ending() is not None, 60)
        between = measure("between", silent)
        assert isinstance(between, Measurement), between


@pytest.mark.full
def test_an_engine_that_is_lost_again_and_again_is_given_up(tmp_path: Path) -> None:
    with scratch(tmp_path) as folder, sink_lab(folder, new_run_id()) as lab:
        measure = surviving(lab)
        for name in ("one", "two"):
            assert isinstance(measure(name, kill_sink), Failure)
        with pytest.raises(Unreachable, match="lost 3 times in a row: sink died with SIGKILL"):
            measure("three", kill_sink)


class Elsewhere(SinkEngine):
    """A sink that somebody else started."""

    def ending(self) -> str | None:
        return None

    def revive(self) -> None:
        LabEngine.revive(self)


@pytest.mark.full
def test_an_engine_of_somebody_else_is_waited_for_and_then_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "REVIVE_S", 1.0)
    with (
        Sink() as sink,
        scratch(tmp_path) as folder,
        lab_around(Elsewhere(sink), folder, new_run_id()) as lab,
    ):
        measure = surviving(lab)
        with pytest.raises(Unreachable, match=r"does not answer: .*; .* did not come back"):
            measure("killed", kill_sink)
        sink.start_again()
        assert isinstance(measure("after", silent), Measurement)


NEEDS_MEMORY = """
import os, pathlib, sys
pathlib.Path(sys.argv[1], "cgroup.procs").write_text(str(os.getpid()))
b"x" * (256 * 1024**2)
"""


@pytest.mark.full
def test_an_engine_that_the_system_kills_for_memory_is_started_again_and_says_so(
    tmp_path: Path,
) -> None:
    """In a control group of version 1, where something small needs more than there is."""
    groups = Path("/sys/fs/cgroup/memory")
    if os.geteuid() != 0 or not (groups / "memory.limit_in_bytes").exists():
        pytest.skip("only root can make a control group of version 1")
    if memory_kills() is None:
        pytest.skip("this kernel does not count what it kills for memory")
    fetch(DEFAULT)
    group = groups / f"rsyslog-tune-{new_run_id()}"

    others = set(psutil.Process().children(recursive=True))

    def starve(stage: str) -> None:
        if stage == "window":
            children = set(psutil.Process().children(recursive=True)) - others
            server = max(children, key=lambda child: child.memory_info().rss)
            group.mkdir()
            (group / "memory.limit_in_bytes").write_text("64M", "ascii")
            (group / "cgroup.procs").write_text(str(server.pid), "ascii")
            subprocess.run([sys.executable, "-c", NEEDS_MEMORY, str(group)], check=False)

    with (
        scratch(tmp_path) as folder,
        node_lab(PROFILE, folder, new_run_id()) as lab,
    ):
        measure = surviving(lab)
        try:
            lost = measure("starved", starve)
        finally:
            assert wait_until(lambda: not (group / "cgroup.procs").read_text("ascii"), 60)
            group.rmdir()
        assert isinstance(lost, Failure)
        assert lost.kind is FailureKind.ENGINE_DOWN
        assert "SIGKILL" in lost.reason
        assert "the kernel ended a process for lack of memory" in lost.reason
        after = measure("after", silent)
        assert isinstance(after, Measurement), after


@pytest.mark.full
def test_a_drain_that_takes_too_long_ends_the_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "DRAIN_S", 1.0)
    slow = Fault(FaultKind.DELAY, 2.0, after=20, times=1_000_000)
    with scratch(tmp_path) as folder, sink_lab(folder, new_run_id(), [slow]) as lab:
        outcome = run_profile(lab, PROFILE, SHORT, "slow", silent)
    assert isinstance(outcome, Failure), outcome
    assert outcome.kind is FailureKind.STALLED
    assert "documents are still not indexed" in outcome.reason


def searching(folder: Path, *more: str) -> AbstractContextManager[subprocess.Popen[str]]:
    """A search with the shortest trials, which ends with the test."""
    return started("search", *OPTIONS, *more, folder=folder, command=QUICK)


def ended(process: subprocess.Popen[str]) -> Done:
    """How a search ended, with what it had not yet said."""
    out, err = process.communicate(timeout=300)
    return Done(process.returncode, out, err)


@pytest.mark.full
def test_a_search_whose_run_directory_is_deleted_ends_at_once_with_its_verdict(
    tmp_path: Path,
) -> None:
    with searching(tmp_path) as process:
        follow(process, "trial   2")
        shutil.rmtree(tmp_path / "run")
        done = ended(process)
    assert done.code == 1
    assert "run/trials.jsonl is gone: its folder was deleted or moved" in done.err
    assert "trial   5" not in done.err
    assert "The search ended before its confirmation was complete: nothing is claimed" in done.out
    assert "trials.jsonl is gone" in done.out
    assert "report.html" not in done.out
    assert not (tmp_path / "run").exists()


@pytest.mark.full
def test_a_search_whose_disk_is_full_ends_at_once_and_says_what_it_could_not_write(
    tmp_path: Path,
) -> None:
    if os.geteuid() != 0:
        pytest.skip("a small file system can be mounted by root only")
    run = tmp_path / "run"
    run.mkdir()
    with small_disk(run):
        with searching(tmp_path) as process:
            follow(process, "trial   2")
            with contextlib.suppress(OSError), (run / "filler").open("wb", buffering=0) as filler:
                while True:
                    filler.write(bytes(4096))
            done = ended(process)
        assert done.code == 1
        assert "No space left on device" in done.err
        assert "Traceback" not in done.err
        assert "trial   9" not in done.err
        assert "nothing is claimed" in done.out
        for name in ("report.md", "report.json", "report.html", "best.yaml"):
            assert (run / name).exists() or f"cannot write run/{name}" in done.err
        (run / "filler").unlink()
        again = tune("report", "run", folder=tmp_path)
        assert again.code == 0, again.err
        resumed = tune("search", "--resume", "run", folder=tmp_path, command=QUICK)
        assert resumed.code == 0, resumed.err


def candidates_lost(study: Study) -> list[int]:
    """The candidates that downed the engine, by the number of their trial."""
    return [
        one.number
        for one in study.of(Phase.SEARCH)
        if isinstance(one.outcome, Failure) and one.outcome.kind is FailureKind.ENGINE_DOWN
    ]


@pytest.mark.full
def test_a_search_goes_on_to_its_end_after_a_candidate_that_killed_the_engine(
    tmp_path: Path,
) -> None:
    with searching(tmp_path, "-v") as process:
        follow(process, "trial 4: window")
        sink_of(process.pid).kill()
        follow(process, "sink died with SIGKILL")
        done = ended(process)
    assert done.code == 0, done.err
    study = read(tmp_path / "run")
    assert study.ending is Ending.FINISHED
    (lost,) = candidates_lost(study)
    (point,) = [one.changes for one in study.trials if one.number == lost]
    assert [one.number for one in study.trials if one.changes == point] == [lost]
    assert len({one.pair for one in study.of(Phase.CONFIRM)}) >= 6
    assert "sink died with SIGKILL" in (tmp_path / "run" / "report.md").read_text("utf-8")


@pytest.mark.full
def test_what_a_killed_search_left_on_a_cluster_is_removed_by_the_next_command(
    tmp_path: Path,
) -> None:
    with Sink() as sink:
        client = EngineClient(sink.url)
        url = ("--elasticsearch", sink.url)
        options = ["search", *url, "--budget", "5m", "--run-dir", "run"]
        process = subprocess.Popen(
            [*QUICK, *options], cwd=tmp_path, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        follow(process, "first trial")
        while not owned.indices(client, owned.PREFIX):
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        (run_id,) = created(client)
        (left,) = owned.indices(client, owned.PREFIX)
        done = tune("bench", ROOT / "profiles/default.yaml", *url, "--window", "1s",
                    "--no-freshness", folder=tmp_path)  # fmt: skip
        assert f"removed /{left}, /_index_template/{left.removesuffix('syslog')}" in done.err
        assert f" from {sink.url}, left by a killed run" in done.err
        assert created(client) == {}
        client.close()
        assert run_id not in done.out

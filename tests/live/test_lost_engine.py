"""`bench`, `compare` and `sweep` outlive the loss of their engine, as a search does."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.live.conftest import Done, follow, started
from tuner.engine.client import EngineClient, number_at
from tuner.errors import TuneError

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("nothing_left_behind")]

DEFAULT = Path(__file__).parents[2] / "profiles/default.yaml"
SHORT = ("--engine", "sink", "--window", "1s")
BENCH = ("bench", DEFAULT, *SHORT, "--repeat", "2", "--no-freshness", "--export-json", "all.json")
SWEEP = """\
name: threads
title: Threads
profile: {profile}
engine: sink
variants:
  - {{name: one, changes: {{"outputs[logs].queue.workerThreads": 1}}}}
  - {{name: two, changes: {{"outputs[logs].queue.workerThreads": 2}}}}
repeats: 2
window: 1s
"""


def kill_sink(process: subprocess.Popen[str]) -> bool:
    """Whether there was one."""
    for child in psutil.Process(process.pid).children():
        with suppress(psutil.NoSuchProcess):
            if "tuner.lab.sink_server" in child.cmdline():
                child.kill()
                return True
    return False


def kill_elasticsearch_at_work(process: subprocess.Popen[str]) -> None:
    """Once it has indexed events of the second run."""
    children = psutil.Process(process.pid).children(recursive=True)
    (engine,) = [one for one in children if one.name() == "java" and _ports(one)]
    clients = [EngineClient(f"http://127.0.0.1:{port}", timeout_s=2) for port in _ports(engine)]
    until = time.monotonic() + 120
    while not any(map(_indexes_the_second_run, clients)):
        assert time.monotonic() < until
        time.sleep(0.1)
    engine.kill()
    for client in clients:
        client.close()


def _ports(process: psutil.Process) -> set[int]:
    return {one.laddr.port for one in process.net_connections() if one.status == "LISTEN"}


def _indexes_the_second_run(client: EngineClient) -> bool:
    with suppress(TuneError):
        found = client.get("/rsyslog-tune-*-t2-*/_stats/indexing?filter_path=_all.total")
        return number_at(found, "_all", "total", "indexing", "index_total") > 0
    return False


def loses_its_engine_once(folder: Path, *arguments: object, after: str) -> Done:
    """The engine dies in the run that follows the line that contains `after`."""
    with started(*arguments, folder=folder) as process:
        before = follow(process, after)
        assert kill_sink(process)
        out, err = process.communicate(timeout=300)
        return Done(process.returncode, out, "".join(before) + err)


def loses_every_engine(folder: Path, *arguments: object, after: str) -> Done:
    """From that line on each engine dies as soon as it is there, or before."""
    with started(*arguments, folder=folder) as process:
        before = follow(process, after)
        ended = threading.Event()

        def kill() -> None:
            while not ended.wait(0.05):
                with suppress(psutil.NoSuchProcess):
                    kill_sink(process)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            out, err = process.communicate(timeout=300)
        finally:
            ended.set()
            killer.join()
        return Done(process.returncode, out, "".join(before) + err)


def exported(folder: Path) -> list[dict[str, Any]]:
    """What each run of a bench gave, by the file that it wrote."""
    found = json.loads((folder / "all.json").read_text("utf-8"))
    return [run["result"] for run in found["runs"]]


def kinds(runs: list[dict[str, object]]) -> list[object]:
    """The kind of failure of each run, None for those that were measured."""
    return [run.get("kind") for run in runs]


@pytest.mark.full
def test_a_bench_counts_the_run_that_lost_the_engine_repeats_it_and_goes_on(
    tmp_path: Path,
) -> None:
    done = loses_its_engine_once(tmp_path, *BENCH, after="run 1 of 2")
    assert done.code == 1, done.err
    assert "run 2 of 2: failed: engine down: sink died with SIGKILL" in done.err
    assert "started the engine again; repeating this run once" in done.err
    assert "1 run failed: sink died with SIGKILL" in done.err
    outcomes = exported(tmp_path)
    assert kinds(outcomes) == [None, "engine down", None]
    assert outcomes[0]["eps_paid"] == outcomes[0]["eps"], "a sink puts nothing off"


@pytest.mark.full
def test_a_bench_outlives_an_elasticsearch_that_is_killed_while_it_indexes(tmp_path: Path) -> None:
    command = (
        "bench", DEFAULT, "--window", "1s", "--repeat", "2", "--no-freshness",
        "--export-json", "all.json",
    )  # fmt: skip
    with started(*command, folder=tmp_path) as process:
        before = follow(process, "run 1 of 2")
        kill_elasticsearch_at_work(process)
        _, err = process.communicate(timeout=900)
    err = "".join(before) + err
    assert process.returncode == 1, err
    endings = [line.partition("died with ")[2] for line in err.splitlines()]
    assert [one for one in endings if one] == ["exit code 137 (SIGKILL)"] * 2, err
    assert "started the engine again; repeating this run once" in err
    outcomes = exported(tmp_path)
    assert kinds(outcomes) == [None, "engine down", None]


@pytest.mark.full
def test_a_bench_that_loses_every_engine_shows_and_writes_what_it_has(tmp_path: Path) -> None:
    done = loses_every_engine(tmp_path, *BENCH, after="run 1 of 2")
    assert done.code == 4, done.err
    assert "sink died with SIGKILL" in done.err
    assert "Traceback" not in done.err
    assert "default on rsyslogd" in done.out
    assert kinds(exported(tmp_path))[0] is None


@pytest.mark.full
def test_a_comparison_leaves_out_the_run_that_lost_the_engine(tmp_path: Path) -> None:
    done = loses_its_engine_once(
        tmp_path, "compare", DEFAULT, DEFAULT, *SHORT, "--pairs", "6", "--no-freshness",
        "--export-json", "all.json", after="pair 2 of 6",
    )  # fmt: skip
    assert done.code == 1, done.err
    found = json.loads((tmp_path / "all.json").read_text("utf-8"))
    results = kinds([run["result"] for run in found["runs"]])
    assert results.count("engine down") == 1
    assert results.count(None) == 12
    assert found["metrics"]["eps"]["to_the_first"]["B"] is not None


@pytest.mark.full
def test_a_comparison_that_loses_every_engine_shows_the_pairs_it_has(tmp_path: Path) -> None:
    done = loses_every_engine(
        tmp_path, "compare", DEFAULT, DEFAULT, *SHORT, "--pairs", "6", "--no-freshness",
        after="pair 3 of 6",
    )  # fmt: skip
    assert done.code == 4, done.err
    assert "sink died with SIGKILL" in done.err
    assert "B is " in done.out


@pytest.mark.full
def test_a_sweep_goes_on_after_a_loss_and_writes_what_it_has_after_three(tmp_path: Path) -> None:
    (tmp_path / "threads.yaml").write_text(SWEEP.format(profile=DEFAULT), "utf-8")
    once = loses_its_engine_once(
        tmp_path, "sweep", "threads.yaml", "--run-dir", "once", after="block 1 of 2"
    )
    assert once.code == 1, once.err
    runs = json.loads((tmp_path / "once/sweep.json").read_text("utf-8"))["runs"]
    assert kinds([run["result"] for run in runs]).count("engine down") == 1
    assert len(runs) == 5
    ever = loses_every_engine(
        tmp_path, "sweep", "threads.yaml", "--run-dir", "ever", after="block 1 of 2"
    )
    assert ever.code == 4, ever.err
    runs = json.loads((tmp_path / "ever/sweep.json").read_text("utf-8"))["runs"]
    assert kinds([run["result"] for run in runs])[0] is None
    assert "Threads" in ever.out

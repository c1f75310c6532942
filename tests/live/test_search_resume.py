"""A search that is killed, interrupted and gone on with, with a real rsyslogd, into the sink."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.live.conftest import QUICK, daemons, tune, tune_and_signal
from tests.live.quick import SINK_PACE
from tuner.host.lock import state_folder
from tuner.search.budget import smallest_budget_s
from tuner.search.journal import recorded
from tuner.search.study import Ending, Phase

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("nothing_left_behind")]

BUDGET_S = smallest_budget_s(SINK_PACE) + 10
OPTIONS = ("--engine", "sink", "--no-effects")
BUDGET = ("--budget", f"{BUDGET_S:g}s")


def scratch_folders() -> set[str]:
    """The scratch folders on record that are there."""
    records = (state_folder() / "scratch").glob("*.json")
    folders = {json.loads(path.read_text(encoding="utf-8"))["folder"] for path in records}
    return {folder for folder in folders if Path(folder).is_dir()}


def killed(folder: Path) -> None:
    """A search with that budget, killed in its third trial; its daemons die with it."""
    before = daemons()
    process = subprocess.Popen(
        [*QUICK, "search", *OPTIONS, *BUDGET, "--run-dir", "run"], cwd=folder,
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    with process.stderr:
        told = []
        for line in process.stderr:
            told.append(line)
            if "trial   0" in line:
                break
        assert "trial   0" in told[-1], told
        journal = folder / "run" / "trials.jsonl"
        while journal.read_text(encoding="utf-8").count('"intent": ') < 3:
            time.sleep(0.02)
        process.kill()
        process.wait()
    deadline = time.monotonic() + 5
    while daemons() - before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not daemons() - before


@pytest.mark.full
def test_killed_and_interrupted_it_goes_on_to_its_end_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    killed(tmp_path)
    run = tmp_path / "run"
    scratch = scratch_folders()
    known = recorded(run).study.trials
    assert [trial.number for trial in known] == [-1, 0]

    stopped = tune_and_signal(
        "search",
        "--resume",
        "run",
        folder=tmp_path,
        number=signal.SIGINT,
        after_line="trial   2",
        command=QUICK,
    )
    assert stopped.code == 130
    left = re.findall("removed (.*), left by a killed run", stopped.err)
    assert left
    assert set(left) <= scratch
    assert not [path for path in left if Path(path).exists()]
    assert "2 trials done" in stopped.err
    assert "trial   0" not in stopped.err
    assert "to resume: rsyslog-tune search --resume run" in stopped.err
    between = recorded(run)
    assert between.study.ending is Ending.INTERRUPTED
    assert [trial.number for trial in between.study.trials] == [-1, 0, 1, 2]

    done = tune("search", "--resume", "run", "--output", "json", folder=tmp_path, command=QUICK)
    assert done.code == 0, done.err
    record = recorded(run)
    assert record.spent_s > between.spent_s
    assert record.study.trials[:4] == between.study.trials
    numbers = [trial.number for trial in record.study.trials]
    assert numbers == list(range(-1, len(numbers) - 1))
    assert len({trial.pair for trial in record.study.of(Phase.CONFIRM)}) >= 6
    assert [session.taken_over for session in record.study.sessions] == [0, 2, 4]
    assert json.loads(done.out)["study"]["header"]["budget_s"] == BUDGET_S
    assert {path.name for path in run.iterdir()} == {
        "trials.jsonl", "best.yaml", "rendered",
        "report.html", "report.md", "report.json", "trials.csv",
    }  # fmt: skip

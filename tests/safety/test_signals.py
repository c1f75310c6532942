"""F13, F14: whoever ends a search gets a search that can be resumed, and nothing left running."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.live.conftest import COMMAND, QUICK
from tests.safety.invariants import (
    records,
    require_exact,
    require_kept,
    require_no_files_left,
    require_one_cause,
)
from tests.safety.scorecard import control, row
from tests.safety.searches import RESUMED, Search, surroundings_of, tune, unguarded
from tests.search.simulated import START_S, World
from tests.search.simulated import search as finished

pytestmark = [pytest.mark.live, pytest.mark.full]

LONGEST_S = 10.0


def ended_by(
    site: Path,
    number: signal.Signals,
    times: int = 1,
    command: tuple[str, ...] = QUICK,
    after: str = "starting the lab",
) -> None:
    """A search that gets a signal, or several, at a random moment of the seconds after a line."""
    before = records(site / "run")
    with Search(site, *RESUMED, command=command) as search:
        search.await_line(after)
        time.sleep(random.uniform(0.0, LONGEST_S))
        for _ in range(times):
            search.signal(number)
            time.sleep(0.2)
        done = search.wait()
        said = "interrupted" if number == signal.SIGINT else "terminated"
        require_one_cause(done.code, 128 + number, done.err, f"rsyslog-tune: {said}")
        again = "to resume: rsyslog-tune search --resume run"
        assert again in done.err or "resuming run" not in done.err, f"no way on: {done.err}"
    found = records(site / "run")
    require_kept(before, found)
    require_exact(found)


@row("F13", runs=4)
def test_f13_ctrl_c_at_any_moment_even_twice(begun: Path, run: int) -> None:
    ended_by(begun, signal.SIGINT, times=1 + run % 2)
    require_no_files_left(begun)
    done = tune(begun, "report", "run")
    assert done.code == 0, done.err


@row("F14", runs=2)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_f14_terminated_or_its_terminal_closed(
    begun: Path, number: signal.Signals, run: int
) -> None:
    ended_by(begun, number)
    require_no_files_left(begun)


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, marks=control("F13")),
        pytest.param(signal.SIGTERM, marks=control("F14")),
    ],
)
def test_control_without_handlers(begun: Path, number: signal.Signals) -> None:
    """Before it resumes, a search that Ctrl-C ends at once has nothing more to say."""
    command, after = unguarded("leave_signals_alone"), "resuming run"
    with pytest.raises(AssertionError, match=r"exit code|is not named|a traceback|no way on"):
        ended_by(begun, number, command=command, after=after)


@row("F14")
@pytest.mark.parametrize(
    "arguments", [("report", "run"), ("search", "--resume", "run"), ("explain", "queue.type")]
)
def test_f14_nobody_reads_the_result(site: Path, arguments: tuple[str, ...], run: int) -> None:
    """As `rsyslog-tune ... | true` does."""
    (site / "run").mkdir()
    finished(site / "run", World(START_S))
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            [*COMMAND, *arguments], cwd=site, stdout=closed, stderr=subprocess.PIPE, text=True,
            check=False, timeout=300, env=surroundings_of(site),
        )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in {0, 1}, done.stderr
    assert (site / "run" / "report.html").exists() == (arguments[0] == "search")


@row("F14")
def test_f14_nobody_reads_its_messages(begun: Path, run: int) -> None:
    """Its terminal is gone, and no SIGHUP came."""
    before = records(begun / "run")
    process = subprocess.Popen(
        [*QUICK, "search", *RESUMED], cwd=begun, stdout=subprocess.DEVNULL, text=True,
        stderr=subprocess.PIPE, env=surroundings_of(begun),
    )  # fmt: skip
    assert process.stderr is not None
    next(line for line in process.stderr if "resuming" in line)
    process.stderr.close()
    assert process.wait(300) in {0, 1}
    found = records(begun / "run")
    require_kept(before, found)
    require_exact(found)
    require_no_files_left(begun)

"""F19: of two searches one is told of the other; who was killed holds nothing."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.live.conftest import COMMAND
from tests.safety.invariants import require_exact, require_kept, require_one_cause, trials
from tests.safety.scorecard import control, row
from tests.safety.searches import ON_SINK, RESUMED, Search, tune, unguarded

pytestmark = [pytest.mark.live, pytest.mark.full]

RESUMES = ("search", *RESUMED)
STARTS = ("search", *ON_SINK, "--run-dir", "run")
ELSEWHERE = ("search", *ON_SINK, "--run-dir", "other")
BUSY = {
    RESUMES: "is writing to run",
    STARTS: "is writing to run",
    ELSEWHERE: "is measuring on this machine",
}


def beside(site: Path, second: tuple[str, ...], command: tuple[str, ...] = COMMAND) -> None:
    """While one search measures, another is refused and touches nothing."""
    with Search(site, *RESUMED) as first:
        first.await_candidate()
        before = first.records()
        done = tune(site, *second, command=command)
        require_one_cause(done.code, 75, done.err, f"{BUSY[second]}.*pid {first.pid}")
        assert not (site / "other").exists()
        require_kept(before, first.records())
        first.signal(signal.SIGTERM)
        assert first.wait().code == 143
        require_exact(first.records())


@row("F19")
@pytest.mark.parametrize("second", list(BUSY), ids=["resumes", "starts", "elsewhere"])
def test_f19_the_second_is_told_who_measures(
    begun: Path, second: tuple[str, ...], run: int
) -> None:
    beside(begun, second)


@row("F19")
def test_f19_a_lock_goes_with_its_holder(begun: Path, run: int) -> None:
    with Search(begun, *RESUMED) as first:
        first.await_candidate()
        known = first.records()
        first.kill()
    with Search(begun, *RESUMED) as again:
        again.await_until(lambda: len(trials(again.records())) > len(trials(known)), "a trial")
        assert again.interrupt().code == 130


@control("F19")
def test_control_f19(begun: Path) -> None:
    with pytest.raises(AssertionError, match=r"exit code \d+, not 75"):
        beside(begun, STARTS, unguarded("ignore_locks"))

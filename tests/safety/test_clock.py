"""F18: a clock that is set while a search runs changes neither its budget nor its durations."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import pytest

from tests.live.conftest import COMMAND
from tests.safety.invariants import (
    is_scored,
    require_exact,
    require_no_files_left,
    require_one_cause,
    trials,
)
from tests.safety.scorecard import control, row
from tests.safety.searches import Search, compiled, unguarded

pytestmark = [pytest.mark.live, pytest.mark.full]

SOURCE = Path(__file__).with_name("shifted_clock.c")
BUDGET_S = 180.0
GRACE_S = 15.0
HOUR_S = 3600


class Clock:
    """The wall clock of the commands that get its environment."""

    def __init__(self, site: Path) -> None:
        self._file, library = site / "shift", compiled(SOURCE, site)
        self.set(0)
        self.environment = {"LD_PRELOAD": str(library), "CLOCK_SHIFT": str(self._file)}

    def set(self, by_s: int) -> None:
        with self._file.open("r+b" if self._file.exists() else "wb") as file:
            file.write(struct.pack("l", by_s))


def set_twice(site: Path, command: tuple[str, ...] = COMMAND) -> None:
    """An hour forward in one trial, an hour back in a later one."""
    clock = Clock(site)
    started = time.monotonic()
    options = ("--engine", "sink", "--budget", f"{BUDGET_S:g}s", "--no-effects")
    with Search(site, *options, command=command, environment=clock.environment) as search:
        for after, by_s in ((0, HOUR_S), (2, -HOUR_S)):
            search.await_after(after - 1)
            clock.set(by_s)
        done = search.wait()
        took_s = time.monotonic() - started
        require_one_cause(done.code, 0, done.err)
        found = trials(search.records())
        pairs = {one["pair"] for one in found if is_scored(one) and one["pair"] is not None}
        assert len(pairs) >= 6, f"only {len(pairs)} pairs"
        assert 0.5 * BUDGET_S < took_s < BUDGET_S + GRACE_S, f"it took {took_s:.0f} s"
        for one in found:
            lasted_s = one["ended_s"] - one["at_s"]
            assert 0 < lasted_s < BUDGET_S, f"trial {one['number']} took {lasted_s:.0f} s"
        require_exact(search.records())


@row("F18")
@pytest.mark.alone
def test_f18_a_clock_that_is_set_twice_changes_nothing(site: Path, run: int) -> None:
    set_twice(site)
    require_no_files_left(site)


@control("F18")
@pytest.mark.alone
def test_control_f18(site: Path) -> None:
    with pytest.raises(AssertionError, match=r"ended before|only \d+ pairs|exit code"):
        set_twice(site, unguarded("trust_the_wall_clock"))

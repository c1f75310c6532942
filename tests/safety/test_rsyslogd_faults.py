"""F04, F05, F06: an rsyslogd that is killed, crashes or does not end is one failed trial."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.live.conftest import QUICK
from tests.safety.invariants import (
    meanwhile,
    require_no_files_left,
    require_not_scored,
    trials,
)
from tests.safety.scorecard import control, row
from tests.safety.searches import RESUMED, Search, compiled, require_seen, unguarded

pytestmark = [pytest.mark.live, pytest.mark.full]

# Started as `rsyslogd -n -f CONFIG -i PID`; while the file `armed` is there it does otherwise.
SHIM = """\
#!/bin/sh
if [ "$1" != -n ] || [ ! -e {armed} ]; then exec {real} "$@"; fi
{otherwise}
"""
# A template that is not there: rsyslog 8.2302 crashes on it, and -N1 does too.
CRASHES = """\
broken=$(mktemp {tmp}/broken-XXXXXX)
sed 's/ template="[^"]*"/ template="nosuch"/' "$3" > "$broken"
exec {real} -n -f "$broken" -i "$5"
"""
IGNORES_SIGTERM = 'LD_PRELOAD={deaf} exec {real} "$@"\n'


class Shim:
    """An rsyslogd that stands before the real one in PATH."""

    def __init__(self, site: Path, otherwise: str) -> None:
        self._armed = site / "armed"
        real = shutil.which("rsyslogd", path=f"{os.environ['PATH']}:/usr/sbin")
        deaf = compiled(Path(__file__).with_name("deaf.c"), site)
        inner = otherwise.format(real=real, tmp=site / "tmp", deaf=deaf)
        path = site / "bin" / "rsyslogd"
        path.parent.mkdir(mode=0o755)
        path.write_text(SHIM.format(armed=self._armed, real=real, otherwise=inner), "utf-8")
        path.chmod(0o755)
        self.environment = {"PATH": f"{path.parent}:{os.environ['PATH']}"}

    def strike(self, search: Search) -> int:
        """Have the rsyslogd of the next trial do otherwise; the number of that trial, once it has
        ended."""
        struck = search.await_candidate() + 1
        self._armed.touch()
        search.await_after(struck - 1)
        self._armed.unlink()
        return struck


def killed_in_a_trial(site: Path, command: tuple[str, ...]) -> None:
    """F04."""
    with Search(site, *RESUMED, command=command) as search:
        struck, victims = search.await_candidate(), search.daemons("rsyslogd")
        while not victims:  # the trial was about to end
            struck, victims = search.await_candidate(), search.daemons("rsyslogd")
        for process in victims:
            process.kill()
        search.await_after(struck)
        require_not_scored(search.records(), struck)
        left = list(search.run.glob(f"rsyslog-tune-lab-*/trial-t{struck + 1}"))
        assert not left, f"its files are left: {left}"
        search.end()


@row("F04", runs=3)
def test_f04_a_killed_rsyslogd_is_one_failed_trial(begun: Path, run: int) -> None:
    killed_in_a_trial(begun, QUICK)
    require_no_files_left(begun)


@control("F04")
def test_control_f04(begun: Path) -> None:
    require_seen(killed_in_a_trial, begun)


def crashing_on_a_candidate(site: Path, command: tuple[str, ...]) -> None:
    """F05."""
    shim = Shim(site, CRASHES)
    with Search(site, *RESUMED, command=command, environment=shim.environment) as search:
        struck = shim.strike(search)
        require_not_scored(search.records(), struck)
        (trial,) = (one for one in trials(search.records()) if one["number"] == struck)
        assert "SIGSEGV" in trial["outcome"]["reason"]
        search.await_after(struck)
        search.end()
    assert not list(site.rglob("core*")), "a core dump is left"


@row("F05", runs=2)
def test_f05_a_crash_of_rsyslogd_is_one_failed_trial(begun: Path, run: int) -> None:
    crashing_on_a_candidate(begun, QUICK)
    require_no_files_left(begun)


@control("F05")
def test_control_f05(begun: Path) -> None:
    require_seen(crashing_on_a_candidate, begun)


def deaf_to_sigterm(site: Path, command: tuple[str, ...]) -> None:
    """F06."""
    shim = Shim(site, IGNORES_SIGTERM)
    with Search(site, *RESUMED, command=command, environment=shim.environment) as search:
        counts = [0]
        with meanwhile(lambda: counts.append(len(search.daemons("rsyslogd"))), 0.01):
            struck = shim.strike(search)
            search.await_after(struck)
        assert max(counts) == 1, f"{max(counts)} rsyslogds ran at once"
        search.end()


@row("F06", runs=2)
def test_f06_an_rsyslogd_that_ignores_sigterm_is_ended(begun: Path, run: int) -> None:
    deaf_to_sigterm(begun, QUICK)
    require_no_files_left(begun)


@control("F06")
def test_control_f06(begun: Path) -> None:
    with pytest.raises(AssertionError, match="rsyslogds ran at once"):
        deaf_to_sigterm(begun, unguarded("ask_daemons_only"))

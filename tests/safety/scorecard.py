"""The scorecard: for each fault how often it was survived, and what so few runs prove; a plugin of
pytest, which prints it at the end.

A row is `@row("F04")` on its tests, each of which counts as one run; `@control("F04")` is on the
test that shows that the row's check can fail.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median

import pytest

SOAK_S = float(os.environ.get("SOAK_SECONDS", "240"))
"""How long the soak of F26 lasts."""

ROWS = {
    "F01": "engine killed (SIGKILL) in a trial, and started again",
    "F02": "engine frozen (SIGSTOP) for 30 s in a trial",
    "F03": "engine killed for good",
    "F04": "rsyslogd killed (SIGKILL) in a trial",
    "F05": "rsyslogd crashes (SIGSEGV) on a candidate's configuration",
    "F06": "rsyslogd ignores SIGTERM",
    "F07": "the engine answers 429 to 30 % of the bulks, and to all",
    "F08": "401, 403, 413, HTML, half an answer, refused documents, resets",
    "F09": "index made read-only in a trial; cluster read-only before it",
    "F10": "disk full: rsyslogd's spool, the engine's data, the run directory",
    "F11": "network between rsyslogd and the engine cut, reset, half-open, 1 kB/s",
    "F12": "network between us and a host cut in an apply that is to be confirmed",
    "F13": "SIGINT at random moments, and again while it ends",
    "F14": "SIGTERM, SIGHUP; stdout and stderr closed",
    "F15": "SIGKILL of the search at each kind of journal line",
    "F16": "power cut: the journal as it was last synced, and a torn line",
    "F17": "journal truncated, changed, deleted, read-only, foreign",
    "F18": "wall clock set 1 h forward, then 1 h back",
    "F19": "two searches at once; a lock whose holder was killed",
    "F20": "hostile profiles: injection, bombs, sizes",
    "F21": "random candidates of the whole space on a real rsyslogd",
    "F22": "a host refuses, does not listen, does not deliver, nobody confirms, we are killed",
    "F23": "targets that nobody allowed",
    "F24": "a password in the profile, through all commands",
    "F25": "reboot in a search: everything killed, another boot id",
    "F26": f"trials in one process for {SOAK_S:g} s",
    "F27": "noisy neighbour",
}
_Z = 1.96
_RUNS: dict[str, Run] = {}
_LATE_S: dict[str, float] = {}
LATE_S = "late_s"
"""The property of a test: how many seconds after its timer a host had restored itself."""


def row(name: str, runs: int = 1) -> pytest.MarkDecorator:
    """A test of a row; one with an argument `run` is run so many times."""
    return pytest.mark.row(name, runs=runs)


def control(name: str) -> pytest.MarkDecorator:
    """A test that shows that the row's check fails where the product's guard is disabled."""
    return pytest.mark.row(name, control=True)


@dataclass(frozen=True)
class Run:
    """A test that has run, of a row or of its control."""

    row: str
    is_control: bool
    passed: bool


def least_share(passed: int, runs: int) -> float:
    """The lower bound of Wilson's 95 % interval for a share (Wilson, JASA 22, 1927)."""
    share, z2 = passed / runs, _Z * _Z
    spread = _Z * math.sqrt(share * (1 - share) / runs + z2 / (4 * runs * runs))
    return max(0.0, (share + z2 / (2 * runs) - spread) / (1 + z2 / runs))


def table(runs: Iterable[Run]) -> Iterator[str]:
    """The rows that have run, as a table in Markdown."""
    every = list(runs)
    yield "| row | fault | runs | passed | at least (95 %) | control |"
    yield "|---|---|---|---|---|---|"
    for name, fault in ROWS.items():
        tried = [one.passed for one in every if one.row == name and not one.is_control]
        controls = [one.passed for one in every if one.row == name and one.is_control]
        if tried:
            share = f"{least_share(sum(tried), len(tried)):.0%}"
            seen = ("fails as it must" if all(controls) else "SEES NOTHING") if controls else "-"
            yield f"| {name} | {fault} | {len(tried)} | {sum(tried)} | {share} | {seen} |"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        mark = item.get_closest_marker("row")
        if mark is not None:
            item.user_properties.append(("row", mark.args[0]))
            item.user_properties.append(("control", mark.kwargs.get("control", False)))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    known = dict(report.user_properties)
    if "row" not in known or report.skipped or (report.when != "call" and report.passed):
        return
    is_control = bool(known["control"])
    _RUNS[report.nodeid] = Run(str(known["row"]), is_control, report.passed)
    if LATE_S in known:
        _LATE_S[report.nodeid] = float(str(known[LATE_S]))


def _late() -> Iterator[str]:
    if _LATE_S:
        every = sorted(_LATE_S.values())
        yield (
            f"hosts had restored themselves {median(every):.1f} s after their timers' end (median "
            f"of {len(every)}), {every[-1]:.1f} s at worst"
        )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _RUNS:
        terminalreporter.section("scorecard")
        for line in (*table(_RUNS.values()), *_late()):
            terminalreporter.write_line(line)

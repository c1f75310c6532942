"""What was tested live with which rsyslogd: a plugin of pytest, which adds what the tests marked
`each_rsyslogd` gave to a file, and the table that is made of it.

The argument of the mark is the area that a test is about; those with an engine in their name count
for that engine.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tuner.engines.versions import TESTED
from tuner.host.programs import rsyslog_version

AREAS = (
    "parameters", "profiles", "trials", "inputs", "documents", "outputs", "faults", "queues",
    "impstats", "import",
)  # fmt: skip
OPTION = "--add-results"
ENGINES = tuple(f"{one.engine.value}-{one.version.rpartition('.')[0]}" for one in TESTED)
_ENGINE = re.compile("|".join(map(re.escape, ENGINES)))


class Cell(NamedTuple):
    """What the tests of an area gave with one rsyslogd; the reason is that of one that could not
    run."""

    passed: int = 0
    failed: int = 0
    reason: str = ""

    def __str__(self) -> str:
        if self.failed:
            return f"{self.failed} of {self.passed + self.failed} failed"
        return f"{self.passed} passed" if self.passed else self.reason or "-"


Tests = dict[str, dict[str, tuple[str, str, str]]]
"""By release of rsyslog and by test its area, what became of it and why it could not run."""
Results = dict[str, dict[str, Cell]]
_HEAD = "| tested live |"
_RUN: dict[str, tuple[str, str, str]] = {}


def tests_in(file: Path) -> Tests:
    """What each test gave last."""
    return json.loads(file.read_text("utf-8")) if file.exists() else {}


def read(file: Path) -> Results:
    """The results by release of rsyslog and by area."""
    return {release: _cells(tests.values()) for release, tests in tests_in(file).items()}


def _cells(tests: Iterable[tuple[str, str, str]]) -> dict[str, Cell]:
    """What the tests of each area gave; where none could run the usual reason stands for all."""
    outcomes: dict[str, list[tuple[str, str]]] = {}
    for area, outcome, reason in tests:
        outcomes.setdefault(area, []).append((outcome, reason))
    return {
        area: Cell(
            sum(outcome == "passed" for outcome, _ in each),
            sum(outcome == "failed" for outcome, _ in each),
            Counter(reason for _, reason in each).most_common(1)[0][0],
        )
        for area, each in outcomes.items()
    }


def table(results: Mapping[str, Mapping[str, Cell]]) -> str:
    """The results in Markdown, a column for each release of rsyslog."""
    releases = tuple(results)
    lines = [f"{_HEAD} {' | '.join(releases)} |", f"|{'---|' * (len(releases) + 1)}"]
    for area in (*AREAS, *ENGINES):
        cells = (str(results[one].get(area, "-")) for one in releases)
        lines.append(f"| {area} | {' | '.join(cells)} |")
    return "\n".join(lines)


def table_in(page: str) -> list[str]:
    """The lines of the table in a page's text."""
    lines = page[page.index(_HEAD) :].splitlines()
    return lines[: next(at for at, line in enumerate([*lines, ""]) if not line)]


def with_table(page: str, results: Mapping[str, Mapping[str, Cell]]) -> str:
    """A page's text with these results in its table."""
    return page.replace("\n".join(table_in(page)), table(results))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, type=Path, help="add what was tested with this rsyslogd to the file")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        mark = item.get_closest_marker("each_rsyslogd")
        if mark is not None:
            engine = _ENGINE.search(item.name)
            item.user_properties.append(("area", engine[0] if engine else mark.args[0]))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    area = dict(report.user_properties).get("area")
    if area is None or (report.when != "call" and report.passed):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    _RUN[report.nodeid] = (str(area), report.outcome, reason.removeprefix("Skipped: "))


def pytest_sessionfinish(session: pytest.Session) -> None:
    file: Path | None = session.config.getoption(OPTION)
    if file is not None and not hasattr(session.config, "workerinput"):
        results = tests_in(file)
        results.setdefault(rsyslog_version(), {}).update(_RUN)
        file.write_text(json.dumps(results), "utf-8")

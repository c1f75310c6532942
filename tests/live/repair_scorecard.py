"""The table of repairs (tests/live/repair_table.py): a plugin of pytest that prints it at the end.

A test that records a property of that name, a list of texts, is a row.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

CELL = "repairs against an outage"
_ROWS: list[Sequence[str]] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call":
        found = (cells for name, cells in report.user_properties if name == CELL)
        _ROWS.extend(cells for cells in found if isinstance(cells, list))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not _ROWS:
        return
    terminalreporter.section("repairs (events kept/in the file beside)")
    terminalreporter.write_line("| shape | input | engine | as written | changed | repairs | |")
    terminalreporter.write_line("|---|---|---|---|---|---|---|")
    for cells in _ROWS:
        terminalreporter.write_line(f"| {' | '.join(cells)} |")

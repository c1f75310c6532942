"""The table of the drill, which this plugin of pytest prints at the end."""

from __future__ import annotations

from typing import Any

import pytest

from tests.drill.judge import Verdict, table

DRILLED = "drilled"
"""The property of a test: the verdict on its scenario."""

_VERDICTS: list[Verdict] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    known: dict[str, Any] = dict(report.user_properties)
    if report.when == "call" and DRILLED in known:
        _VERDICTS.append(Verdict(**known[DRILLED]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _VERDICTS:
        terminalreporter.section("drill of diagnose")
        for line in table(_VERDICTS):
            terminalreporter.write_line(line)

"""The command that makes the reports of a search again."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.search.simulated import START_S, World, search
from tuner.cli.commands import app
from tuner.cli.files import writing_to
from tuner.search.journal import NAME

REPORTS = {"report.html", "report.md", "report.json", "trials.csv"}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    search(tmp_path, World(START_S))
    return tmp_path


def test_all_reports_are_made_from_the_journal_alone(run: Path) -> None:
    assert {path.name for path in run.iterdir()} == {NAME}
    done = CliRunner().invoke(app, ["report", str(run)])
    assert done.exit_code == 0, done.exception
    assert {path.name for path in run.iterdir()} == {NAME} | REPORTS
    assert done.stdout == (run / "report.md").read_text(encoding="utf-8") + "\n"
    assert str(run / "report.html") in done.stderr
    before = {name: (run / name).read_bytes() for name in REPORTS}
    again = CliRunner().invoke(app, ["report", str(run), "--output", "json"])
    assert json.loads(again.stdout) == json.loads(before["report.json"])
    assert {name: (run / name).read_bytes() for name in REPORTS} == before


def test_a_report_that_cannot_be_written_is_printed_and_named(run: Path) -> None:
    (run / "trials.csv").mkdir()
    done = CliRunner().invoke(app, ["report", str(run)])
    assert done.exit_code == 0
    assert "printed only: cannot write" in done.stderr
    assert "trials.csv" in done.stderr
    assert done.stdout.startswith("# rsyslog-tune: small")


def test_nothing_is_written_beside_a_search_that_still_writes(run: Path) -> None:
    with writing_to(run, "a search"):
        done = CliRunner().invoke(app, ["report", str(run)])
    assert done.exit_code == 0
    assert "printed only: " in done.stderr
    assert done.stdout.startswith("# rsyslog-tune: small")
    assert not REPORTS & {path.name for path in run.iterdir()}

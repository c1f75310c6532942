"""Operators' mistakes, and every word that `validate` says to them.

`NAME.yaml` is the mistake, `NAME.txt` what is printed and the exit code.
`pytest --accept-golden tests/broken` writes the texts anew: read them as the operator would.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.conftest import Expect
from tuner.cli.commands import app
from tuner.errors import BadProfile

HERE = Path(__file__).parent
PROFILES = sorted(HERE.glob("*.yaml"))


def said(path: Path) -> str:
    """What `rsyslog-tune validate --offline` prints, and its exit code."""
    done = CliRunner().invoke(app, ["validate", "--offline", path.name])
    if isinstance(done.exception, BadProfile):
        return f"{done.exception}\nexit {done.exception.exit_code}\n"
    return f"{done.output}exit {done.exit_code}\n"


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_a_mistake_is_told_as_it_was(
    path: Path, expect: Expect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(HERE)
    expect(path.with_suffix(".txt"), said(path))


def test_every_problem_names_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE)
    assert len(PROFILES) >= 12
    for path in PROFILES:
        lines = said(path).splitlines()
        problems = [line for line in lines if ": error: " in line or ": warning: " in line]
        assert problems, path
        for line in problems:
            name, row, column, rest = line.split(":", 3)
            assert name == path.name
            assert int(row) > 0 < int(column)
            assert rest.rstrip().endswith("]"), f"no code: {line}"

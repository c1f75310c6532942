"""Durations and choices, as people write them on the command line."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from tuner.cli.commands import app
from tuner.cli.console import Verbosity
from tuner.cli.options import duration_s, verbosity_of
from tuner.errors import BadUsage


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("1.5s", 1.5),
        ("5m", 300),
        ("1h", 3600),
        ("1m30s", 90),
        ("1h30m", 5400),
        ("1h5s", 3605),
        ("2h0m1.5s", 7201.5),
        (" 5m ", 300),
    ],
)
def test_a_duration_may_combine_units(text: str, seconds: float) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "5", "30s1m", "1m1m", "1h30", "1m 30s", "-5m", "0s", "0h0m0s", "5d", "m", "1e3s"]
)
def test_anything_else_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(BadUsage, match="is not a duration: use 90s, 5m or 1h30m"):
        duration_s(text)


def test_as_much_is_said_as_was_asked_for() -> None:
    assert verbosity_of(False, False) is Verbosity.NORMAL
    assert verbosity_of(True, False) is Verbosity.QUIET
    assert verbosity_of(False, True) is Verbosity.VERBOSE
    with pytest.raises(BadUsage, match="--quiet and --verbose cannot be combined"):
        verbosity_of(True, True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["compare", "a.yaml", "b.yaml", "--pairs", "3"], "3 does not fit: use 6 or more"),
        (["bench", "--repeat", "200"], "200 does not fit: use 100 or less"),
        (["search", "--seed", "soon"], "soon does not fit: use a whole number"),
        (["plan", "--rate", "1k", "--peak", "high"], "high does not fit: use a number"),
        (["report", "run", "--output", "xml"], "'xml' is not one of 'text', 'json'"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_what_does(
    arguments: list[str], told: str
) -> None:
    shown = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    assert shown.exit_code == 2
    assert told in shown.output
    assert "Input should" not in shown.output
    assert "Value error" not in shown.output

"""Warnings that a profile accepts, and warnings where they belong: behind what was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.profile.examples import SMALL
from tests.profile.test_base import loaded as on_base
from tuner.cli.commands import app
from tuner.errors import BadProfile, BadUsage
from tuner.lint.load import parse_profile
from tuner.lint.repairs import repairs
from tuner.profile.edit import edit

RUN = CliRunner()
LOSING = edit(SMALL, {"outputs[logs].queue.timeoutEnqueue": 2000})
ACCEPT = 'lint: {accept: {RT113: "we drop \\"old\\" news"}}\n'


def test_what_is_accepted_neither_warns_nor_is_repaired() -> None:
    before, after = parse_profile(LOSING, "p.yaml"), parse_profile(LOSING + ACCEPT, "p.yaml")
    assert [one.code for one in before.warnings] == ["RT113"]
    assert repairs(before.profile)
    assert after.warnings == ()
    assert [one.code for one in after.accepted] == ["RT113"]
    assert repairs(after.profile) == ()


def test_of_a_base_too(tmp_path: Path) -> None:
    accept = "lint: {accept: {RT408: it is in the release}}\n"
    assert "RT408" in {one.code for one in on_base(tmp_path).warnings}
    assert "RT408" not in {one.code for one in on_base(tmp_path, accept).warnings}


@pytest.mark.parametrize("codes", ["RT999", "RT113"])
def test_what_warns_of_nothing_is_said_at_its_place(codes: str) -> None:
    (found,) = parse_profile(f"{SMALL}lint:\n  accept: {{{codes}: why}}\n", "p.yaml").warnings
    last = len(SMALL.splitlines()) + 2
    assert (found.code, found.line, found.column) == ("RT023", last, 12)
    assert codes in found.message


def test_a_code_of_a_layer_that_comes_later_is_not() -> None:
    assert parse_profile(f"{SMALL}lint: {{accept: {{RT508: why}}}}\n", "p.yaml").warnings == ()


def test_an_error_is_never_accepted() -> None:
    text = edit(SMALL, {"main_queue.dequeueBatchSize": 200_000})
    with pytest.raises(BadProfile, match="RT103"):
        parse_profile(f"{text}lint: {{accept: {{RT103: why}}}}\n", "p.yaml")


@pytest.mark.parametrize("accept", ["{RT113: ''}", "{113: why}", "[RT113]"])
def test_each_code_needs_a_reason(accept: str) -> None:
    with pytest.raises(BadProfile):
        parse_profile(f"{SMALL}lint: {{accept: {accept}}}\n", "p.yaml")


def test_validate_names_it_and_strict_takes_it(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(LOSING, encoding="utf-8")
    asked = ["validate", str(path), "--offline", "--strict"]
    assert RUN.invoke(app, asked).exit_code == 1  # LintWarnings, which `run` makes 3
    path.write_text(LOSING + ACCEPT, encoding="utf-8")
    shown = RUN.invoke(app, asked)
    assert shown.exit_code == 0, shown.output
    assert 'accepted: RT113 (we drop "old" news)' in shown.stdout


def test_warnings_come_last_and_once_and_not_beside_a_usage_error(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(LOSING, encoding="utf-8")
    shown = RUN.invoke(app, ["render", str(path)])
    assert shown.exit_code == 0, shown.output
    lines = shown.output.strip().splitlines()
    assert "[RT113]" in lines[-1]
    assert sum("[RT113]" in line for line in lines) == 1
    refused = RUN.invoke(app, ["render", str(path), "--check"])
    assert isinstance(refused.exception, BadUsage)
    assert "RT113" not in refused.output

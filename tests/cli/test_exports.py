"""Results laid out for a terminal, and written to files as a whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tuner.cli.commands import app
from tuner.cli.console import OutputFormat
from tuner.cli.files import Exports
from tuner.cli.layout import show_blocks
from tuner.errors import BadUsage, JobFailed
from tuner.report.sections import Bullets, Paragraph, Table

ROOT = Path(__file__).parents[2]
TABLE = Table(
    "Runs",
    ("run", "EPS", "remarks"),
    (("1", "60,000 ± 512", "unsteady " * 20), ("2", "-", "\x1b[2Jgone")),
)


def test_a_table_cuts_nothing_and_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show_blocks((Paragraph("it"), TABLE, Bullets(("first", "second"))))
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert text.count("unsteady") == 20
    assert any("60,000 ± 512" in line for line in lines)
    assert "[U+001B][2Jgone" in text
    assert "- first" in text
    assert "|" not in text


def test_a_row_of_a_table_is_one_line_where_no_terminal_folds_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    header = tuple(f"column {number}" for number in range(8))
    show_blocks((Table("short", header, (("some few words here",) * 8,)),))
    text = capsys.readouterr().out
    (row,) = (line for line in text.splitlines() if "some" in line)
    assert row.count("some few words here") == 8


def test_results_are_exported_beside_what_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, text = tmp_path / "it.json", tmp_path / "it.md"
    Exports(data, text).publish({"kind": "compare"}, (TABLE,), OutputFormat.TEXT)
    assert json.loads(data.read_text("utf-8")) == {"kind": "compare"}
    assert "| run | EPS | remarks |" in text.read_text("utf-8")
    printed = capsys.readouterr().out
    assert "| run |" not in printed
    assert "60,000 ± 512" in printed
    assert {path.name for path in tmp_path.iterdir()} == {"it.json", "it.md"}


def test_what_cannot_be_written_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    profile = ROOT / "profiles/default.yaml"
    for command in (["bench", str(profile)], ["compare", str(profile), str(profile)]):
        missing = str(tmp_path / "missing" / "it.json")
        done = CliRunner().invoke(app, [*command, "--export-json", missing])
        assert isinstance(done.exception, JobFailed), done.exception
        assert "No such file or directory" in str(done.exception)
        folder = CliRunner().invoke(app, [*command, "--export-markdown", str(tmp_path)])
        assert "it is a folder" in str(folder.exception)


def test_a_file_is_exported_once_and_never_over_what_is_measured(tmp_path: Path) -> None:
    profile, file = tmp_path / "it.yaml", tmp_path / "it.json"
    with pytest.raises(BadUsage, match="used twice"):
        Exports(file, file).require_writable(profile)
    with pytest.raises(BadUsage, match="used twice"):
        Exports(profile, None).require_writable(profile)
    Exports(file, None).require_writable(profile)
    assert not list(tmp_path.iterdir())


def test_a_link_that_others_put_there_leads_nowhere(tmp_path: Path) -> None:
    """Neither at the name itself nor at one beside it that could be guessed."""
    theirs, file = tmp_path / "theirs", tmp_path / "it.json"
    theirs.write_text("precious", encoding="utf-8")
    for name in ("it.json", ".it.json.new", ".it.json.tmp"):
        (tmp_path / name).symlink_to(theirs)
    exports = Exports(file, None)
    exports.require_writable()
    exports.publish({}, (), OutputFormat.JSON)
    assert (theirs.read_text("utf-8"), file.read_text("utf-8")) == ("precious", "{}\n")
    assert not file.is_symlink()

"""rsyslog's own YAML where a profile or a configuration is named: a sentence with the way out."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tuner.cli.commands import app
from tuner.errors import BadProfile

NATIVE = """version: 2
modules:
  - load: imtcp
inputs:
  - {type: imtcp, port: "514"}
rulesets:
  - name: main
    statements:
      - {type: omfile, file: /var/log/all}
"""
COMMANDS = {
    "itself": "validate rsyslog.yaml",
    "for --conf": "advise --conf rsyslog.yaml",
    "of a test": "test --conf rsyslog.yaml cases.yaml",
    "measured": "bench --engine sink rsyslog.yaml",
    "searched": "search --conf rsyslog.yaml --engine sink --dry-run",
    "rendered": "render rsyslog.yaml",
    "included": "validate including.conf",
    "included in the old form": "validate old.conf",
    "as a base": "validate profile.yaml",
}


@pytest.mark.parametrize("named", COMMANDS)
def test_it_is_recognised_with_the_way_out(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "rsyslog.yaml": NATIVE,
        "including.conf": 'include(file="rsyslog.yaml")\n',
        "old.conf": "$IncludeConfig rsyslog.yaml\n",
        "profile.yaml": "name: p\nbase: {rsyslog: rsyslog.yaml}\n",
        "cases.yaml": "cases: [{name: a, line: x, outputs: []}]\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, COMMANDS[named].split())
    assert isinstance(done.exception, BadProfile)
    (problem,) = done.exception.problems
    assert problem.message == (
        "rsyslog.yaml is rsyslog's own YAML: run rsyslogd -N1 -F rainerscript -o rsyslog.conf -f "
        "rsyslog.yaml (8.2604 or newer), and name the file that it writes"
    )


def test_a_profile_that_is_not_whole_is_none_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "p.yaml").write_text("name: p\ninputs: []\nversion: 2\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["validate", "p.yaml"])
    assert isinstance(done.exception, BadProfile)
    assert "own YAML" not in str(done.exception.problems)

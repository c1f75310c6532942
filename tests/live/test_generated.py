"""Configurations of a grammar: what `import --convert` makes of each is accepted where it is, and
delivers the same, but for what the import says it does another way.

RSYSLOG_TUNE_GENERATED says how many, RSYSLOG_TUNE_GENERATED_FROM from which number on.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.live.generated import Grammar
from tuner.cli.commands import app

pytestmark = [
    pytest.mark.live,
    pytest.mark.fuzz,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

RUN = CliRunner()
FROM = int(os.environ.get("RSYSLOG_TUNE_GENERATED_FROM", "0"))
COUNT = int(os.environ.get("RSYSLOG_TUNE_GENERATED", "200"))


@pytest.mark.parametrize("number", range(FROM, FROM + COUNT))
def test_what_a_grammar_makes_is_imported_as_it_is(number: int, tmp_path: Path) -> None:
    conf = tmp_path / "site.conf"
    conf.write_text(Grammar(number).text(), encoding="utf-8")
    done = RUN.invoke(app, ["import", "--convert", str(conf), "--verify"])
    assert f"rsyslogd -N1 accepts {conf}" in done.stderr, done.stderr
    assert done.exit_code == 0, f"{done.exception}\n{done.stderr}\n{conf.read_text()}"

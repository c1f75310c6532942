"""Configurations of a grammar: what `import --convert` makes of each is accepted where it is, and
delivers the same, but for what the import says it does another way; what `import` alone makes of it
renders it byte for byte.

RSYSLOG_TUNE_GENERATED says how many, RSYSLOG_TUNE_GENERATED_FROM from which number on, and
RSYSLOG_TUNE_GENERATED_LOG keeps what they showed, so that a run goes on where the last one ended.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from subprocess import run

import pytest

from tests.live.corpus import GOOD, SAME, cases_of, state_of

pytestmark = [
    pytest.mark.live,
    pytest.mark.fuzz,
    pytest.mark.skipif(
        not all(map(shutil.which, ("rsyslogd", "unshare", "ip"))),
        reason="rsyslogd, unshare or ip is not installed",
    ),
]

FROM = os.environ.get("RSYSLOG_TUNE_GENERATED_FROM", "0")
COUNT = os.environ.get("RSYSLOG_TUNE_GENERATED", "200")
LOG = os.environ.get("RSYSLOG_TUNE_GENERATED_LOG")


def test_what_a_grammar_makes_is_imported_as_it_is(tmp_path: Path) -> None:
    log = Path(LOG or tmp_path / "corpus.jsonl")
    words = [sys.executable, "-m", "tests.live.corpus", str(log), COUNT, FROM]
    done = run(words, capture_output=True, text=True, check=False)
    cases = cases_of(log)
    assert len(cases) >= int(COUNT), done.stderr
    wrong = {
        number: state_of(one)
        for number, one in cases.items()
        if state_of(one) not in GOOD or one.get("base", SAME) != SAME
    }
    assert not wrong, done.stdout

"""The whole command on a terminal, with a real rsyslogd that indexes into the sink."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.emulator import Terminal
from tests.live.conftest import QUICK

pytestmark = [pytest.mark.live, pytest.mark.full, pytest.mark.usefixtures("nothing_left_behind")]

SEARCH = [*QUICK, "search", "--engine", "sink", "--budget", "90s", "--no-effects"]

SEEN = [
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^default, sink, seed 1 ─+$",
        r"^climbing: trial \d+, window \d s +(1 min )?\d+ s left$",
        r"^as written +[\d,]+ EPS, median of \d runs, [\d,]+ to [\d,]+$",
        r"^gain +[+-].* % \[.*\] including deferred work, estimated",
        r"^trial   0 +[\d,]+ EPS +\+0.0 %, best seen [\d,]+  \(.* left\)  the profile as written$",
    )
]


def test_a_search_is_seen_while_it_climbs_and_ctrl_c_leaves_what_it_found(tmp_path: Path) -> None:
    """Its end is looked at in tests/cli/test_search_screen.py, where trials take no time."""
    terminal = Terminal([*SEARCH, "--run-dir", "run"], 100, 30, tmp_path)
    terminal.read_until(lambda: all(one.search(terminal.text) for one in SEEN), 120)
    terminal.read_until(lambda: not terminal.has_wrapped)
    terminal.set_size(60, 20)
    narrow = re.compile(r"^[━╺╸]{58}$", re.MULTILINE)
    terminal.read_until(lambda: bool(narrow.search(terminal.text)) and not terminal.has_wrapped)
    assert not terminal.shows_cursor()
    terminal.interrupt()
    assert terminal.read_to_the_end() == 130
    assert terminal.shows_cursor()
    assert "climbing" not in terminal.text
    told = " ".join(terminal.text.split())
    assert "results so far: run/report.html" in told
    assert "to resume: rsyslog-tune search --resume run" in told

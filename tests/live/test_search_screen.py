"""The whole command on a terminal, with a real rsyslogd that indexes into the sink."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.emulator import Terminal
from tests.live.conftest import COMMAND, tune
from tuner.search.budget import SINK_PACE, smallest_budget_s

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("nothing_left_behind")]

BUDGET = f"{smallest_budget_s(SINK_PACE):g}s"
SEARCH = [str(COMMAND), "search", "--engine", "sink", "--budget", BUDGET, "--no-shrink"]


def test_a_search_is_seen_from_its_start_to_its_verdict(tmp_path: Path) -> None:
    terminal = Terminal([*SEARCH, "--run-dir", "run"], 100, 30, tmp_path)
    terminal.read_until(lambda: "climbing" in terminal.text and "best  " in terminal.text, 60)
    terminal.read_until(lambda: ", window" in terminal.text)
    for pattern in (
        r"^── default, sink, seed 1 ─+$",
        r"^climbing: trial +\d+ of about \d+, window \d s +\d+ s of \d+ (s|min \d\d s) left$",
        r"^as written +[\d,]+ EPS, median of \d runs, [\d,]+ to [\d,]+$",
        r"^gain +[+-].* % \[.*\] estimated from all trials; pairs decide$",
        r"^EPS +[▁▂▃▄▅▆▇█x]+ [\d,]+ to [\d,]+$",
    ):
        assert re.search(pattern, terminal.text, re.MULTILINE), f"{pattern}\n{terminal.text}"
    assert not terminal.has_wrapped
    terminal.set_size(60, 20)
    terminal.read_until(lambda: "── default" in terminal.text and "confirming" in terminal.text, 60)
    assert not terminal.has_wrapped
    assert terminal.read_to_the_end() == 0
    assert terminal.shows_cursor()
    left = "\n".join((*terminal.scrolled, *terminal.shown))
    assert "confirming" not in left.splitlines()[-20:]
    assert "report: run/report.html" in left
    quiet = tune("search", "--resume", "run", "-q", folder=tmp_path)
    assert (quiet.code, quiet.err) == (0, "")
    assert "events per second" in quiet.out or "No improvement shown" in quiet.out


def test_ctrl_c_in_the_middle_leaves_the_trials_and_says_how_to_go_on(tmp_path: Path) -> None:
    terminal = Terminal([*SEARCH, "--run-dir", "run"], 80, 24, tmp_path)
    terminal.read_until(lambda: "trial 1 of" in terminal.text and "window" in terminal.text, 60)
    assert not terminal.shows_cursor()
    terminal.program.sendintr()
    assert terminal.read_to_the_end() == 130
    assert terminal.shows_cursor()
    assert "calibrating" not in terminal.text
    assert re.search(
        r"^   0 +[\d,]+ +\+0.0 %  the profile as written$", terminal.text, re.MULTILINE
    )
    assert "what is known so far is in run/report.html" in terminal.text
    assert "rsyslog-tune search --resume run goes on with it" in terminal.text

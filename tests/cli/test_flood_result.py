"""What `flood` says about what it did."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tuner.cli.console import OutputFormat
from tuner.cli.traffic import show_flood
from tuner.flood.pace import Timeline, fixed
from tuner.flood.spec import FloodProgress, Punctuality

QUIET = FloodProgress(1000, 0.01, 0.0, 100.0, 100.999, False, None, 101.0)
KEPT = Punctuality(1000, 0, 0.004, 0, 100.0)
LATE = Punctuality(1000, 400, 1.25, 0, 100.0)
TIMELINE = Timeline(fixed(1000.0), 0, 100.0)


def text(final: FloodProgress, capsys: pytest.CaptureFixture[str]) -> str:
    show_flood(final, TIMELINE if final.punctuality else None, "0a1b2c3d", {}, OutputFormat.TEXT)
    return capsys.readouterr().out


def test_a_kept_pace_comes_out_as_its_rate(capsys: pytest.CaptureFixture[str]) -> None:
    assert text(replace(QUIET, punctuality=KEPT), capsys) == (
        "1,000 messages in 1.00 s (1,000 per second), 10.00 µs CPU each, 1.0% of a core\n"
    )


def test_being_blocked_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    said = text(replace(QUIET, blocked_seconds=0.5), capsys)
    assert "The sender was blocked for 0.50 s: the receiver could not keep up." in said


def test_lateness_is_said_and_judged(capsys: pytest.CaptureFixture[str]) -> None:
    said = text(replace(QUIET, punctuality=LATE), capsys)
    assert "The rate was not kept: 400 of 1,000 messages were more than 50 ms late" in said
    said = text(replace(QUIET, punctuality=replace(LATE, late=5)), capsys)
    assert "not kept" not in said
    assert "5 of 1,000 messages were more than 50 ms late, by up to 1.25 s." in said


def test_a_flood_too_short_to_judge_has_no_rate_and_no_share(
    capsys: pytest.CaptureFixture[str],
) -> None:
    brief = replace(QUIET, sent=1, last_send_s=100.0)
    assert text(brief, capsys) == (
        "1 messages in 0.00 s (too short for a rate), 10000.00 µs CPU each\n"
    )
    show_flood(brief, None, "0a1b2c3d", {}, OutputFormat.JSON)
    report = json.loads(capsys.readouterr().out)
    assert (report["achieved_per_second"], report["cpu_share"]) == (None, None)

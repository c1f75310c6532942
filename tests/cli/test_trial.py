"""`trial` before it reaches a host: the plan, hours without restarts, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.profile.examples import SMALL
from tuner.cli.commands import app
from tuner.cli.trial import quiet_hours
from tuner.deploy.block import BlockFigures, Side
from tuner.deploy.switchback import (
    Breach,
    EngineBlock,
    MarkFigures,
    Switchback,
    TrialBlock,
    TrialDesign,
    TrialGuard,
    TrialRestart,
)
from tuner.deploy.trial_file import lab_figure
from tuner.errors import BadUsage
from tuner.report.trial import plan_lines, trial_blocks, trial_json

RUN = CliRunner()
FIGURES = BlockFigures(540, 2_700_000, 32.4, 200 * 2**20, 0.1, 0, 0, 0, 0.0)


def at(hour: int, minute: int = 0) -> float:
    return datetime(2026, 11, 30, hour, minute).timestamp()


@pytest.mark.parametrize(
    ("texts", "now", "wait_s"),
    [
        (["08:00-09:00"], at(7), 0),
        (["08:00-09:00"], at(7, 50), 4200),
        (["08:00-09:00"], at(8, 30), 1800),
        (["08:00-09:00"], at(9), 0),
        (["22:00-06:00"], at(23), 7 * 3600),
        (["22:00-06:00"], at(5), 3600),
        (["08:00-09:00", "9:10-10:00"], at(8, 30), 5400),
    ],
)
def test_no_pair_reaches_into_quiet_hours(texts: list[str], now: float, wait_s: float) -> None:
    assert quiet_hours(texts).wait_s(now, 1200) == wait_s


def test_hours_that_are_none_and_a_day_without_time_are_refused() -> None:
    for text in ("8-9", "24:00-01:00", "08:61-09:00", ""):
        with pytest.raises(BadUsage, match="use 08:00-09:00"):
            quiet_hours([text])
    with pytest.raises(BadUsage, match="leaves no time"):
        quiet_hours(["00:00-12:00", "12:00-00:00"]).wait_s(at(3), 1200)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 64, "name the profile to try"),
        (["p.yaml"], 64, "name hosts"),
        (["p.yaml", "--host", "local://", "--for", "1h"], 64, "no time for a pair"),
        (["p.yaml", "--host", "local://", "--burn-in", "9m"], 64, "more than half"),
        (["p.yaml", "--host", "local://", "--not-at", "x"], 64, "use 08:00-09:00"),
        (["p.yaml", "--host", "local://"], 5, "this profile is rendered"),
        (["--resume", "."], 64, "has no trial.json"),
        (["--stop", "."], 64, "has no trial.json"),
        (["p.yaml", "--resume", "."], 64, "remove the profile"),
        (["p.yaml", "--host", "local://", "--lab", "."], 64, "--lab . has no report.json"),
        (
            ["p.yaml", "--host", "a", "--host", "b", "--elasticsearch", "http://127.0.0.1:1"],
            64,
            "add --together, or name one host",
        ),
        (["p.yaml", "--host", "local://", "--mark", "2"], 64, "add --elasticsearch URL"),
        (
            ["p.yaml", "--host", "local://", "--duet", "--mark", "2", "--not-at", "08:00-09:00"],
            64,
            "--duet runs both sides at once, with two restarts: remove --not-at, --mark",
        ),
    ],
)
def test_wrong_usage_says_what_to_do(
    words: list[str], code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "p.yaml").write_text(SMALL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = RUN.invoke(app, ["trial", *words])
    error = done.exception
    assert getattr(error, "exit_code", done.exit_code) == code
    assert said in f"{done.stderr}{error}"
    assert not list(tmp_path.glob("rsyslog-tune-runs/*"))


def record(pairs: int, cost: float = 0.8) -> Switchback:
    design = TrialDesign(pairs=pairs, seed=1)
    b = BlockFigures(540, 2_700_000, 32.4 * cost, 200 * 2**20, 0.1, 0, 0, 0, 0.0)
    alone = [TrialBlock("c1", None, Side.A, 600.0 * n, FIGURES) for n in range(4)]
    both = [
        TrialBlock("c1", pair, side, 2400.0 + 1200 * pair, figures)
        for pair in range(pairs)
        for side, figures in ((Side.A, FIGURES), (Side.B, b))
    ]
    return Switchback(design, ("c1",), (*alone, *both), begun=pairs)


def text_of(known: Switchback) -> str:
    return "\n".join(str(block) for block in trial_blocks(known))


def test_the_result_names_the_gain_the_evidence_and_what_it_cost() -> None:
    text = text_of(record(8))
    assert "less CPU per event: -20.0 %" in text
    assert "16 restarts of rsyslogd on each host" in text
    assert "counted by rsyslogd and not identified" in text
    assert trial_json(record(8))["claim"] == "less CPU per event"
    assert "too short to show anything: 3 whole pairs" in text_of(record(3))


def test_what_restarts_cost_and_what_the_engine_spent_is_said() -> None:
    restarts = tuple(TrialRestart("c1", away_s, 3, 40) for away_s in (0.4, 0.5, 1.2))
    engine = tuple(
        EngineBlock(pair, side, cpu_s, 1_000_000, 540.0, 20_000, 250.0)
        for pair in range(8)
        for side, cpu_s in ((Side.A, 20.0 + 0.1 * pair), (Side.B, 15.0 + 0.1 * pair))
    )
    text = text_of(replace(record(8), restarts=restarts, engine=engine))
    assert (
        "3 restarts of rsyslogd, which was away for 0.5 s each time (median; at most 1.2 s)" in text
    )
    assert "9 datagrams found no socket on the hosts, and at most 40 events waited" in text
    assert (
        "engine with B: 15.35 µs of CPU per event (median), 50 events a bulk request of a shard, "
        "which took 250 ms for 1,000 events" in text
    )
    assert "engine: CPU per event -24." in text
    assert "fewer than 6 pairs" in text_of(replace(record(8), engine=engine[:6]))


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.75, 0.9, "the lab holds: rsyslogd's CPU per event there"),
        (0.5, 0.6, "the lab promised more than the hosts show"),
        (0.95, 1.1, "the hosts show more than the lab promised"),
    ],
)
def test_whether_the_lab_holds_is_said_by_both_intervals(
    low: float, high: float, said: str, tmp_path: Path
) -> None:
    shown = {"verdict": {"shipper_cpu": {"ratio": (low * high) ** 0.5, "low": low, "high": high}}}
    (tmp_path / "report.json").write_text(json.dumps(shown))
    figure = lab_figure(tmp_path)
    text = text_of(replace(record(8), lab=figure))
    assert said in text
    assert "here -20.0 %" in text
    nothing = text_of(replace(record(3), lab=figure))
    assert "the hosts show nothing to hold beside it" in nothing
    (tmp_path / "report.json").write_text('{"verdict": null}')
    with pytest.raises(BadUsage, match="has no pairs of a candidate"):
        lab_figure(tmp_path)


def test_a_failed_candidate_is_said_with_its_figure() -> None:
    breaches = tuple(Breach("c1", pair, TrialGuard.DISCARDED, 31.0, 0.0) for pair in (1, 4))
    failed = Switchback(TrialDesign(pairs=8), ("c1",), record(3).blocks, breaches, begun=5)
    text = text_of(failed)
    assert "the candidate failed: c1, pair 5: events discarded: 31, A at its worst 0" in text


def test_a_plan_says_how_long_how_many_restarts_and_when_it_shows_nothing() -> None:
    lines = "\n".join(plan_lines(TrialDesign(pairs=4), ("c1", "c2")))
    assert "4 pairs of A and B, each block 10 min" in lines
    assert "8 restarts of rsyslogd on each host" in lines
    assert "A again 11 min 00 s after B began" in lines
    assert "fewer than 6 pairs can show nothing" in lines


def test_marks_are_said_with_what_is_not_known_of_them() -> None:
    marks = (
        MarkFigures(Side.A, 1200, 0, 2, 0, 1, 1.2, 2.4),
        MarkFigures(Side.B, 1190, 10, 0, 3, None, 0.9, 2.0),
    )
    text = text_of(replace(record(8), marks=marks))
    assert (
        "marks with A: 1,200 sent, 2 not found within a minute, 1 there twice, found after 1.2 s "
        "(median; 99 % within 2.4 s)" in text
    )
    assert (
        "marks with B: 1,190 sent, 0 not found within a minute, 3 still looked for when it ended, "
        "not counted again, found after 0.9 s (median; 99 % within 2.0 s), 10 more were not taken"
        in text
    )
    assert "all other events are counted by rsyslogd and not identified" in text
    (line,) = (line for line in plan_lines(TrialDesign(8), ("c1",), 2.0) if "messages" in line)
    assert line.startswith("2 messages a second go to each host, from the host and program rsyslog")


def test_a_duet_is_said_as_one() -> None:
    design = TrialDesign(pairs=8, is_duet=True)
    lines = "\n".join(plan_lines(design, ("c1", "c2")))
    assert "8 blocks in which the action runs twice, as A and as B, each block 10 min" in lines
    assert "2 restarts of rsyslogd on each host" in lines
    assert "A alone again 1 h 23 min after both began" in lines
    known = replace(record(8), design=design)
    text = text_of(known)
    assert "less CPU per event in the action's threads: -20.0 %" in text
    assert "each with half of the events, and the CPU of their own threads" in text
    assert "alone" not in text.partition("Blocks")[2]
    assert trial_json(known)["is_duet"] is True

"""The command `plan`, as a user meets it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.measure.factory import failed, measured
from tests.measure.series import benched
from tests.search.simulated import ASKED
from tuner.cli.commands import app
from tuner.errors import BadUsage, JobFailed
from tuner.measure.measurement import Outcome
from tuner.report.bench import bench_json
from tuner.search.journal import journal

RUN = CliRunner()


def bench(
    folder: Path, *outcomes: Outcome, engine: str = "elasticsearch 8.19.0", size: int = 244
) -> str:
    """The file that `bench --output json` printed."""
    found = benched(outcomes, engine, size)
    path = folder / "bench.json"
    path.write_text(json.dumps(bench_json(found)), encoding="utf-8")
    return str(path)


def planned(*arguments: str) -> dict[str, Any]:
    """The plan of one rate, as programs read it."""
    done = RUN.invoke(app, ["plan", *arguments, "--rate", "50k", "--output", "json"])
    (only,) = json.loads(done.stdout)["plans"]
    assert isinstance(only, dict)
    return only


def test_a_rate_is_enough_for_a_plan() -> None:
    done = RUN.invoke(app, ["plan", "--rate", "10M"])
    assert done.exit_code == 0
    assert done.stdout.startswith("10,000,000 events per second of 244 bytes, kept for 30 d")
    for word in ("collectors", "data nodes", "primary shards", "assumed", "year"):
        assert word in done.stdout


def test_the_plan_comes_before_the_assumptions_and_fits_a_screen() -> None:
    done = RUN.invoke(app, ["plan", "--rate", "10000", "--message-bytes", "244"])
    lines = done.stdout.splitlines()
    year = next(number for number, line in enumerate(lines) if line.strip().startswith("year"))
    assumption = next(n for n, line in enumerate(lines) if line.strip().startswith("assumption"))
    assert year < 40
    assert year < assumption


def test_the_table_stands_beside_the_one_of_2012() -> None:
    """The figures that docs/plan.md compares; where the published ones come from: tests/plan."""
    arguments = ["--rate", "10000", "--message-bytes", "244", "--gzip-ratio", "80.2"]
    lines = RUN.invoke(app, ["plan", *arguments]).stdout.splitlines()
    rows = {line.split()[0]: " ".join(line.split()) for line in lines if line.strip()}
    assert rows["week"].startswith("week 6,048,000,000 ")
    assert rows["month"].startswith("month 25,920,000,000 ")
    assert rows["year"].startswith("year 315,360,000,000 70.0 TiB 70.6 TiB ")
    assert rows["year"].endswith(" 894 GiB")


def test_the_copies_that_a_bench_made_are_not_counted_again(tmp_path: Path) -> None:
    path = bench(tmp_path, replace(measured(60_000), engine_cpu_us=20.0, copies=2))
    assert planned(path)["measured"]["figures"]["node_us"] == 10.0


def test_a_bench_is_planned_with(tmp_path: Path) -> None:
    path = bench(tmp_path, replace(measured(60_000), shipper_cpu_us=5.0), failed())
    read = planned(path)
    assert read["inputs"]["collector_us"] == {
        "value": 5.0,
        "origin": "measured",
        "why": path,
    }
    assert read["inputs"]["message_bytes"]["origin"] == "measured"
    what = "bench of prod on elasticsearch 8.19.0, 1 valid run"
    assert read["measured"]["what"] == what


def test_the_run_is_named_with_what_it_carried(tmp_path: Path) -> None:
    path = bench(tmp_path, measured(60_000))
    shown = " ".join(RUN.invoke(app, ["plan", path, "--rate", "50k"]).stdout.split())
    assert "bench of prod on elasticsearch 8.19.0, 1 valid run" in shown
    assert "together 60,000 EPS" in shown


def test_a_bench_on_the_sink_says_nothing_of_the_engine(tmp_path: Path) -> None:
    path = bench(tmp_path, measured(60_000), engine="sink")
    assert planned(path)["inputs"]["node_us"]["origin"] == "assumed"


def test_a_bench_without_a_valid_run_is_refused(tmp_path: Path) -> None:
    done = RUN.invoke(app, ["plan", bench(tmp_path, failed()), "--rate", "50k"])
    assert isinstance(done.exception, JobFailed)
    assert "no valid run" in str(done.exception)


def test_a_search_that_measured_nothing_is_refused(tmp_path: Path) -> None:
    with journal(tmp_path, ASKED):
        pass
    done = RUN.invoke(app, ["plan", str(tmp_path), "--rate", "50k"])
    assert isinstance(done.exception, JobFailed)
    assert "no valid run" in str(done.exception)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not output of `bench --output json`"),
        ("[1]", "is not output of `bench --output json`"),
        ('{"schema": 1, "kind": "plan"}', "is a plan of schema 1"),
        ('{"schema": 4, "kind": "bench"}', "is damaged at variants"),
        ("\xff\xfe", "it is not text"),
    ],
)
def test_a_file_that_is_no_bench_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text, encoding="latin-1")
    done = RUN.invoke(app, ["plan", str(path), "--rate", "50k"])
    assert isinstance(done.exception, JobFailed)
    assert said in str(done.exception)


def test_a_run_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for path, said in (
        (tmp_path / "gone", "cannot be read: no such file"),
        (tmp_path, "holds no trials.jsonl"),
    ):
        done = RUN.invoke(app, ["plan", str(path), "--rate", "50k"])
        assert isinstance(done.exception, JobFailed)
        assert said in str(done.exception)


@pytest.mark.parametrize(
    ("option", "text", "write"),
    [
        ("--rate", "0", "0: write events per second such as"),
        ("--rate", "1M,soon", "soon: write events per second such as"),
        ("--peak", "0.5", "0.5 does not fit: use 1.0 or more"),
        ("--replicas", "1.5", "use a whole number"),
        ("--retention", "30y", "30y: write a time such as"),
        ("--headroom", "30", "30: write a share such as 30% or 0.3"),
        ("--headroom", "100%", "nothing is planned for full use"),
        ("--node-disk", "8t", "8t: write a size such as 8TB (powers of 1000"),
        ("--node-eps", "many", "many: write events per second"),
    ],
)
def test_a_wrong_number_says_what_to_write(option: str, text: str, write: str) -> None:
    done = RUN.invoke(app, ["plan", "--rate", "50k", option, text])
    assert done.exit_code != 0
    assert write in re.sub("[\\s│]+", " ", done.output)


@pytest.mark.parametrize(
    ("option", "text", "figure", "value"),
    [
        ("--headroom", "30%", "headroom", 0.3),
        ("--headroom", "0.25", "headroom", 0.25),
        ("--node-disk", "8TB", "node_disk_bytes", 8e12),
        ("--node-disk", "7.5 TiB", "node_disk_bytes", 7.5 * 1024**4),
        ("--outage", "4h", "outage_s", 4 * 3600),
        ("--node-eps", "60k", "node_eps", 60_000),
    ],
)
def test_shares_and_sizes_mean_what_their_units_say(
    option: str, text: str, figure: str, value: float
) -> None:
    assert planned(option, text)["inputs"][figure]["value"] == pytest.approx(value)


def test_what_was_not_measured_is_not_called_so(tmp_path: Path) -> None:
    """36,323 EPS on the machine of the run; 4 cores at 7.3 µs an event are 547,945."""
    path = bench(tmp_path, replace(measured(36_323), shipper_cpu_us=7.3))
    shown = RUN.invoke(app, ["plan", path, "--rate", "10k"]).stdout
    (line,) = (one for one in shown.splitlines() if one.startswith(" collector carries"))
    assert re.search(r"547,945 EPS +extrapolated +15\.1 times the 36,323 EPS of", line)
    text = " ".join(shown.split())
    assert "2% of 547,945 EPS (extrapolated)" in text
    from_run = "extrapolated from the 36,323 EPS of the run: a collector to 15.1 times, a data node"
    assert from_run in text


def test_your_own_lines_give_size_and_compression(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text("a line of forty characters, more or less\n" * 1000, encoding="utf-8")
    read = planned("--sample", str(path))
    assert read["inputs"]["message_bytes"]["value"] == 40
    assert read["inputs"]["gzip_ratio"]["origin"] == "measured"
    path.write_text("\n", encoding="utf-8")
    empty = RUN.invoke(app, ["plan", "--rate", "50k", "--sample", str(path)])
    assert isinstance(empty.exception, BadUsage)


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    """Neither markup of ours nor control characters of a terminal."""
    path = tmp_path / "[red]\x1b[31mapp.log"
    path.write_text("line\n" * 10, encoding="utf-8")
    shown = RUN.invoke(app, ["plan", "--rate", "50k", "--sample", str(path)]).stdout
    assert "\x1b" not in shown
    assert "[red][U+001B][31mapp.log" in shown.replace("\n", "").replace(" ", "")


def test_several_rates_stand_side_by_side() -> None:
    done = RUN.invoke(app, ["plan", "--rate", "100k,1M,10M"])
    assert done.exit_code == 0
    rows = [line.split() for line in done.stdout.splitlines()]
    collectors = {row[0]: row[1] for row in rows if row and re.fullmatch("10*(,000)+", row[0])}
    alone = {
        rate: RUN.invoke(app, ["plan", "--rate", rate]).stdout for rate in ("100000", "10000000")
    }
    assert list(collectors) == ["100,000", "1,000,000", "10,000,000"]
    for rate, text in alone.items():
        assert f"{collectors[f'{int(rate):,}']} collectors" in text
    shown = RUN.invoke(app, ["plan", "--rate", "100k,1M", "--output", "json"]).stdout
    assert [one["plan"]["mean_eps"] for one in json.loads(shown)["plans"]] == [1e5, 1e6]

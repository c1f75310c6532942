"""What is said of the runs of a bench."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.measure.factory import SPEED, failed, measured
from tests.measure.paced import paced
from tests.measure.series import benched
from tests.measure.stages import CALM
from tuner.measure.bottleneck import Diagnosis
from tuner.measure.ceiling import Ceiling, Combination
from tuner.measure.measurement import Doubt, DoubtKind, Result
from tuner.measure.series import Series
from tuner.report.bench import bench_blocks, bench_json, read_bench
from tuner.report.markdown import blocks_markdown
from tuner.space.knob import Bottleneck

BEST = Combination(2, 5000, 126_000.0, 2_000.0, 13.26, 0.61, 0.03)
CEILING = Ceiling(
    combinations=(
        Combination(1, 5000, 90_000.0, 1_000.0, 14.0, 0.6, 0.42),
        BEST,
        Combination(4, 5000, 0.0, 0.0, 0.0, 0.0, 0.0, "HTTP 429: slow down"),
    ),
    best=BEST,
    clients=2,
    bulk=5000,
    eps=120_000.0,
    eps_se=1_500.0,
    engine_cpu_us=13.52,
    client_cpu_us=0.64,
    others_cpu=0.051,
    documents=50_000,
)


def bench_markdown(series: Series) -> str:
    return blocks_markdown(bench_blocks(series))


def bench(results: Sequence[Result]) -> Series:
    measured_series = benched(results)
    (variant,) = measured_series.variants
    changed = ("outputs[logs].servers: a -> b",)
    variant = replace(variant, substitutions=changed, freshness=paced())
    return replace(measured_series, variants=(variant,))


def with_ceiling(*rates: float) -> Series:
    return replace(bench([measured(rate) for rate in rates]), ceiling=CEILING)


def test_what_was_not_tested_stands_beside_what_was_changed() -> None:
    line = "1 of 2 actions, which got no event: a:3:1 es"
    said = replace(bench([measured(1000.0)]), untested=(line,))
    text = bench_markdown(said)
    assert f"not tested: {line}" in text
    assert text.index("not tested: ") < text.index("changed for the lab: ")
    assert read_bench(json.dumps(bench_json(said)), "b").untested == said.untested


def test_the_spread_of_cpu_per_event_stands_beside_that_of_the_rate() -> None:
    text = bench_markdown(bench([measured(60_000.0), measured(62_000.0)]))
    assert "coefficient of variation 2.3%; CPU per event of rsyslogd 0.0%, engine 0.0%" in text


def test_how_fast_the_machine_was_is_told_where_a_probe_shows_it() -> None:
    slower = replace(SPEED, zlib_us=1010.0)
    text = bench_markdown(bench([measured(6e4, speed=SPEED), measured(5e4, speed=slower)]))
    assert "took 980 µs of CPU for zlib and 180 µs for a socket pair" in text
    assert "(zlib from 950 to 1010 µs)" in text
    assert "machine speed" not in bench_markdown(bench([measured(6e4), failed()]))


def test_programs_get_everything_under_a_schema_number() -> None:
    found = bench_json(bench([measured(60_000.0), measured(62_000.0)] * 2))
    read = json.loads(json.dumps(found))
    assert (read["schema"], read["kind"], read["variants"][0]["title"]) == (4, "bench", "prod")
    assert read["variants"][0]["freshness"]["freshness_s"]["p99"] == 0.9
    assert read["runs"][0]["result"]["eps"] == 60_000.0
    assert read["ceiling"] is None


def test_what_is_doubted_is_explained_once_for_all_runs() -> None:
    disturbed = tuple(
        Doubt(DoubtKind.DISTURBED, f"{share} of the cores") for share in ("28%", "31%")
    )
    text = bench_markdown(bench([
        measured(6e4), *(replace(measured(6e4), doubts=(one,)) for one in disturbed)
    ]))  # fmt: skip
    assert text.count("| disturbed |") == 2
    (said,) = (line for line in text.splitlines() if line.startswith("- doubt"))
    assert said.startswith(
        "- doubt: 2 of 3 runs: disturbed (widens the interval; run 2: 28% of the"
    )
    assert said.endswith("measure on a quiet machine")


def test_a_failed_run_still_says_what_limited_it() -> None:
    rejected = Diagnosis(Bottleneck.REJECTIONS, (("rejections", "12 bulks"),), (), 0.0, CALM)
    text = bench_markdown(bench([replace(failed(), verdict=rejected)]))
    assert "- run 1 failed: delivery incomplete: it lost two events" in text
    assert "bottleneck: rejections" in text


def test_the_fresh_figure_is_the_ceiling_and_the_share_is_of_it() -> None:
    text = bench_markdown(with_ceiling(72_000.0))
    assert (
        "the engine's own ceiling: 120,000 ± 1,500 EPS when 2 clients send bulks of 5,000 without "
        "rsyslog (13.5 µs of engine CPU and 0.6 µs of client CPU per event), measured again "
        "while others took 5% of the cores"
    ) in text
    assert "- prod reaches 60% of it: 72,000 EPS" in text
    assert "50,000 different documents were sent repeatedly" in text


def test_every_combination_is_a_row_and_an_invalid_one_has_its_reason_and_no_figures() -> None:
    text = bench_markdown(with_ceiling(72_000.0))
    rows = [line for line in text[text.index("| clients") :].split("\n") if line.startswith("|")]
    assert rows[2:5] == [
        "| 1 | 5,000 | 90,000 ± 1,000 | 14.0 | 0.6 | 42% |  |",
        "| 2 | 5,000 | 126,000 ± 2,000 | 13.3 | 0.6 | 3% |  |",
        "| 4 | 5,000 | - | - | - | - | invalid: HTTP 429: slow down |",
    ]


def test_a_pipeline_above_the_ceiling_is_said_to_be_impossible() -> None:
    assert "measure both again" not in bench_markdown(with_ceiling(119_000.0))
    text = bench_markdown(with_ceiling(132_000.0))
    assert "prod reaches 110% of it: 132,000 EPS; it cannot exceed that, so measure both" in text


def test_programs_read_all_of_the_ceiling_and_the_share() -> None:
    found = json.loads(json.dumps(bench_json(with_ceiling(72_000.0))))
    assert found["ceiling_shares"]["prod"]["of_ceiling"] == pytest.approx(0.6)
    assert found["ceiling"]["eps"] == 120_000.0
    assert found["ceiling"]["best"]["clients"] == 2
    assert found["ceiling"]["combinations"][2]["invalid"] == "HTTP 429: slow down"


def on_machines(series: Series, *machines: str) -> Series:
    runs = zip(series.runs, machines, strict=True)
    return replace(series, runs=tuple(replace(run, machine=machine) for run, machine in runs))


FARM = on_machines(
    replace(
        with_ceiling(60e3, 30e3, 61e3, 31e3, 62e3, 32e3, 63e3, 33e3),
        phases_on=(("freshness", "north"), ("ceiling", "south")),
    ),
    *("north", "south") * 4,
)


def test_figures_of_several_machines_stand_apart_and_together() -> None:
    text = bench_markdown(FARM)
    assert "| north | 1, 3, 5, 7 | 61,490 |" in text
    assert "| south | 2, 4, 6, 8 | 31,480 |" in text
    assert "median 46,500 EPS, from 30,000 to 63,000" in text
    assert "each on one machine: freshness on north, ceiling on south" in text
    assert "prod reaches 26% of it: 31,480 EPS" in text, "the ceiling is that of its own machine"
    assert "|  | south |" in text


def test_a_machine_that_stands_out_is_named() -> None:
    levels = {"north": 60e3, "south": 61e3, "west": 59e3, "east": 30e3}
    runs = [
        measured(rate) for level in levels.values() for rate in (level, 1.01 * level, 0.99 * level)
    ]
    farm = on_machines(bench(runs), *(name for name in levels for _ in "123"))
    assert "east stands out: EPS in the steady window of prod is -50%" in bench_markdown(farm)


def test_programs_get_the_machine_of_each_run() -> None:
    found = json.loads(json.dumps(bench_json(FARM)))
    assert [run["machine"] for run in found["runs"]] == ["north", "south"] * 4
    assert read_bench(json.dumps(found), "b.json") == FARM

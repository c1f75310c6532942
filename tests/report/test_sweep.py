"""The results of an experiment: ours beside theirs, as a table, for programs and as a picture."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.measure.factory import failed, measured
from tests.measure.paced import paced
from tests.measure.series import series
from tuner.lab.written import WrittenFile
from tuner.measure.measurement import Measurement, Spent
from tuner.measure.series import Run, Series
from tuner.report.compare import sweep_blocks, sweep_json
from tuner.report.markdown import blocks_markdown
from tuner.space.experiment import Experiment

HOSTILE = 'a<b>&"$x_{1}$\u202e'


def experiment(**changes: object) -> Experiment:
    asked = {
        "name": "it", "title": "What it is", "source": "Somebody, 2013", "profile": "p.yaml",
        "variants": [{"name": "slow"}, {"name": "fast"}, {"name": "other"}],
        "metrics": ["eps", "store_bytes_per_event"],
        "published": {"eps": {"slow": 8000, "fast": 20000}},
    }  # fmt: skip
    return Experiment.model_validate(asked | changes)


@dataclass(frozen=True)
class Swept:
    """An experiment with its series."""

    asked: Experiment
    series: Series

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(json.dumps(sweep_json(self.series, self.asked)))
        return data

    def with_runs(self, runs: Iterable[Run]) -> Swept:
        return replace(self, series=replace(self.series, runs=tuple(runs)))


def swept(asked: Experiment | None = None, blocks: int = 3) -> Swept:
    runs = []
    for block in range(1, blocks + 1):
        step = 1 + block / 100
        runs.append(Run("slow", block, replace(measured(1000 * step), store_bytes=100_000)))
        runs.append(Run("fast", block, replace(measured(1500 / step), store_bytes=25_000)))
    runs.append(Run("other", 1, failed()))
    asked = asked or experiment()
    whole = series(runs, *(one.name for one in asked.all_variants))
    heap = ("heap: 4g -> 2g",)
    variants = tuple(replace(one, substitutions=heap) for one in whole.variants)
    return Swept(asked, replace(whole, variants=variants))


def markdown_of(sweep: Swept) -> str:
    return blocks_markdown(sweep_blocks(sweep.series, sweep.asked))


def row(text: str, start: str, number: int = 0) -> list[str]:
    """The cells of a row of a table; of several tables the one of that number."""
    rows = [line for line in text.splitlines() if line.startswith(f"| {start} ")]
    return [cell.strip() for cell in rows[number].strip("|").split("|")]


def test_what_restarts_of_the_engine_mean_is_told() -> None:
    assert "the engine restarted" not in markdown_of(swept())
    for blocks, said in ((3, "four blocks and more take that out"), (4, "the ratios are free of")):
        whole = swept(blocks=blocks)
        runs = tuple(
            replace(one, result=replace(one.result, spent=Spent(restart_s=20.0)))
            if isinstance(one.result, Measurement) and (one.arm == "fast") is (one.block % 2 == 0)
            else one
            for one in whole.series.runs
        )
        text = markdown_of(whole.with_runs(runs))
        assert "the engine restarted between variants and is slower just after" in text
        assert said in text


def test_ours_stands_beside_theirs_as_ratios() -> None:
    text = markdown_of(swept())
    assert row(text, "slow") == ["slow", "1,020", "1", "8,000", "1.000"]
    cells = row(text, "fast")
    assert cells[1] == "1,471"
    assert cells[2].startswith("1.442 [1.3")
    assert cells[3:] == ["20,000", "2.500"]
    assert row(text, "other") == ["other", "-", "-", "-", "-"]
    assert "published: Somebody, 2013" in text
    assert "other, block 1 failed: delivery incomplete: it lost two events" in text
    assert "changed for the lab: heap: 4g -> 2g" in text


def test_what_was_not_tested_is_told() -> None:
    whole = swept()
    said = replace(whole, series=replace(whole.series, untested=("1 of 2 actions",)))
    assert "not tested: 1 of 2 actions" in markdown_of(said)


def test_of_space_it_is_said_what_is_saved() -> None:
    """100 x (data - compressed) / data."""
    text = markdown_of(swept())
    assert row(text, "fast", 1) == ["fast", "25", "0.250 [0.250, 0.250]", "75.0 %"]


def test_one_block_has_ratios_without_intervals() -> None:
    assert row(markdown_of(swept(blocks=1)), "fast")[2] == "1.470"


def test_files_count_by_event_and_so_does_reading_them() -> None:
    asked = experiment(metrics=["file_bytes_per_event", "decompress_cpu_us"], published={})
    files = (
        WrittenFile("one", 60_000, 1000, 0.002),
        WrittenFile("two", 40_000, 1000, None),
    )
    runs = (Run("slow", 1, replace(measured(1.0), files=files)),)
    text = markdown_of(swept(asked).with_runs(runs))
    assert row(text, "slow")[1] == "100"
    assert row(text, "slow", 1)[1] == "2"


def test_a_projection_says_the_space_over_time() -> None:
    """The message counts are those of the ELMA tests up to the week."""
    asked = experiment(projection={"events_per_second": 10_000, "days": 336})
    text = markdown_of(swept(asked))
    assert row(text, "day")[1] == "864,000,000"
    assert row(text, "week")[1] == "6,048,000,000"
    assert row(text, "336 days")[1:] == ["290,304,000,000", "26.4 TiB", "6.60 TiB"]


def test_freshness_is_held_against_its_guardrail() -> None:
    asked = experiment(metrics=["freshness_p99_s"], published={}, workload={"rate": 1000})
    runs = (Run("slow", 1, paced(p99_s=0.9)), Run("fast", 1, paced(p99_s=50.0)))
    text = markdown_of(swept(asked).with_runs(runs))
    assert "slow: freshness p99 is within freshness_p99_s, 45 s" in text
    assert "fast: freshness p99 is ABOVE freshness_p99_s, 45 s" in text


def test_programs_get_every_run_and_both_ratios() -> None:
    data = swept().data
    assert (data["schema"], data["kind"]) == (4, "sweep")
    rates = data["metrics"]["eps"]
    averages = rates["averages"]
    assert averages["slow"] == pytest.approx(1019.97, abs=0.01)
    assert averages["fast"] / averages["slow"] == pytest.approx(
        rates["to_the_first"]["fast"]["ratio"]
    )
    assert rates["to_the_first"]["fast"]["pairs"] == 3
    assert rates["to_the_first"]["other"] is None
    assert data["published_to_the_first"]["eps"] == {"slow": 1.0, "fast": 2.5}
    assert len(data["runs"]) == 7
    assert data["experiment"]["title"] == "What it is"


def test_a_sweep_in_which_everything_failed_has_a_text() -> None:
    runs = tuple(Run(name, 1, failed()) for name in ("slow", "fast", "other"))
    nothing = swept().with_runs(runs)
    assert row(markdown_of(nothing), "fast")[1:3] == ["-", "-"]


def test_blocks_on_several_machines_have_a_row_each_and_name_them_to_programs() -> None:
    names = {1: "north", 2: "south", 3: "north"}
    runs = tuple(replace(run, machine=names[run.block]) for run in swept().series.runs)
    farmed = swept().with_runs(runs)
    text = markdown_of(farmed)
    assert row(text, "north")[:4] == ["north", "1, 3", "1,020", "1,471"]
    assert row(text, "south")[:2] == ["south", "2"]
    assert "other, block 1 on north failed" in text
    assert [run["machine"] for run in farmed.data["runs"]] == [names[run.block] for run in runs]

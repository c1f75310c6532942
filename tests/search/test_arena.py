from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks.arena_search import Plan, Result, run
from tests.benchmarks.arena_summary import printed, summary
from tests.benchmarks.arena_surfaces import Noise, null, simulated, table
from tests.search.toys import pool_of

ARENA = Path(__file__).parents[1] / "benchmarks" / "arena.py"
NOISE = Noise(0.05)
PLAN = Plan(24, 4, 4)


def written(path: Path, rows: list[str]) -> Path:
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    rows = ["threads,codec,mode,seconds"]
    rows += [
        f"{threads},{codec},{mode},{10 / threads + mode + (codec == 'lz4')}"
        for threads in (1, 2, 4, 8, 16)
        for codec in ("lz4", "none", "zstd")
        for mode in (0, 1, 2)
    ]
    return written(tmp_path / "grid.csv", rows)


def test_a_full_grid_is_looked_up_and_a_time_is_turned_round(grid: Path) -> None:
    surface = table(grid, "seconds", "min", set(), NOISE)
    assert pool_of(surface.space) is None
    assert math.exp(-surface.best) == pytest.approx(10 / 16)
    threads, codec, mode = surface.space.dimensions
    assert (threads.size, threads.ordered) == (5, True)
    assert (codec.size, codec.ordered) == (3, False)
    assert not mode.ordered, "the codes 0, 1, 2 are categories"


def test_what_is_not_a_full_grid_is_searched_among_its_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = ["index,a,b,c,rate"]
    rows += [f"{at},{x},{y},7,{x + y + 1}" for at, (x, y) in enumerate(rng.uniform(size=(60, 2)))]
    surface = table(written(tmp_path / "t.csv", rows), "rate", "max", {"index"}, NOISE)
    assert len(pool_of(surface.space) or ()) == 60
    assert [one.name for one in surface.space.dimensions] == ["a", "b"], "c never changes"
    places = np.array(surface.space.dimensions[0].positions)
    assert (np.diff(places) > 0).all()
    assert 0 <= places.min() < places.max() <= 1


def test_rows_of_one_configuration_are_averaged_and_failed_ones_left_out(tmp_path: Path) -> None:
    rows = ["a,b,rate", "1,1,10", "1,1,1000", "1,2,50", "2,1,", "2,2,-1", "3,1,20", "3,2,nan"]
    surface = table(written(tmp_path / "t.csv", rows), "rate", "max", set(), NOISE)
    assert len(pool_of(surface.space) or ()) == 3
    assert math.exp(surface.best) == pytest.approx(100)


def test_a_search_starts_at_a_mediocre_row_and_is_the_same_again(grid: Path) -> None:
    surface = table(grid, "seconds", "min", set(), NOISE)
    values = sorted(surface.truth(point) for point in surface.starts)
    assert values[-1] < surface.best - 0.3
    first, again = (run(surface, "default", 3, 0.05, PLAN) for _ in range(2))
    assert replace(first, own_s=0.0) == replace(again, own_s=0.0)
    assert first.ratio > math.exp(values[-1] - surface.best)


def test_gains_are_estimated_from_pairs_taken_after_the_choice(grid: Path) -> None:
    surface = table(grid, "seconds", "min", set(), NOISE)
    results = [run(surface, "random", seed, 0.05, PLAN) for seed in range(40)]
    gaps = [one.estimated_gain - one.true_gain for one in results]
    assert abs(float(np.nanmean(gaps))) < 0.02
    assert float(np.mean([one.overstated for one in results])) > 0.01


def test_where_all_is_equal_few_claim_a_gain() -> None:
    results = [run(null(NOISE), "random", seed, 0.05, Plan(20, 2, 6)) for seed in range(200)]
    assert sum(one.claimed for one in results) <= 10
    assert summary(results)["strategies"]["random"]["regret"] is None


def test_the_simulator_s_recommendation_keeps_to_the_memory() -> None:
    surface = simulated(2, NOISE)
    result = run(surface, "default", 0, 0.05, PLAN)
    assert 0 < result.ratio <= 1


def test_the_summary_weighs_every_surface_the_same() -> None:
    def one(surface: str, strategy: str, seed: int, ratio: float) -> Result:
        return Result(surface, strategy, seed, ratio, 1, True, 0.1, 0.1, 0.0, 0.2, 0.05, 1.0)

    results = [one("a", "random", seed, 0.8) for seed in range(4)]
    results += [one("a", "default", seed, 0.9) for seed in range(4)]
    results += [one("b", "random", 0, 0.5), one("b", "default", 0, 0.9)]
    found = summary(results)
    ours = found["strategies"]["default"]
    assert ours["regret"] == pytest.approx(0.1)
    assert ours["relative"] == pytest.approx(0.1 / 0.35)
    assert ours["relative_geometric"] == pytest.approx(math.sqrt(0.5 * 0.2))
    assert found["default_minus_rival"]["random"]["difference"] == pytest.approx(-0.25)
    assert "default - random" in printed(found)


def test_a_run_is_printed_as_json_and_resumed_from_its_results(grid: Path, tmp_path: Path) -> None:
    results = tmp_path / "arena.jsonl"
    command = [
        sys.executable, str(ARENA), str(grid), "--objective", "seconds", "--goal", "min",
        "--ignore", "mode", "--seeds", "2", "--budget", "24", "--strategies", "random",
        "--output", "json", "--results", str(results),
    ]  # fmt: skip
    first = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = results.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2
    results.write_text(lines[0] + "\n" + lines[1][:40], encoding="utf-8")
    again = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert json.loads(first)["strategies"]["random"]["regret"] == pytest.approx(
        json.loads(again)["strategies"]["random"]["regret"]
    )
    assert results.read_text(encoding="utf-8").startswith(lines[0] + "\n")

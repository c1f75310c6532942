"""`sweep` without a measurement: what a file would measure, and what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tuner.cli.commands import app
from tuner.errors import BadProfile

ROOT = Path(__file__).parents[2]
EXPERIMENTS = ROOT / "examples/experiments"


def planned(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, object]:
    with pytest.raises(SystemExit) as end:
        app(["sweep", str(path), "--dry-run", "--output", "json", *options])
    assert end.value.code == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("path", sorted(EXPERIMENTS.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_shipped_experiment_takes_about_five_minutes_at_most(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    about_s = planned(path, capsys)["about_s"]
    assert isinstance(about_s, float)
    assert 60 <= about_s <= 320


def test_options_make_it_shorter(capsys: pytest.CaptureFixture[str]) -> None:
    path = EXPERIMENTS / "p5-disk-queues.yaml"
    found = planned(path, capsys, "--repeats", "1", "--window", "2s", "--engine", "sink")
    assert found["repeats"] == 1
    assert found["about_s"] == pytest.approx(4 * (0.6 + 2 + 0.8) + 3)
    assert found["variants"] == ["memory", "disk, 1 lane", "disk, 2 lanes", "disk, 4 lanes"]


def test_the_time_on_a_cluster_is_said_to_be_that_of_one_machine(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as end:
        app(["sweep", str(EXPERIMENTS / "p5-disk-queues.yaml"), "--dry-run", "--cluster"])
    assert end.value.code == 0
    assert "for one machine; those of the cluster share the blocks" in capsys.readouterr().out


def test_so_is_what_the_budget_of_a_search_buys(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        app(["search", str(ROOT / "profiles/default.yaml"), "--dry-run", "--cluster"])
    assert end.value.code == 0
    assert "for one machine; those of the cluster share the trials" in capsys.readouterr().out


def test_a_bad_file_is_refused_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "it.yaml").write_text("name: it\ntitle: x\n", "utf-8")
    with pytest.raises(BadProfile, match="give exactly one of knobs and variants"):
        app(["sweep", str(tmp_path / "it.yaml")])

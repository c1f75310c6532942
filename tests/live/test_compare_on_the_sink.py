"""`compare` and `sweep` with a real rsyslogd, indexing into the sink."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.live.conftest import tune, tune_and_signal
from tuner.profile.edit import edit

pytestmark = [pytest.mark.live, pytest.mark.full, pytest.mark.usefixtures("nothing_left_behind")]

ROOT = Path(__file__).parents[2]
DEFAULT = ROOT / "profiles/default.yaml"
SHORT = ("--engine", "sink", "--window", "1s")
FILES = """\
name: files
title: Files by compression
profile: {profile}
engine: sink
variants:
  - {{name: plain, changes: {{"outputs[archive].zipLevel": null}}}}
  - {{name: gzip}}
  - {{name: zstd, changes: {{"outputs[archive].compression.driver": zstd}}}}
workload: {{rate: 5000}}
repeats: 2
window: 1s
metrics: [file_bytes_per_event, decompress_cpu_us]
published:
  file_bytes_per_event: {{plain: 200, gzip: 50}}
"""


def slower(folder: Path) -> Path:
    """The default profile with batches of one event, which costs the most of everything."""
    path = folder / "slow.yaml"
    changes = {
        "outputs[logs].queue.dequeueBatchSize": 10,
        "outputs[logs].queue.workerThreadMinimumMessages": 10,
        "outputs[logs].queue.workerThreads": 1,
    }
    path.write_text(edit(DEFAULT.read_text("utf-8"), changes), "utf-8")
    return path


@pytest.mark.alone
def test_a_profile_that_is_slower_is_shown_to_be_and_fails_the_gate(tmp_path: Path) -> None:
    done = tune("compare", DEFAULT, slower(tmp_path), *SHORT, "--pairs", 6, "--fail-below", 0.95,
                "--no-freshness", "--output", "json", folder=tmp_path)  # fmt: skip
    assert done.code == 7, done.err
    assert "below: B is shown to be under 0.95 of A" in done.err
    found = json.loads(done.out)
    assert found["difference"] == "slower"
    assert found["gate"]["decision"] == "below"
    assert found["metrics"]["eps"]["to_the_first"]["B"]["pairs"] == 6
    assert {run["result"]["delivery"]["lost"] for run in found["runs"]} == {0}
    blocks = [run["block"] for run in found["runs"]]
    assert blocks == sorted(blocks)
    firsts = {run["arm"] for run in found["runs"][::2]}
    assert firsts == {"A", "B"}


@pytest.mark.alone
def test_the_other_way_round_it_passes_with_freshness_and_the_ceiling(tmp_path: Path) -> None:
    done = tune("compare", slower(tmp_path), DEFAULT, *SHORT, "--pairs", 6, "--fail-below", 1,
                "--ceiling", folder=tmp_path)  # fmt: skip
    assert done.code == 0, done.err
    assert "B is faster than A: +" in done.out
    assert "freshness of A at " in done.out
    assert "freshness of B at " in done.out
    assert "A reaches " in done.out
    assert "gate: kept" in done.out


def test_a_run_that_breaches_a_guardrail_is_exit_6_with_its_reason(tmp_path: Path) -> None:
    hungry = tmp_path / "hungry.yaml"
    hungry.write_text(DEFAULT.read_text("utf-8") + "  rss_bytes: 20m\n", "utf-8")
    (tmp_path / "memory.yaml").write_text(
        f"name: memory\ntitle: Memory\nengine: sink\nwindow: 1s\nrepeats: 1\n"
        f"variants: [{{name: a, profile: {DEFAULT}}}, {{name: b, profile: hungry.yaml}}]\n",
        "utf-8",
    )
    done = tune("sweep", "memory.yaml", folder=tmp_path)
    assert done.code == 6
    assert "rss_bytes allows 20m" in done.err
    assert "b, block 1 failed" in done.out


def test_ctrl_c_ends_a_comparison_at_once(tmp_path: Path) -> None:
    done = tune_and_signal("compare", DEFAULT, DEFAULT, *SHORT, folder=tmp_path,
                           number=signal.SIGINT, after_line="pair 1 of 8")  # fmt: skip
    assert done.code == 130
    assert "Traceback" not in done.err


def test_files_are_measured_by_compression_and_written_beside_theirs(tmp_path: Path) -> None:
    profile = ROOT / "examples/published/p3-archive.yaml"
    (tmp_path / "files.yaml").write_text(FILES.format(profile=profile), "utf-8")
    done = tune("sweep", "files.yaml", "--run-dir", "run", "--output", "json", folder=tmp_path)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    sizes = found["metrics"]["file_bytes_per_event"]["averages"]
    assert sizes["plain"] > 150
    assert sizes["gzip"] < 0.7 * sizes["plain"]
    assert sizes["zstd"] < 0.7 * sizes["plain"]
    costs = found["metrics"]["decompress_cpu_us"]["averages"]
    assert costs["plain"] is None
    assert 0 < costs["gzip"] < 100
    assert 0 < costs["zstd"] < 100
    for run in found["runs"]:
        (written,) = run["result"]["files"]
        assert written["events"] == run["result"]["delivery"]["sent"]
    run = tmp_path / "run"
    assert {path.name for path in run.iterdir()} == {"sweep.json", "sweep.md"}
    assert "| gzip | " in (run / "sweep.md").read_text("utf-8")


def test_freshness_is_swept_at_a_fixed_rate(tmp_path: Path) -> None:
    (tmp_path / "fresh.yaml").write_text(
        f"name: fresh\ntitle: Freshness\nprofile: {DEFAULT}\nengine: sink\n"
        "variants: [{name: a}]\n"
        "workload: {rate: 2000}\nrepeats: 1\nwindow: 1s\nmetrics: [freshness_p99_s, eps]\n",
        "utf-8",
    )
    done = tune("sweep", "fresh.yaml", "--run-dir", "run", folder=tmp_path)
    assert done.code == 0, done.err
    assert "freshness p99 is within freshness_p99_s, 45 s" in done.out


def test_a_sweep_that_is_interrupted_keeps_what_it_knows(tmp_path: Path) -> None:
    profile = ROOT / "examples/published/p3-archive.yaml"
    (tmp_path / "files.yaml").write_text(FILES.format(profile=profile), "utf-8")
    done = tune_and_signal("sweep", "files.yaml", "--run-dir", "run", folder=tmp_path,
                           number=signal.SIGINT, after_line="block 1 of 2")  # fmt: skip
    assert done.code == 130
    assert len(json.loads((tmp_path / "run/sweep.json").read_text("utf-8"))["runs"]) == 1

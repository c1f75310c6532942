"""Experiment files: their variants, what they may say, and where problems are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.errors import BadProfile
from tuner.lint.load_experiment import LoadedExperiment, load_experiment
from tuner.profile.edit import edit
from tuner.profile.metric import Metric

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "examples/experiments").glob("*.yaml"))
MINIMAL = """\
name: it
title: What it is about
profile: default.yaml
"""
REFRESH = "outputs[logs].index.settings.refresh_interval"
KNOBS = f"""\
knobs:
  - {{path: "{REFRESH}", values: [1s, 5s]}}
  - {{path: "main_queue.workerThreads", values: [1, 2, 4]}}
"""


def loaded(folder: Path, text: str) -> LoadedExperiment:
    written = (ROOT / "profiles/default.yaml").read_text("utf-8")
    (folder / "default.yaml").write_text(written, "utf-8")
    (folder / "it.yaml").write_text(text, "utf-8")
    return load_experiment(folder / "it.yaml")


def problems(folder: Path, text: str) -> list[str]:
    """What is said, without the folder."""
    with pytest.raises(BadProfile) as bad:
        loaded(folder, text)
    return [str(problem).replace(f"{folder}/", "") for problem in bad.value.problems]


def test_the_values_of_knobs_are_combined(tmp_path: Path) -> None:
    found = loaded(tmp_path, MINIMAL + KNOBS).variants
    assert [one.name for one in found] == [
        f"refresh_interval={interval}, workerThreads={workers}"
        for interval in ("1s", "5s")
        for workers in (1, 2, 4)
    ]
    last = found[-1].profile
    assert last.measured.index.settings.refresh_interval == "5s"
    assert last.main_queue is not None
    assert last.main_queue.worker_threads == 4


def test_knobs_that_end_alike_are_told_apart(tmp_path: Path) -> None:
    text = f"""{MINIMAL}knobs:
  - {{path: main_queue.workerThreads, values: [1]}}
  - {{path: "outputs[logs].queue.workerThreads", values: [1, 2]}}
"""
    names = [one.name for one in loaded(tmp_path, text).variants]
    assert names == [
        "main_queue.workerThreads=1, queue.workerThreads=1",
        "main_queue.workerThreads=1, queue.workerThreads=2",
    ]


def test_changes_go_into_every_variant_and_null_takes_a_key_away(tmp_path: Path) -> None:
    text = f"""{MINIMAL}changes: {{"{REFRESH}": 30s}}
variants:
  - name: as it is
  - {{name: engine's default, changes: {{"{REFRESH}": null}}}}
"""
    first, second = loaded(tmp_path, text).variants
    assert first.profile.measured.index.settings.refresh_interval == "30s"
    assert second.profile.measured.index.settings.refresh_interval is None


def test_whole_profiles_are_variants_with_one_workload_where_the_experiment_has_it(
    tmp_path: Path,
) -> None:
    elma = (ROOT / "profiles/elma.yaml").read_text("utf-8")
    other = edit(elma, {"workload.connections": 50})
    (tmp_path / "elma.yaml").write_text(other, "utf-8")
    text = f"{MINIMAL}variants: [{{name: ours}}, {{name: theirs, profile: elma.yaml}}]\n"
    found = loaded(tmp_path, text)
    assert [one.profile.workload.connections for one in found.variants] == [5, 50]
    assert found.doubts[0].startswith("the profiles have different workloads")
    same = loaded(tmp_path, text + "workload: {connections: 9}\n")
    assert {one.profile.workload.connections for one in same.variants} == {9}
    assert same.doubts == ()


def test_a_workload_may_be_what_varies(tmp_path: Path) -> None:
    text = f"{MINIMAL}knobs: [{{path: workload.connections, values: [5, 50]}}]\n"
    found = loaded(tmp_path, text)
    assert [one.profile.workload.connections for one in found.variants] == [5, 50]
    assert found.doubts == ()


def test_a_change_that_would_do_nothing_is_refused(tmp_path: Path) -> None:
    text = f"""{MINIMAL}changes: {{workload.seed: 2}}
variants:
  - {{name: a, changes: {{workload.connections: 50}}}}
workload: {{connections: 9}}
"""
    assert [one.partition(" would")[0] for one in problems(tmp_path, text)] == [
        "it.yaml:4:11: error: workload.seed",
        "it.yaml:6:25: error: workload.connections",
    ]


def test_the_workload_of_all_may_name_a_sample(tmp_path: Path) -> None:
    (tmp_path / "own.log").write_text("one\ntwo\n" * 20, "utf-8")
    text = f"{MINIMAL}variants: [{{name: a}}]\nworkload: {{sample: own.log}}\n"
    (one,) = loaded(tmp_path, text).variants
    assert one.profile.workload.learnt is not None


def test_every_problem_comes_at_once_with_its_place(tmp_path: Path) -> None:
    text = f"""{MINIMAL}variants:
  - {{name: a, changes: {{"outputs[logs].queue.workerTreads": 2}}}}
  - {{name: b, profile: gone.yaml}}
  - name: c
    changes:
      main_queue.size: 1000
metrics: [eps]
published:
  eps: {{a: 1, e: 2}}
  engine_cpu_us: {{a: 3}}
"""
    said = problems(tmp_path, text)
    assert said[0].startswith("it.yaml:5:5: error: variant a: a profile has no setting ")
    assert "did you mean workerThreads?" in said[0]
    assert said[1].startswith("it.yaml:6:5: error: variant b: gone.yaml:1:1: error: cannot be read")
    assert said[2].startswith("it.yaml:7:5: error: variant c: default.yaml:")
    assert said[-2].startswith("it.yaml:12:15: error: there is no variant e: they are called a;")
    assert said[-1].startswith("it.yaml:13:3: error: engine_cpu_us is not among the metrics")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("name: it\ntitel: x\n", "there is no key titel: did you mean title?"),
        (MINIMAL, "give exactly one of knobs and variants"),
        (
            MINIMAL + KNOBS + "repeats: 0\n",
            "it.yaml:7:10: error: repeats must be at least 1, not 0",
        ),
        (MINIMAL + KNOBS + "window: 10\n", "window: YAML reads 10 as a number"),
        (MINIMAL + KNOBS + "window: 1h\n", "window must be whole seconds such as 10s"),
        (MINIMAL + KNOBS + "metrics: [epss]\n", "(did you mean eps?)"),
        (MINIMAL + KNOBS + "metrics: [freshness_p99_s]\n", "add workload with a rate"),
        (
            MINIMAL + KNOBS + "metrics: [freshness_p99_s, store_bytes_per_event]\n"
            "workload: {rate: 1000}\n",
            "does not show store_bytes_per_event",
        ),
        (
            MINIMAL
            + "knobs:\n"
            + "".join(
                f"  - {{path: main_queue.k{key}, values: [1, 2, 3, 4, 5, 6, 7, 8]}}\n"
                for key in range(9)
            ),
            "134217728 variants, at most 24: split it",
        ),
        (MINIMAL + "variants: [{name: a}, {name: a}]\n", "two variants are called a"),
        (MINIMAL.replace("profile: default.yaml\n", "") + KNOBS, "names no profile"),
        ("", "the experiment must be a section of keys and values"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, wanted: str) -> None:
    assert any(wanted in one for one in problems(tmp_path, text)), problems(tmp_path, text)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_experiment_is_valid_and_says_what_differs(path: Path) -> None:
    found = load_experiment(path)
    asked = found.experiment
    assert asked.name == path.stem
    assert asked.source is not None
    assert asked.repeats >= 3
    text = path.read_text("utf-8")
    assert text.startswith(f"# {path.stem[:2].upper()}")
    assert "# What differs from the original, and why:\n" in text
    assert any(metric in asked.published for metric in Metric) or path.stem.startswith("p9")


def test_the_published_experiments_are_all_there() -> None:
    assert {path.stem[:2] for path in SHIPPED} == {"p1", "p2", "p3", "p4", "p5", "p8", "p9"}

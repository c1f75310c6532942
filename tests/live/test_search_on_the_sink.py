"""The whole command with a real rsyslogd, indexing into the sink: quick, and needs no Java."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.cli.here import here
from tests.live.conftest import QUICK, tune, tune_and_signal
from tuner.cli.options import duration_s
from tuner.search.journal import read
from tuner.search.study import Study

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("nothing_left_behind")]

ROOT = Path(__file__).parents[2]


def samples(path: Path) -> dict[tuple[str, ...], float]:
    """The value of each sample by its name and the values of its labels."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(path.read_text(encoding="utf-8"))
        for sample in family.samples
    }


@pytest.mark.full
def test_a_search_ends_in_its_budget_with_a_verdict_on_six_fresh_pairs(tmp_path: Path) -> None:
    """Or names a budget that is enough, where this machine is too slow for the least; a longer one,
    where it becomes slower meanwhile."""
    search = ("search", "--engine", "sink", "--no-effects", "--metrics-file", "search.prom")
    run, budget = "run", "60s"
    done = tune(*search, "--budget", budget, "--run-dir", run, folder=tmp_path)
    while "no time is left for the 6 pairs" in done.err:
        advised = re.search(r"\nnext: .* --budget (\d+m)", done.out)
        assert advised is not None
        assert duration_s(advised[1]) > duration_s(budget)
        run, budget = f"run-{advised[1]}", advised[1]
        done = tune(*search, "--budget", budget, "--run-dir", run, folder=tmp_path)
    assert done.code == 0, done.err
    told = [line for line in done.err.splitlines() if "the budget is enough for" in line]
    assert len(told) == len(set(told)) > 0
    assert "\nnext: rsyslog-tune " in done.out
    assert_metrics(tmp_path / "search.prom", duration_s(budget))
    assert_finished(tmp_path / run)
    again = tune_and_signal(
        "search", "--engine", "sink", "--budget", budget, "--warm-start", run, "--run-dir", "next",
        folder=tmp_path, number=signal.SIGINT, after_line=f"found by {run}",
    )  # fmt: skip
    assert again.code == 130
    assert f"{run} gives " in again.err
    assert "points to begin with" in again.err


def assert_finished(run: Path, *, is_itemised: bool = True) -> None:
    """All files are there, the verdict is that of six fresh pairs or more, every event of every
    trial is accounted for, and the profile handed over is valid."""
    assert {path.name for path in run.iterdir()} == {
        "trials.jsonl", "best.yaml", "rendered",
        "report.html", "report.md", "report.json", "trials.csv",
    }  # fmt: skip
    study = read(run)
    pairs = {trial.pair for trial in study.trials if trial.pair is not None}
    assert len(pairs) >= 6
    for trial in study.trials:
        if trial.measurement is not None:
            assert trial.measurement.delivery.exact
    report = json.loads((run / "report.json").read_text(encoding="utf-8"))
    if is_itemised:
        assert_itemised(study, report["times"])
    low, ratio, high = (report["verdict"]["eps"][key] for key in ("low", "ratio", "high"))
    assert low <= ratio <= high
    assert tune("validate", run / "best.yaml", folder=run.parent).code == 0


def assert_metrics(path: Path, budget_s: float) -> None:
    """The metrics tell that it has ended, and with what."""
    found = samples(path)
    assert found["rsyslog_tune_running",] == 0
    assert found["rsyslog_tune_phase", "confirm"] == 1
    assert found["rsyslog_tune_remaining_seconds",] < budget_s
    low, high = (found["rsyslog_tune_confirmed_gain_ratio", bound] for bound in ("low", "high"))
    assert low < high
    best = found["rsyslog_tune_best_events_per_second",]
    assert best >= found["rsyslog_tune_baseline_events_per_second",] > 100


@pytest.mark.full
def test_a_profile_that_breaches_its_own_guardrails_is_left_alone(tmp_path: Path) -> None:
    written = (ROOT / "profiles" / "default.yaml").read_text(encoding="utf-8")
    (tmp_path / "p.yaml").write_text(written + "  rss_bytes: 20m\n", encoding="utf-8")
    done = tune("search", "p.yaml", "--engine", "sink", "--budget", "60s", "--run-dir", "run",
                folder=tmp_path, command=QUICK)  # fmt: skip
    assert done.code == 6
    assert "breaches its own guardrails: rsyslogd used" in done.err
    assert "rss_bytes allows 20m" in done.err


def assert_itemised(study: Study, took: dict[str, Any]) -> None:
    """Every trial says where its time went, and all of it is in the report once."""
    parts_s = [took["starts_s"], took["restarts_s"], took["between_s"]]
    trials_s = sum(one["seconds"] for one in took["phases"])
    assert sum(parts_s) + trials_s == pytest.approx(took["total_s"])
    assert 0 < took["between_s"] < 0.1 * took["total_s"]
    assert took["overhead"]["trials"] > 0
    for trial in study.trials:
        spent = trial.outcome.spent
        assert spent is not None
        assert spent.total_s == pytest.approx(trial.outcome.total_s)
        assert spent.total_s <= trial.ended_s - trial.at_s
        if trial.measurement is not None:
            assert min(spent.start_s, spent.drain_s, spent.settle_s, spent.stop_s) > 0
            assert spent.warm_up_s >= trial.plan.warm_up_s
            assert spent.window_s >= trial.measurement.window_s


@pytest.mark.full
def test_the_report_can_be_made_again_from_the_journal_alone(tmp_path: Path) -> None:
    search = ("search", "--engine", "sink", "--budget", "60s", "--run-dir", "run")
    stopped = tune_and_signal(
        *search, folder=tmp_path, number=signal.SIGINT, after_line="trial   1"
    )
    assert stopped.code == 130
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run" / "trials.jsonl").rename(tmp_path / "elsewhere" / "trials.jsonl")
    again = tune("report", "elsewhere", folder=tmp_path)
    assert again.code == 0
    assert again.out.rstrip() == (tmp_path / "run" / "report.md").read_text("utf-8").rstrip()


@pytest.mark.parametrize(
    ("number", "code", "after_line"),
    [
        (signal.SIGINT, 130, "trial   0"),
        pytest.param(signal.SIGTERM, 143, "starting the lab", marks=pytest.mark.full),
    ],
)
def test_a_signal_ends_everything(
    tmp_path: Path, number: signal.Signals, code: int, after_line: str
) -> None:
    done = tune_and_signal("search", "--engine", "sink", "--budget", "60s", "--run-dir", "run",
                           folder=tmp_path, number=number, after_line=after_line,
                           command=QUICK)  # fmt: skip
    assert done.code == code
    assert "Traceback" not in done.err
    left = {path.name for path in (tmp_path / "run").glob("*")}
    assert not {name for name in left if name.startswith("rsyslog-tune-lab")}
    if after_line != "starting the lab":
        assert "report.html" in left


def test_a_run_directory_that_cannot_be_written_fails_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    done = here("search", "--engine", "sink", "--budget", "60s", "--run-dir", "file/run")
    assert done.code == 1
    assert "file/run" in done.err
    assert "starting" not in done.err


def test_a_budget_too_small_names_the_smallest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = here("search", "--engine", "sink", "--budget", "5s")
    assert done.code == 64
    assert "is too small for a search and six pairs: use " in done.err
    assert not list(tmp_path.iterdir())


def test_the_local_profile_is_taken_and_its_problems_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rsyslog-tune.yaml").write_text("name: x\nsize: 3\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = here("search", "--engine", "sink", "--budget", "60s")
    assert done.code == 78
    assert "rsyslog-tune.yaml:2:1" in done.err


@pytest.mark.full
def test_a_second_search_at_the_same_time_is_told_who_holds_the_machine(tmp_path: Path) -> None:
    import subprocess

    from tests.live.conftest import COMMAND

    first = subprocess.Popen(
        [*COMMAND, "search", "--engine", "sink", "--budget", "60s", "--run-dir", "first"],
        cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert first.stderr is not None
    with first.stderr:
        next(line for line in first.stderr if "first trial" in line)
        done = tune("search", "--engine", "sink", "--budget", "60s", "--run-dir", "second",
                    folder=tmp_path)  # fmt: skip
        first.send_signal(signal.SIGTERM)
        first.wait(10)
    assert done.code == 75
    assert str(first.pid) in done.err
    assert not (tmp_path / "second").exists()


def test_a_cluster_that_does_not_answer_is_exit_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = here("search", "--elasticsearch", "http://127.0.0.1:9", "--budget", "5m")
    assert done.code == 4
    assert "does not answer" in done.err


def test_a_cluster_elsewhere_is_refused_unless_this_machine_allows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = here("search", "--elasticsearch", "http://es.example:9200", "--budget", "5m")
    assert done.code == 5
    assert "es.example" in done.err

"""The file of `--metrics-file`: whole at every moment, and none of a measurement's business."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tuner.cli.files import running_metrics
from tuner.errors import JobFailed
from tuner.report.metrics import Gauges

GAUGES = Gauges("prod", 0.0)


def test_it_says_that_a_run_goes_on_until_it_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "run.prom"
    with running_metrics(path, GAUGES) as metrics:
        assert "rsyslog_tune_running 1.0" in path.read_text(encoding="utf-8")
        metrics.update(replace(metrics.gauges, trial=3))
        assert "rsyslog_tune_trial_number 3.0" in path.read_text(encoding="utf-8")
    assert "rsyslog_tune_running 0.0" in path.read_text(encoding="utf-8")
    assert "rsyslog_tune_trial_number 3.0" in path.read_text(encoding="utf-8")


def test_a_run_that_fails_goes_on_no_more(tmp_path: Path) -> None:
    with pytest.raises(JobFailed), running_metrics(tmp_path / "run.prom", GAUGES):
        raise JobFailed
    assert "rsyslog_tune_running 0.0" in (tmp_path / "run.prom").read_text(encoding="utf-8")


def test_it_is_replaced_as_a_whole_and_everyone_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "run.prom"
    before = os.umask(0o077)
    try:
        with running_metrics(path, GAUGES) as metrics, path.open(encoding="utf-8") as reader:
            metrics.update(replace(metrics.gauges, trial=3))
            assert "rsyslog_tune_trial_number 0.0" in reader.read()
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o644
    assert [one.name for one in tmp_path.iterdir()] == ["run.prom"]


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(
    tmp_path: Path,
) -> None:
    path = tmp_path / "nowhere" / "run.prom"
    with pytest.raises(JobFailed, match=r"cannot write .*run.prom: No such file"):
        running_metrics(path, GAUGES).__enter__()


def test_a_file_that_cannot_be_written_any_more_does_not_end_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "collector"
    folder.mkdir()
    with running_metrics(folder / "run.prom", GAUGES) as metrics:
        (folder / "run.prom").unlink()
        folder.rmdir()
        metrics.update(GAUGES)
        metrics.update(GAUGES)
    assert capsys.readouterr().err.count("cannot write") == 1


def test_without_a_path_nothing_is_written(tmp_path: Path) -> None:
    with running_metrics(None, GAUGES) as metrics:
        metrics.update(replace(metrics.gauges, trial=3))
    assert metrics.gauges.trial == 3


def test_a_link_at_a_name_beside_it_is_not_followed(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("precious", encoding="utf-8")
    (tmp_path / ".run.prom.new").symlink_to(theirs)
    with running_metrics(tmp_path / "run.prom", GAUGES):
        assert theirs.read_text(encoding="utf-8") == "precious"

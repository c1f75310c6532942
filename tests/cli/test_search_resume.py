"""`search --resume`, as far as it goes without a lab."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.profile.test_base import CONF as BASE
from tests.profile.test_base import loaded as base_of
from tests.search.simulated import ASKED, START_S, TEXT, World, search
from tuner.cli.commands import app
from tuner.cli.files import new_run_directory, writing_to
from tuner.cli.search_session import (
    Stopwatch,
    has_changed,
    require_same,
    resumed_job,
)
from tuner.errors import BadUsage, JobFailed, Locked, Refused
from tuner.lint.load import load_profile, parse_profile
from tuner.search.journal import ASIDE, NAME, recorded
from tuner.search.study import Fingerprint, Header

RUN = CliRunner()


def resume(folder: Path, *options: str) -> Result:
    return RUN.invoke(app, ["search", "--resume", str(folder), *options])


def failure(shown: Result, kind: type[Exception]) -> str:
    assert isinstance(shown.exception, kind), shown.exception
    return str(shown.exception)


def damage(folder: Path, number: int) -> bytes:
    """Change a letter in a line of the journal; the text it had."""
    text = (folder / NAME).read_bytes()
    lines = text.splitlines(keepends=True)
    lines[number - 1] = lines[number - 1].replace(b'_s"', b'_S"', 1)
    (folder / NAME).write_bytes(b"".join(lines))
    return text


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--budget", "30m"], "--budget"),
        (["--seed", "1"], "--seed"),
        (["--engine", "node"], "--engine"),
        (["--no-effects"], "--effects"),
        (["other.yaml", "--run-dir", "x"], "the profile, --run-dir"),
    ],
)
def test_options_that_would_make_it_another_search_are_refused_at_once(
    tmp_path: Path, options: list[str], named: str
) -> None:
    message = failure(resume(tmp_path, *options), BadUsage)
    assert message == f"--resume keeps the options of the search: remove {named}"


def test_a_folder_that_no_search_wrote_stays_as_it_is(tmp_path: Path) -> None:
    assert "is not a run directory" in failure(resume(tmp_path), JobFailed)
    assert list(tmp_path.iterdir()) == []
    assert "nowhere" in failure(resume(tmp_path / "nowhere"), JobFailed)
    assert not (tmp_path / "nowhere").exists()


def test_a_search_that_was_finished_is_told_again(tmp_path: Path) -> None:
    search(tmp_path, World(START_S))
    before = (tmp_path / NAME).read_bytes()
    shown = resume(tmp_path, "--output", "json", "--quiet")
    assert shown.stderr == ""
    assert shown.exit_code == 0, shown.exception
    assert json.loads(shown.stdout)["verdict"]["claim"] == "improvement shown"
    names = {path.name for path in tmp_path.iterdir()}
    reports = {"report.html", "report.md", "report.json", "trials.csv"}
    assert names == {NAME, "best.yaml", "rendered"} | reports
    assert (tmp_path / NAME).read_bytes() == before


def test_a_damaged_journal_is_set_aside_with_what_can_be_kept(tmp_path: Path) -> None:
    search(tmp_path, World(START_S))
    damage(tmp_path, 30)
    damaged = (tmp_path / NAME).read_bytes()
    message = failure(resume(tmp_path), JobFailed)
    assert f"{tmp_path / NAME}:30: the journal is damaged" in message
    assert f"renamed to {tmp_path / ASIDE}" in message
    assert {path.name for path in tmp_path.iterdir()} == {ASIDE}
    assert (tmp_path / ASIDE).read_bytes() == damaged
    assert "no trials.jsonl" in failure(resume(tmp_path), JobFailed)
    command = message.partition("from there, run ")[2]
    subprocess.run(["sh", "-c", command], check=True)
    assert len((tmp_path / NAME).read_bytes().splitlines()) == 29
    again = search(tmp_path, World(START_S))
    assert [trial.number for trial in again.trials] == list(range(-1, len(again.trials) - 1))


def test_a_report_names_the_damage_and_changes_nothing(tmp_path: Path) -> None:
    search(tmp_path, World(START_S))
    damage(tmp_path, 30)
    damaged = (tmp_path / NAME).read_bytes()
    shown = RUN.invoke(app, ["report", str(tmp_path)])
    assert f"{NAME}:30: the journal is damaged" in failure(shown, JobFailed)
    assert (tmp_path / NAME).read_bytes() == damaged


def test_a_journal_of_another_version_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text('{"header": {"schema": 2}}\n', encoding="utf-8")
    for shown in (resume(tmp_path), RUN.invoke(app, ["report", str(tmp_path)])):
        assert "has schema 2" in failure(shown, JobFailed)
    assert {path.name for path in tmp_path.iterdir()} == {NAME}


def test_the_report_of_a_search_that_was_killed_is_made_from_its_journal(tmp_path: Path) -> None:
    search(tmp_path, World(START_S))
    lines = (tmp_path / NAME).read_bytes().splitlines(keepends=True)
    (tmp_path / NAME).write_bytes(b"".join(lines[:50]) + lines[50][:20])
    shown = RUN.invoke(app, ["report", str(tmp_path)])
    assert shown.exit_code == 0, shown.exception
    assert "The search was interrupted" in shown.stdout


def test_while_one_writes_to_a_run_directory_another_is_told_who_it_is(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"")
    with writing_to(tmp_path, "a report"):
        message = failure(resume(tmp_path), Locked)
        with pytest.raises(Locked), new_run_directory(tmp_path, "x"):
            raise AssertionError
    assert f"another run is writing to {tmp_path}: a report, pid {os.getpid()}, since" in message
    assert {path.name for path in tmp_path.iterdir()} == {NAME}


def test_a_run_directory_is_gone_unless_something_was_written(tmp_path: Path) -> None:
    with new_run_directory(tmp_path / "one" / "two", "x") as folder:
        assert folder.is_dir()
    assert not folder.exists()
    with new_run_directory(tmp_path / "three", "x") as folder:
        (folder / NAME).touch()
    with pytest.raises(BadUsage, match="not empty"), new_run_directory(folder, "x"):
        raise AssertionError
    assert {path.name for path in folder.iterdir()} == {NAME}


def test_a_profile_that_was_edited_since_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(TEXT, encoding="utf-8")
    loaded = load_profile(path)
    assert not has_changed(loaded)
    path.write_text(TEXT.replace("50000", "60000"), encoding="utf-8")
    assert has_changed(loaded)
    path.unlink()
    assert not has_changed(loaded)


def test_a_base_that_changed_since_is_refused(tmp_path: Path) -> None:
    loaded = base_of(tmp_path, conf=BASE)
    begun_with = parse_profile(loaded.text, str(loaded.path), beside=loaded.beside)
    assert not has_changed(begun_with)
    path = tmp_path / "rsyslog.conf"
    path.write_text(BASE.replace("20000", "30000"), encoding="utf-8")
    with pytest.raises(Refused, match=f"{path}, its base, has changed since: start a new search"):
        has_changed(begun_with)


def test_a_search_that_is_resumed_has_what_is_left_of_its_budget(tmp_path: Path) -> None:
    search(tmp_path, World(START_S))
    record = recorded(tmp_path)
    assert record.spent_s > 100
    started_s = time.monotonic() - 7
    job = resumed_job(tmp_path, record, Stopwatch(started_s), on_cluster=False)
    assert job.budget_s == record.study.header.budget_s
    assert record.spent_s + 7 <= job.clock() < record.spent_s + 60


HERE = Fingerprint("8.2302.0", "elasticsearch 8.19.3, heap 2g", "2 cores, 8.0 GiB", "0123")
BEGUN = replace(ASKED, fingerprint=HERE)


def on(here: Fingerprint) -> Header:
    return replace(BEGUN, fingerprint=here)


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (on(replace(HERE, rsyslog="8.2512.0")), "rsyslog was 8.2302.0, is 8.2512.0"),
        (on(replace(HERE, engine="sink")), "engine was elasticsearch 8.19.3, heap 2g"),
        (on(replace(HERE, hardware="4 cores")), "hardware was 2 cores, 8.0 GiB, is 4"),
        (on(replace(HERE, workload="4567")), "workload was 0123, is 4567"),
        (replace(BEGUN, space=()), "its settings or their levels have changed"),
    ],
)
def test_what_does_not_compare_is_not_gone_on_with(now: Header, reason: str) -> None:
    with pytest.raises(Refused, match="cannot be resumed here") as raised:
        require_same(BEGUN, now)
    assert reason in str(raised.value)


def test_some_of_the_machines_are_enough_to_go_on_with() -> None:
    both = replace(HERE, hardware="2 cores and 4 cores")
    require_same(on(both), on(replace(HERE, hardware="4 cores")))
    with pytest.raises(Refused, match="hardware was 4 cores, is 2 cores and 4 cores"):
        require_same(on(replace(HERE, hardware="4 cores")), on(both))


def test_the_same_place_at_another_time_is_gone_on_with() -> None:
    later = replace(ASKED, started="tomorrow", command="rsyslog-tune search --resume x")
    require_same(ASKED, later)


def test_other_versions_of_what_decides_do_not_refuse() -> None:
    before = replace(ASKED, libraries=("numpy 2.4.6", "scipy 1.17.1"))
    now = replace(before, tool="rsyslog-tune 9", libraries=("numpy 2.5.0", "scipy 1.17.1"))
    require_same(before, now)

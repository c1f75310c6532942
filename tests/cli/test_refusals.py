"""What cannot be measured is refused before anything starts, by every command and plan alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tuner.cli.commands import app
from tuner.errors import BadUsage, JobFailed, ProgramMissing, Refused
from tuner.host.programs import CHOSEN_RSYSLOGD
from tuner.profile.edit import edit

RUN = CliRunner()
ROOT = Path(__file__).parents[2]
WRITTEN = (ROOT / "profiles/default.yaml").read_text("utf-8")
GONE = ("address", "port", "threads", "processOnPoller")
PARSED = edit(
    WRITTEN,
    {
        **{f"inputs[0].{key}": None for key in GONE},
        "inputs[0].type": "imfile",
        "inputs[0].file": "/var/log/app.log",
        "inputs[0].tag": "app",
        "parse": {"format": "json", "cookie": ""},
        "global": {"workDirectory": "/var/spool/rsyslog"},
    },
)
SWEEP = """\
name: two
title: Two profiles
profile: parsed.yaml
variants: [{name: as written}, {name: two, changes: {"outputs[logs].queue.workerThreads": 2}}]
metrics: [eps]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("plain.yaml").write_text(WRITTEN, "utf-8")
    Path("parsed.yaml").write_text(PARSED, "utf-8")
    Path("sweep.yaml").write_text(SWEEP, "utf-8")
    return tmp_path


def refused(kind: type[Exception], *arguments: str) -> str:
    """Why a command refuses; it has said nothing before that."""
    shown = RUN.invoke(app, arguments)
    assert isinstance(shown.exception, kind), (shown.exception, shown.output)
    assert shown.output == ""
    return str(shown.exception)


@pytest.mark.parametrize(
    "command",
    [
        ("search", "parsed.yaml", "--dry-run"),
        ("search", "parsed.yaml"),
        ("search", "parsed.yaml", "--engine", "sink"),
        ("search", "parsed.yaml", "--elasticsearch", "http://127.0.0.1:9"),
        ("bench", "parsed.yaml"),
        ("compare", "plain.yaml", "parsed.yaml"),
        ("compare", "parsed.yaml", "plain.yaml"),
        ("sweep", "sweep.yaml", "--dry-run"),
        ("sweep", "sweep.yaml"),
        ("lab", "up", "parsed.yaml"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_measured_is_refused_before_anything_starts(
    folder: Path, command: tuple[str, ...]
) -> None:
    why = refused(Refused, *command)
    assert "mmjsonparse would take apart lines of a file" in why
    written = {"plain.yaml", "parsed.yaml", "sweep.yaml"}
    assert {path.name for path in folder.iterdir()} == written


@pytest.mark.parametrize("more", [("--dry-run",), ()], ids=["plan", "search"])
def test_a_search_without_anything_to_search_is_refused_before_anything_starts(
    folder: Path, more: tuple[str, ...]
) -> None:
    Path("plain.yaml").write_text(WRITTEN + "search: {only: [node.heap]}\n", "utf-8")
    why = refused(BadUsage, "search", "plain.yaml", "--engine", "sink", *more)
    assert why.startswith("no settings are left to search here")


@pytest.mark.parametrize("command", ["bench", "search"])
def test_a_missing_program_is_named_before_anything_is_fetched(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("tuner.host.programs.javas", tuple)
    assert "no Java from 17 to 25 is installed" in refused(ProgramMissing, command, "plain.yaml")


@pytest.mark.parametrize("more", [(), ("--output", "github"), ("--strict",)], ids=" ".join)
def test_validate_without_rsyslogd_keeps_no_job_green(
    folder: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    monkeypatch.setattr("tuner.host.programs.find", lambda _: None)
    monkeypatch.delenv(CHOSEN_RSYSLOGD, raising=False)
    shown = RUN.invoke(app, ["validate", "plain.yaml", *more])
    assert isinstance(shown.exception, ProgramMissing)
    why = str(shown.exception)
    assert why.startswith("plain.yaml: rsyslogd -N1 did not run: rsyslogd is not installed: ")
    assert why.endswith("; --offline leaves it out")
    if "--output" not in more:
        assert "lint           ok\nrsyslogd -N1   not run: rsyslogd is not inst" in shown.stdout
    assert RUN.invoke(app, ["validate", "plain.yaml", "--offline", *more]).exit_code == 0


MEASURING = [
    ("search", "plain.yaml"),
    ("bench", "plain.yaml"),
    ("compare", "plain.yaml", "plain.yaml"),
    ("sweep", "two.yaml"),
]


@pytest.fixture
def two(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep that could be measured, and no cluster."""
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    Path("two.yaml").write_text(SWEEP.replace("parsed", "plain"), "utf-8")


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("command", MEASURING, ids=lambda one: one[0])
def test_without_a_cluster_it_is_said_how_to_start_one(command: tuple[str, ...]) -> None:
    why = refused(JobFailed, *command, "--cluster", "--engine", "sink")
    assert why.startswith("no cluster is up; start one with: rsyslog-tune cluster up")


REPLAYING = [("search", "own.yaml", "--dry-run"), ("bench", "own.yaml"), ("sweep", "own-sweep.yaml",
             "--dry-run")]  # fmt: skip


@pytest.mark.parametrize("command", REPLAYING, ids=" ".join)
def test_a_missing_file_to_replay_is_named_before_anything_starts(
    folder: Path, command: tuple[str, ...]
) -> None:
    own = edit(WRITTEN, {"workload": {"replay": "/nowhere/own.log"}})
    Path("own.yaml").write_text(own, "utf-8")
    Path("own-sweep.yaml").write_text(SWEEP.replace("parsed", "own"), "utf-8")
    why = refused(JobFailed, *command)
    assert why.startswith("/nowhere/own.log, the file to replay, cannot be read: no such file")
    shown = RUN.invoke(app, ["validate", "--offline", "--strict", "own.yaml"])
    assert shown.exit_code != 0
    assert "/nowhere/own.log, the file to replay, is not on this machine" in shown.output


@pytest.mark.parametrize("more", [("--dry-run",), ()], ids=["plan", "search"])
def test_an_earlier_search_that_is_none_is_refused_before_anything_starts(
    folder: Path, more: tuple[str, ...]
) -> None:
    said = refused(JobFailed, "search", "plain.yaml", "--warm-start", str(folder), *more)
    assert said == f"{folder} holds no trials.jsonl: it is not a run directory"

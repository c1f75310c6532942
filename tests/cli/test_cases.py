"""`rsyslog-tune test` without an rsyslogd: what is refused, and how results are written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from tests.cases.factory import document
from tests.profile.examples import SMALL
from tuner.cases.run import Came, Sent, surface
from tuner.cli.commands import app
from tuner.errors import BadProfile, BadUsage, DifferencesFound, JobFailed, Refused
from tuner.profile.base import read_text

RUN = CliRunner()
CASE = """\
cases:
- name: one
  line: x
  expect: [{fields: {m: a}}]
- {name: two, line: x, outputs: [logs]}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A profile, and an rsyslogd that makes the same document of every message."""

    def run(
        _block: object, sent: Sequence[Sent], _zone: str | None = None
    ) -> tuple[tuple[Came, ...], ...]:
        assert {one.input for one in sent} == {"imptcp:10514"}
        return tuple((Came("logs", document({"m": "b"}).arrival),) for _ in sent)

    monkeypatch.setattr("tuner.cli.cases.run", run)
    monkeypatch.setattr("tuner.cli.cases.rsyslog_version", lambda: "8.2302")
    (tmp_path / "rsyslog-tune.yaml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "tests.yaml").write_text(CASE, encoding="utf-8")
    (tmp_path / "sample.log").write_text("a\n\nb\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def outcome(*arguments: str) -> Result:
    return RUN.invoke(app, ["test", *arguments])


SAID = 'one: logs: m should be "a", is "b"'


@pytest.mark.usefixtures("folder")
def test_differences_are_lines_with_their_place() -> None:
    done = outcome("tests.yaml")
    assert isinstance(done.exception, DifferencesFound)
    assert str(done.exception) == "1 of 2 cases failed"
    assert done.stdout == f"tests.yaml:4:25: error: {SAID} [RT022]\n"


def test_what_passes_is_counted(folder: Path) -> None:
    text = CASE.replace("m: a", "m: b")
    (folder / "tests.yaml").write_text(text, encoding="utf-8")
    (folder / "more.yaml").write_text(text, encoding="utf-8")
    done = outcome("tests.yaml", "more.yaml")
    assert done.exit_code == 0
    assert done.stdout == "4 cases passed\n"


def test_programs_get_annotations_junit_or_json(folder: Path) -> None:
    done = outcome("tests.yaml", "--output", "github", "--junit", "junit.xml")
    assert done.stdout == f"::error file=tests.yaml,line=4,col=25,title=RT022::{SAID}\n"
    suite = ElementTree.fromstring((folder / "junit.xml").read_text("utf-8"))[0]  # noqa: S314
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == (
        "tests.yaml",
        "2",
        "1",
    )
    assert [one.get("name") for one in suite] == ["one", "two"]
    (failure,) = suite.iter("failure")
    assert failure.get("message") == f"tests.yaml:4:25: error: {SAID} [RT022]"
    (found,) = json.loads(outcome("tests.yaml", "--output", "gitlab").stdout)
    assert found["location"] == {"path": "tests.yaml", "lines": {"begin": 4}}
    told = json.loads(outcome("tests.yaml", "--output", "json").stdout)
    assert [one["passed"] for one in told["files"][0]["cases"]] == [False, True]
    assert told["problems"][0]["message"] == SAID


def test_all_that_is_wrong_with_several_files_is_said_at_once(folder: Path) -> None:
    (folder / "empty.yaml").write_text("", encoding="utf-8")
    (folder / "typo.yaml").write_text(CASE.replace("expect", "expects"), encoding="utf-8")
    done = outcome("empty.yaml", "missing.yaml", "typo.yaml", "--output", "json")
    assert isinstance(done.exception, BadProfile)
    said = [str(one) for one in done.exception.problems]
    assert said[0] == "empty.yaml:1:1: error: cases is missing: add it [RT003]"
    assert said[1].startswith("missing.yaml:1:1: error: ")
    assert said[2] == (
        "typo.yaml:4:3: error: there is no key expects in cases[0]: did you mean expect? [RT001]"
    )
    assert [one["file"] for one in json.loads(done.stdout)["problems"]] == [
        "empty.yaml", "missing.yaml", "typo.yaml"
    ]  # fmt: skip


def test_names_that_a_profile_lacks_are_said_for_all_files(folder: Path) -> None:
    for name in ("one", "two"):
        text = f"cases: [{{name: a, line: x, outputs: [{name}]}}]\n"
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    done = outcome("one.yaml", "two.yaml")
    assert isinstance(done.exception, BadProfile)
    assert [one.file for one in done.exception.problems] == ["one.yaml", "two.yaml"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (("--profile", "a", "--conf", "b"), BadUsage, "--profile and --conf cannot be combined"),
        (("--record", "sample.log"), Refused, "tests.yaml exists: name another file"),
        (("--junit", "nowhere/junit.xml"), JobFailed, "nowhere"),
    ],
)
def test_what_cannot_be_is_refused(
    arguments: tuple[str, ...], error: type[Exception], said: str
) -> None:
    done = outcome("tests.yaml", *arguments)
    assert isinstance(done.exception, error)
    assert said in str(done.exception)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"\n \n", "sample.log has 0 lines: record 1 to 500"),
        (b"a\n" * 501, "sample.log has 501 lines: record 1 to 500"),
        (b"caf\xe9\n", "sample.log is no text in UTF-8"),
    ],
)
def test_what_cannot_be_recorded_is_said(raw: bytes, said: str, folder: Path) -> None:
    (folder / "sample.log").write_bytes(raw)
    done = outcome("new.yaml", "--record", "sample.log")
    assert isinstance(done.exception, BadUsage | JobFailed)
    assert said in str(done.exception)
    assert not (folder / "new.yaml").exists()


def test_what_is_recorded_names_its_profile_from_where_it_stands(folder: Path) -> None:
    (folder / "below").mkdir()
    done = outcome("below/new.yaml", "--record", "sample.log")
    assert done.exit_code == 0, done.exception
    text = (folder / "below/new.yaml").read_text("utf-8")
    assert text.startswith('profile: "../rsyslog-tune.yaml"\ntimezone: UTC\ncases:\n')
    done = outcome("below/new.yaml")
    assert done.exit_code == 0, done.stdout
    assert done.stdout == "2 cases passed\n"


def test_messages_come_from_the_network_where_they_can() -> None:
    text = (
        'module(load="imuxsock")\nmodule(load="imudp")\ninput(type="imudp" port="514")\n'
        'action(name="all" type="omfile" file="/var/log/all")\n'
    )
    assert list(surface(read_text("r.conf", text)).inputs) == ["imudp:514", "imuxsock"]


@pytest.mark.parametrize("name", ["imfile", "imudp"])
@pytest.mark.usefixtures("folder")
def test_an_input_to_record_by_must_be_there(name: str) -> None:
    done = outcome("new.yaml", "--record", "sample.log", "--input", name)
    assert isinstance(done.exception, BadUsage)
    assert str(done.exception) == f"--input {name}: name one of imptcp:10514"


@pytest.mark.usefixtures("folder")
def test_the_input_that_was_chosen_stands_in_each_case(folder: Path) -> None:
    outcome("new.yaml", "--record", "sample.log", "--input", "imptcp")
    written = (folder / "new.yaml").read_text("utf-8")
    assert written.count('input: "imptcp:10514"') == 2
    outcome("other.yaml", "--record", "sample.log")
    assert "input:" not in (folder / "other.yaml").read_text("utf-8")

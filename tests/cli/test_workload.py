"""`rsyslog-tune workload`, and the sample of a profile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.profile.examples import SMALL
from tuner.cli.commands import app
from tuner.errors import BadProfile, JobFailed, Refused
from tuner.flood.workload import flood_spec
from tuner.lint.load import LoadedProfile, load_profile, parse_profile
from tuner.profile.edit import moved
from tuner.profile.source import read
from tuner.traffic.sample import TrafficSample

RUN = CliRunner()
LOG = "".join(
    f"<38>Nov 25 17:00:{n % 60:02} web{n % 3} sshd[{n}]: Failed password for user{n % 7} from "
    f"192.0.2.{n} port {40_000 + n} ssh2\n"
    for n in range(200)
)


def run(*arguments: object) -> Result:
    return RUN.invoke(app, ["workload", *map(str, arguments)])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "auth.log"
    path.write_text(LOG, encoding="utf-8")
    return path


def test_a_page_says_what_was_learnt(log: Path) -> None:
    shown = run(log)
    assert shown.exit_code == 0
    for part in (
        "200 messages in 1 template", "programs: sshd 100.0%", "severities: info 100.0%",
        "Failed password for user<digits 1 of 7> from <ipv4> port <digits 5> ssh2",
    ):  # fmt: skip
        assert part in " ".join(shown.stdout.split())


def test_a_sample_is_written_and_read_again(log: Path, tmp_path: Path) -> None:
    sample = tmp_path / "sample.yaml"
    first = run(log, "-o", sample)
    assert first.exit_code == 0
    text = sample.read_text(encoding="utf-8")
    assert text.startswith("# Learnt from 200 messages (lines).\nkind: traffic sample\n")
    # What was learnt can be learnt anew, and a sample be looked at.
    assert run(log, "-o", sample).exit_code == 0
    assert sample.read_text(encoding="utf-8") == text
    assert run(sample).stdout == first.stdout
    answer = json.loads(run(log, "--output", "json").stdout)
    assert (answer["schema"], answer["kind"]) == (1, "workload")
    assert TrafficSample.model_validate(answer["sample"]).messages == 200


@pytest.mark.full
def test_a_sample_of_many_kinds_of_messages_can_be_read_again(tmp_path: Path) -> None:
    """A file of a profile has at most 128 KiB: the rarest kinds give way."""
    log = tmp_path / "many.log"
    kinds = (
        f"<13>Nov 25 17:00:01 h {'abcdefghij'[n // 50]}{'klmnopqrst'[n % 50 // 5]}{n % 5}: "
        + " ".join(f"{(n + 1) * each}" for each in range(90))
        for n in range(500)
    )
    often = "<13>Nov 25 17:00:01 h sshd: connection closed by peer\n"
    log.write_text("\n".join(kinds) + "\n" + 9 * often, encoding="utf-8")
    sample = tmp_path / "sample.yaml"
    done = run(log, "-o", sample)
    assert done.exit_code == 0, done.exception
    assert sample.stat().st_size <= 1 << 17
    assert "connection closed by peer" in sample.read_text(encoding="utf-8")
    assert run(sample).exit_code == 0


def test_a_foreign_file_is_not_overwritten(log: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("mine: 1\n", encoding="utf-8")
    assert isinstance(run(log, "-o", mine).exception, Refused)
    assert isinstance(run(log, "-o", log).exception, Refused)
    assert mine.read_text(encoding="utf-8") == "mine: 1\n"
    assert log.read_text(encoding="utf-8") == LOG


def test_what_cannot_be_read_is_one_message(tmp_path: Path) -> None:
    missing = run(tmp_path / "missing")
    assert isinstance(missing.exception, JobFailed)
    assert str(missing.exception) == f"{tmp_path}/missing cannot be read: no such file or directory"
    assert isinstance(run(tmp_path).exception, JobFailed)


def entry(**fields: object) -> str:
    """Three entries of `journalctl -o json`."""
    written = {"__REALTIME_TIMESTAMP": "1795620000000000", "MESSAGE": "hello", **fields}
    return f"{json.dumps(written)}\n" * 3


STRANGE_LOGS = {
    "a blank in an identifier": entry(SYSLOG_IDENTIFIER="Web Content"),
    "a blank in a command": entry(_COMM="Isolated Web Co"),
    "a list as a host": entry(_HOSTNAME=["a", "b"]),
    "half a character": entry(MESSAGE="half \ud83d"),
    "a facility that is none": entry(PRIORITY="6", SYSLOG_FACILITY="99"),
    "a number of many digits": entry(PRIORITY="9" * 6000, __REALTIME_TIMESTAMP="9" * 400),
    "objects in one another": f"{entry()}{'[' * 200_000}\n",
    "Latin-1": "Nov 25 17:00:01 host caf\udce9: hello\n",
    "a dash": "Nov 25 17:00:01 host prog\u2013x: hello\n",
    "a control character": "Nov 25 17:00:01 host pro\x01g: hello\n",
    "a program that is no ASCII": "Nov 25 17:00:01 host Überwachung: hello\n",
    "a host that is no ASCII": "Nov 25 17:00:01 hôst prog: hello\n",
    "a long host": f"Nov 25 17:00:01 {'h' * 300} prog: hello\n",
    "a message id that is no ASCII": "<13>1 2026-11-25T17:00:01Z host prog - Überlauf - hello\n",
}


@pytest.mark.parametrize("how", [(), ("--verbatim",)], ids=["like it", "verbatim"])
@pytest.mark.parametrize("what", STRANGE_LOGS)
def test_any_log_makes_a_sample(what: str, how: tuple[str, ...], tmp_path: Path) -> None:
    """What no head may have becomes a dash there."""
    log = tmp_path / "strange.log"
    log.write_text(STRANGE_LOGS[what], encoding="utf-8", errors="surrogateescape")
    done = run(log, *how, "-o", tmp_path / "sample.yaml")
    assert done.exit_code == 0, done.exception
    assert loaded(tmp_path, "{sample: sample.yaml}").profile.workload.sample is not None


def test_words_of_a_configuration_stay(log: Path, tmp_path: Path) -> None:
    (tmp_path / "own.log").write_text("<13>Nov 25 17:00:01 h billing: invoice gone\n" * 9)
    conf = tmp_path / "rsyslog.conf"
    conf.write_text('if $msg contains "invoice" then stop\n', encoding="utf-8")
    assert "invoice" not in run(tmp_path / "own.log").stdout
    assert "invoice" in run(tmp_path / "own.log", "--conf", conf).stdout
    assert "billing" in run(tmp_path / "own.log", "--verbatim").stdout


def loaded(folder: Path, workload: str) -> LoadedProfile:
    path = folder / "prod.yaml"
    path.write_text(f"{SMALL}workload: {workload}\n", encoding="utf-8")
    return load_profile(path)


def problem(folder: Path, workload: str) -> str:
    with pytest.raises(BadProfile) as refused:
        loaded(folder, workload)
    return str(refused.value.problems[0])


@pytest.mark.parametrize("of_log", [True, False])
def test_a_profile_floods_what_is_like_its_sample(log: Path, tmp_path: Path, of_log: bool) -> None:
    """The file may be the log, or what was learnt of it; its path is relative to the profile."""
    sample = tmp_path / "sample.yaml"
    run(log, "-o", sample)
    name = log.name if of_log else sample.name
    profile = loaded(tmp_path, f"{{sample: {name}}}")
    spec = flood_spec(profile.profile, "0a1b2c3d")
    assert spec.sample is not None
    assert TrafficSample.model_validate_json(spec.sample).templates[0].times == 200


def test_a_search_goes_on_with_the_sample_that_was_recorded(log: Path, tmp_path: Path) -> None:
    before = loaded(tmp_path, f"{{sample: {log.name}}}")
    log.unlink()
    again = parse_profile(before.text, str(before.path), (), before.beside)
    assert flood_spec(again.profile, "0a1b2c3d") == flood_spec(before.profile, "0a1b2c3d")


def test_a_profile_that_moves_names_the_same_sample(log: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    written = loaded(tmp_path, f"{{sample: {log.name}}}")
    assert 'sample: "../auth.log"' in moved(read(written.text, str(written.path)), folder)


def test_problems_of_a_sample_have_their_place(log: Path, tmp_path: Path) -> None:
    line = len(SMALL.splitlines()) + 1
    assert problem(tmp_path, "{sample: missing.log}").startswith(
        f"{tmp_path}/prod.yaml:{line}:20: error: {tmp_path}/missing.log cannot be read: "
    )
    broken = tmp_path / "broken.yaml"
    broken.write_text(
        "kind: traffic sample\nmessages: 1\nmean_bytes: 1.0\nformat: bare\n"
        "templates:\n- {times: 1, text: 'a < b'}\n",
        encoding="utf-8",
    )
    assert problem(tmp_path, "{sample: broken.yaml}").startswith(f"{broken}:6:")
    assert "name one" in problem(tmp_path, f"{{sample: {log.name}, replay: {log}}}")

"""The invariants that are checked after every scenario can fail, each of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from tests.safety import invariants
from tests.safety.invariants import Bystander, Surroundings
from tests.safety.scorecard import Run, least_share, table

SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]

needs_rsyslogd = pytest.mark.skipif(
    shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"
)


def test_a_changed_configuration_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "rsyslog.conf"
    file.write_text("a", encoding="utf-8")
    for change in (lambda: file.write_text("b", encoding="utf-8"), lambda: file.chmod(0o600)):
        before = Surroundings([tmp_path])
        before.require_as_before(0.0)
        change()
        with pytest.raises(AssertionError, match="configuration was changed"):
            before.require_as_before(0.0)


def test_a_process_that_goes_on_is_seen_and_so_is_its_orphan() -> None:
    before = Surroundings([])
    with subprocess.Popen(["sh", "-c", "sleep 60 & wait", "sh"]) as parent:
        try:
            with pytest.raises(AssertionError, match="still running"):
                before.require_as_before(0.0)
            while len(before.left()) < 2:
                time.sleep(0.01)
            parent.kill()
            parent.wait()
            with pytest.raises(AssertionError, match="still running"):
                before.require_as_before(0.5)
        finally:
            for process in before.left():
                process.kill()
    before.require_as_before()


@needs_rsyslogd
@pytest.mark.live
def test_a_bystander_that_is_ended_or_changed_is_seen() -> None:
    with Bystander() as theirs:
        theirs.require_at_work()
        os.kill(theirs.pid, 9)
        os.waitid(os.P_PID, theirs.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(AssertionError, match="was ended"):
            theirs.require_at_work()


def write(run: Path, *lines: dict[str, object]) -> None:
    check, text = 0, b""
    for line in lines:
        body = json.dumps(line)[1:].encode()
        check = zlib.crc32(body, check)
        text += b'{"check": "%08x", %s\n' % (check, body)
    (run / "trials.jsonl").write_bytes(text)


def trial(number: int, lost: int = 0) -> dict[str, object]:
    told = {"sent": 5, "indexed": 5 - lost, "found": 5 - lost, "lost": lost, "duplicated": 0}
    return {"trial": {"number": number, "outcome": {"eps": 1.0, "delivery": told}}}


def test_a_changed_lost_or_wrongly_scored_trial_is_seen(tmp_path: Path) -> None:
    write(tmp_path, {"header": {}}, trial(1), trial(2, lost=1))
    found = invariants.records(tmp_path)
    invariants.require_kept(found[:2], found)
    with pytest.raises(AssertionError, match="lost what it held"):
        invariants.require_kept(found, found[:2])
    invariants.require_exact(found[:2])
    with pytest.raises(AssertionError, match="has a score and lost events"):
        invariants.require_exact(found)
    invariants.require_not_scored(found, 3)
    with pytest.raises(AssertionError, match="was struck and has a score"):
        invariants.require_not_scored(found, 1)
    text = (tmp_path / "trials.jsonl").read_bytes()
    (tmp_path / "trials.jsonl").write_bytes(text.replace(b'"eps": 1.0', b'"eps": 9.0', 1))
    with pytest.raises(AssertionError, match="damaged"):
        invariants.records(tmp_path)


def test_an_exit_code_and_a_message_that_say_otherwise_are_seen() -> None:
    invariants.require_one_cause(4, 4, "rsyslog-tune: gone", "gone")
    for code, err, why in (
        (1, "gone", "exit code 1"), (4, "Traceback: gone", "a traceback"), (4, "x", "not named"),
    ):  # fmt: skip
        with pytest.raises(AssertionError, match=why):
            invariants.require_one_cause(code, 4, err, "gone")


def show_on_command_lines(text: str) -> None:
    with invariants.kept_from_command_lines(text):
        for environment in (None, {**os.environ, "X": text}):
            arguments = [*SLEEPER, text] if environment is None else SLEEPER
            with subprocess.Popen(arguments, env=environment) as process:
                time.sleep(0.3)
                process.kill()


def test_a_secret_on_a_command_line_in_a_file_or_printed_is_seen(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"cmdline.*environ"):
        show_on_command_lines("canary")
    (tmp_path / "file").write_text("a canary sings", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"\['out', '.*file'\]"):
        invariants.require_secret_nowhere("canary", {"out": "canary", "err": ""}, [tmp_path])


def test_files_of_daemons_that_are_left_are_seen(tmp_path: Path) -> None:
    invariants.require_no_files_left(tmp_path)
    (tmp_path / "run" / "rsyslog-tune-lab-0123" / "trial-t1").mkdir(parents=True)
    with pytest.raises(AssertionError, match="files are left"):
        invariants.require_no_files_left(tmp_path)


def test_the_table_tells_how_little_a_few_runs_prove() -> None:
    assert round(least_share(20, 20), 2) == 0.84
    assert round(least_share(75, 75), 2) == 0.95
    assert least_share(0, 5) == 0
    runs = [Run("F04", False, True), Run("F04", False, False), Run("F04", True, True)]
    *_, line = table([*runs, Run("F05", False, True), Run("F05", True, False)])
    assert line.endswith("| 1 | 1 | 21% | SEES NOTHING |")
    assert "| 2 | 1 | 9% | fails as it must |" in list(table(runs))[-1]

"""`rsyslog-tune test` on a real rsyslogd: the shipped profiles, a mutation of each template that
they render, and configurations with all kinds of inputs and outputs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from tests.shipped import PROFILES, release_at_hand
from tuner.cases.case_file import load_cases, messages
from tuner.cases.judge import judged
from tuner.cases.run import run
from tuner.cli.cases import subject_of
from tuner.cli.commands import app
from tuner.errors import DifferencesFound, JobFailed
from tuner.script.script import Block, ScriptObject

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

RUN = CliRunner()
TOP = Path(__file__).parents[2]
SHIPPED = TOP / "tests/cases/shipped"
PREPARED = TOP / "tests/golden/documents.yaml"
# What they write is what an engine refused, which the sink does not: tests/live/test_retry.py.
OF_REFUSALS = (".retry-", ".rejected")
NAMES = [path.stem for path in PROFILES]
needs_their_release = pytest.mark.skipif(
    release_at_hand() < 2302, reason="the shipped profiles are for rsyslog 8.2302"
)


def result_of(text: str, folder: Path, *more: str) -> Result:
    path = folder / "tests.yaml"
    path.write_text(text, encoding="utf-8")
    return RUN.invoke(app, ["test", str(path), *more])


def failing(block: Block, name: str) -> list[str]:
    """The cases of a shipped profile that a configuration fails."""
    loaded, subject = load_cases(SHIPPED / f"{name}.yaml"), subject_of(profile_of(name), None)
    sent = messages(loaded, subject.surface)
    changed = replace(subject.base, block=block)
    found = judged(loaded, run(changed, sent, loaded.cases.timezone))
    return [one.name for one in found if not one.passed]


def profile_of(name: str) -> Path:
    return TOP / f"profiles/{name}.yaml"


@needs_their_release
@pytest.mark.parametrize("name", NAMES)
def test_each_shipped_profile_passes_its_cases(name: str) -> None:
    done = RUN.invoke(app, ["test", str(SHIPPED / f"{name}.yaml")])
    assert done.exit_code == 0, done.output
    assert done.stdout == "2 cases passed\n"


def mutants(block: Block) -> Iterator[tuple[str, Block]]:
    """The configuration with one part of one template changed, for each part that takes something
    from the event."""
    for place, one in enumerate(block):
        if not isinstance(one, ScriptObject) or one.kind != "template":
            continue
        if any(word in one.name for word in OF_REFUSALS):
            continue
        for number, part in enumerate(one.parts):
            if part.kind == "property":
                other = "hostname" if part.text("name") != "hostname" else "programname"
                parts = list(one.parts)
                parts[number] = part.with_values({"name": other})
                made = replace(one, parts=tuple(parts))
                yield f"{one.name} {part.text('name')}", (*block[:place], made, *block[place + 1 :])


def one_of_each_template(name: str) -> list[tuple[str, Block]]:
    """A mutant of each template of a profile, another one in each profile."""
    by_template: dict[str, list[tuple[str, Block]]] = {}
    for what, block in mutants(subject_of(profile_of(name), None).base.block):
        by_template.setdefault(what.split()[0], []).append((what, block))
    return [each[NAMES.index(name) % len(each)] for each in by_template.values()]


@pytest.mark.full
@needs_their_release
@pytest.mark.parametrize("name", NAMES)
def test_a_mutation_of_each_rendered_template_is_caught(name: str) -> None:
    found = one_of_each_template(name)
    assert found
    for what, block in found:
        assert failing(block, name), f"{what} was changed, and no case failed"


@pytest.mark.full
@needs_their_release
@pytest.mark.parametrize("name", ["default", "production", "berserk", "elma"])
def test_so_is_that_of_each_field_of_each_preset(name: str) -> None:
    for what, block in mutants(subject_of(profile_of(name), None).base.block):
        assert failing(block, name), f"{what} was changed, and no case failed"


CONF = """\
module(load="imtcp") module(load="imudp") module(load="imuxsock" sysSock.use="off")
module(load="imfile") module(load="omelasticsearch") module(load="ommail")
input(type="imtcp" port="514" ruleset="remote")
input(type="imudp" port="514" ruleset="remote" name="udp")
input(type="imuxsock" socket="/run/app.sock")
input(type="imfile" file="/var/log/apps/*.log" tag="apps:" addMetadata="on" ruleset="files")
template(name="t" type="string"
    string="{\\"m\\":\\"%msg:::json%\\",\\"from\\":\\"%fromhost-ip%\\",\\"at\\":\\"%timereported:::date-rfc3339%\\"}")
template(name="day" type="string" string="logs-%$year%")
template(name="path" type="string" string="/var/log/%programname%.log")
template(name="text" type="string" string="%msg%\\n")
template(name="meta" type="string" string="%$!metadata!filename%%msg%\\n")
ruleset(name="remote" queue.type="LinkedList") {
    if $msg contains "drop" then stop
    call archive
    if $programname == "sshd" then
        action(name="es" type="omelasticsearch" template="t" searchIndex="day"
               dynSearchIndex="on" queue.type="LinkedList" queue.dequeueSlowDown="100000")
}
ruleset(name="archive" queue.type="LinkedList") {
    set $!changed = "yes";
    action(name="archive" type="omfile" dynaFile="path" template="text")
    action(name="up" type="omfwd" target="up.example" port="601" protocol="tcp" template="text")
}
ruleset(name="files") { action(name="meta" type="omfile" file="/var/log/meta" template="meta") }
action(name="local" type="omfile" file="/var/log/local" template="text")
action(name="mail" type="ommail" server="mail.example" port="25" mailfrom="a@b" mailto="c@b")
"""
CASES = """\
conf: rsyslog.conf
timezone: Europe/Berlin
cases:
- name: a document, a line and a forward
  message: hello
  program: sshd
  time: 2026-07-21T06:30
  sender: 127.3.4.5
  outputs: [es, archive, up]
  expect:
  - {index: {pattern: 'logs-\\d{4}'},
     fields: {m: " hello", from: 127.3.4.5, at: {pattern: '....-07-21T06:30:00\\+0[12]:00'}}}
  - {file: /var/log/sshd.log, line: " hello"}
  - {file: "omfwd:tcp:up.example:601", line: " hello"}
- {name: dropped, message: drop it, outputs: []}
- {name: by udp, input: imudp, message: hello, program: cron, outputs: [archive, up],
   expect: [{output: archive, line: " hello"}]}
- {name: local, input: imuxsock, message: hello, outputs: [local], expect: [{line: " hello"}]}
- {name: a line of a file, input: imfile, message: hello, outputs: [meta],
   expect: [{line: /var/log/apps/x.loghello}]}
- {name: two lines, line: "<13>Nov 21 06:30:00 web1 app: a\\nb", outputs: [archive, up],
   expect: [{output: archive, line: " a#012b"}]}
- {name: the last is not lost, message: bye, program: sshd, outputs: [es, archive, up],
   expect: [{fields: {m: " bye", from: 127.0.0.1}}]}
"""


def test_whatever_a_configuration_has_is_tested_in_one_start(tmp_path: Path) -> None:
    (tmp_path / "rsyslog.conf").write_text(CONF, encoding="utf-8")
    done = result_of(CASES, tmp_path)
    assert done.exit_code == 0, done.output
    assert done.stdout == "7 cases passed\n"
    assert "rsyslog.conf:27:1: not tested: output mail: ommail is not tested" in done.stderr


def test_what_differs_is_told_to_people_and_programs(tmp_path: Path) -> None:
    (tmp_path / "rsyslog.conf").write_text(CONF, encoding="utf-8")
    junit = tmp_path / "junit.xml"
    local = 'outputs: [local], expect: [{line: " hello"}]'
    bad = CASES.replace('m: " bye"', 'm: " hello"').replace(local, "outputs: []")
    done = result_of(bad, tmp_path, "--junit", str(junit), "--output", "github")
    assert isinstance(done.exception, DifferencesFound)
    assert str(done.exception) == "2 of 7 cases failed"
    assert [line.rpartition("::")[2] for line in done.stdout.splitlines()] == [
        "local: it should reach no output, and reaches local",
        'the last is not lost: es: m should be " hello", is " bye"',
    ]
    suites = ElementTree.parse(junit).getroot()  # noqa: S314 - our own
    failed = [one.get("name") for one in suites.iter("testcase") if one.find("failure") is not None]
    assert failed == ["local", "the last is not lost"]


def test_what_was_recorded_passes(tmp_path: Path) -> None:
    log, path = tmp_path / "sample.log", tmp_path / "tests.yaml"
    log.write_text('<38>Nov 21 06:30:00 web1 app: {"id": "7"}\nno head\n', encoding="utf-8")
    made = RUN.invoke(app, ["test", str(path), "--record", str(log), "--profile", str(PREPARED)])
    assert made.exit_code == 0, made.output
    done = RUN.invoke(app, ["test", str(path)])
    assert done.exit_code == 0, done.output
    assert done.stdout == "2 cases passed\n"


def test_a_configuration_that_rsyslogd_refuses_is_said(tmp_path: Path) -> None:
    conf = 'module(load="imtcp")\ninput(type="imtcp" port="514" nothing="7")\n'
    (tmp_path / "rsyslog.conf").write_text(conf, encoding="utf-8")
    done = result_of("conf: rsyslog.conf\ncases: [{name: a, line: x, outputs: []}]\n", tmp_path)
    assert isinstance(done.exception, JobFailed)
    assert "rsyslogd rejects " in str(done.exception)
    assert "'nothing'" in str(done.exception)


SLOW = """\
#!/bin/sh
case "$1" in -N1 | -v) exec rsyslogd "$@" ;; esac
echo began > began
sleep 60
"""


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that daemons reach, which run as another user when we are root."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_interrupts_it_leaves_nothing(
    number: signal.Signals, tmp_path: Path, reachable: Path
) -> None:
    (tmp_path / "rsyslog.conf").write_text(CONF, encoding="utf-8")
    (tmp_path / "tests.yaml").write_text(CASES, encoding="utf-8")
    slow, scratch = reachable / "slow", reachable / "scratch"
    slow.write_text(SLOW, encoding="utf-8")
    slow.chmod(0o755)
    scratch.mkdir(mode=0o755)
    command = [sys.executable, "-c", "from tuner.cli.main import main; main()"]
    process = subprocess.Popen(
        [*command, "test", "tests.yaml", "--rsyslogd", str(slow), "--junit", "junit.xml"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": str(TOP)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not list(scratch.rglob("began")):
            assert process.poll() is None, process.stderr and process.stderr.read()
            time.sleep(0.05)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + number
    assert "Traceback" not in said
    assert not list(scratch.iterdir())
    assert not (tmp_path / "junit.xml").exists()


def test_json_has_what_came(tmp_path: Path) -> None:
    (tmp_path / "rsyslog.conf").write_text(CONF, encoding="utf-8")
    done = result_of(CASES, tmp_path, "--output", "json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["schema"], told["kind"], told["problems"]) == (1, "test", [])
    (file,) = told["files"]
    first = file["cases"][0]
    assert first["passed"]
    assert {one["output"] for one in first["came"]} == {"es", "archive", "up"}

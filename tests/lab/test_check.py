"""What rsyslogd complains of with -N1, and whether a real one starts with it and passes events."""

from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from tests.lab.test_copy import fitted
from tuner.cli.commands import app
from tuner.errors import JobFailed, ProgramMissing
from tuner.host.process import wait_until
from tuner.host.programs import rsyslogd
from tuner.lab.check import check_own, classified, require_taken
from tuner.lab.entrances import free_port
from tuner.script.configuration import configuration
from tuner.script.objects import Base, base_of
from tuner.script.printing import printed

INPUT = 'module(load="imtcp")\ninput(type="imtcp" port="{port}" address="127.0.0.1")\n'
FILE = 'action(type="omfile" file="{folder}/out")\n'
ENGINE = (
    'module(load="omelasticsearch")\ntemplate(name="d" type="string" string="{{}}")\n'
    'action(type="omelasticsearch" server="127.0.0.1" serverport="9" queue.type="LinkedList" '
    'template="d" searchIndex="logs" searchType="" bulkmode="on"'
)
NOBODY = "nobody-of-that-name"


class Shape(NamedTuple):
    """A configuration, whether rsyslogd runs with it, and words of what is said of it."""

    text: str
    runs: bool
    words: str = ""


TAKEN = {
    "a queue smaller than its marks": Shape(
        f"$MainMsgQueueSize 50000\n{INPUT}{FILE}", True, "discardMark 98000 is set larger"
    ),
    "an action's queue smaller than its marks": Shape(
        f"$ActionQueueType LinkedList\n$ActionQueueSize 10\n*.* {{folder}}/out\n{INPUT}", True,
        "discardMark 980 is set larger",
    ),
    "a small message": Shape(
        f'global(maxMessageSize="32")\n{INPUT}{FILE}', True, "maxMessageSize tried to set to 32"
    ),
    "more files than the kernel allows": Shape(
        f"$MaxOpenFiles 1000000000\n{INPUT}{FILE}", True, "could not set process file limit"
    ),
    "imfile without a folder": Shape(
        f'{INPUT}module(load="imfile")\ninput(type="imfile" file="{{folder}}/in" tag="x")\n{FILE}',
        True, "no working or state file directory set",
    ),
    "a folder that is not here": Shape(
        f'global(workDirectory="{{folder}}/gone")\n{INPUT}{FILE}', True, "can not be accessed"
    ),
    "a module that is loaded twice": Shape(
        f"$ModLoad imtcp\n{INPUT}{FILE}", True, "already in this config"
    ),
    "a user": Shape(f"$PrivDropToUser {NOBODY}\n{INPUT}{FILE}", False, "ID for user"),
    "a user, in global()": Shape(
        f'global(privdrop.user.name="{NOBODY}")\n{INPUT}{FILE}', False, "ID for user"
    ),
    "owners, in an action": Shape(
        f'{INPUT}{FILE[:-2]} fileOwner="{NOBODY}" fileGroup="{NOBODY}")\n', False, "ID for user"
    ),
    "owners, in an included file": Shape(
        f"{INPUT}include(file=\"{{folder}}/included.conf\")\n", False, "ID for user"
    ),
}  # fmt: skip
REJECTED = {
    "an index by a template that is not there": Shape(
        f'{INPUT}{FILE}{ENGINE} dynSearchIndex="on")\n', False, "SIGSEGV"
    ),
    "the same in an included file": Shape(
        f'{INPUT}{FILE}include(file="{{folder}}/crash.conf")\n', False, "SIGSEGV"
    ),
    "the same behind a user who is not here": Shape(
        f'$PrivDropToUser {NOBODY}\n{INPUT}{FILE}{ENGINE} dynSearchIndex="on")\n', False, "SIGSEGV"
    ),
    "no workers": Shape(
        f'main_queue(queue.size="1000" queue.workerThreads="0")\n{INPUT}{FILE}', False, "SIGFPE"
    ),
    "no actions": Shape(INPUT, False, "no active actions"),
    "what it must not run with": Shape(
        f'global(abortOnUncleanConfig="on")\n$MainMsgQueueSize 500\n{INPUT}{FILE}', False,
        "abortOnUncleanConfig is on",
    ),
    "a parameter that there is not": Shape(
        f'{INPUT}{FILE[:-2]} nosuch="x")\n', True, "'nosuch' not known"
    ),
    "a ruleset that there is not": Shape(f"{INPUT}call nowhere\n{FILE}", True, "'nowhere' cannot"),
    "a queue on disk without a file": Shape(
        f'{INPUT}{FILE[:-2]} queue.type="disk")\n', True, "queue type changed"
    ),
}  # fmt: skip

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]


def written(shape: Shape, folder: Path) -> tuple[Path, int]:
    port = free_port()
    path = folder / "rsyslog.conf"
    texts = {
        "rsyslog.conf": shape.text,
        "included.conf": f'{FILE[:-2]} fileOwner="{NOBODY}")\n',
        "crash.conf": f'{ENGINE} dynSearchIndex="on")\n',
    }
    for name, text in texts.items():
        (folder / name).write_text(text.format(port=port, folder=folder), encoding="utf-8")
    return path, port


def base(path: Path) -> Base:
    return base_of(configuration(path))


@pytest.mark.parametrize("name", TAKEN)
def test_what_runs_or_depends_on_the_machine_is_taken_and_said(name: str, tmp_path: Path) -> None:
    path, _ = written(TAKEN[name], tmp_path)
    said = check_own(base(path))
    assert said is not None
    assert said.accepted, said
    assert TAKEN[name].words in " ".join(said.remarks)
    require_taken(base(path))


@pytest.mark.parametrize("name", REJECTED)
def test_what_rsyslogd_does_not_run_as_it_is_is_refused(name: str, tmp_path: Path) -> None:
    path, _ = written(REJECTED[name], tmp_path)
    with pytest.raises(JobFailed, match=str(path)) as refused:
        require_taken(base(path), runs_here=False)
    assert REJECTED[name].words in str(refused.value)
    assert "[v8." not in str(refused.value)


@pytest.mark.full
@pytest.mark.parametrize("name", [*TAKEN, *REJECTED])
def test_a_real_rsyslogd_starts_with_what_is_said_to_run(name: str, tmp_path: Path) -> None:
    shape = (TAKEN | REJECTED)[name]
    path, port = written(shape, tmp_path)
    arguments = [rsyslogd(), "-n", "-f", str(path), "-i", str(tmp_path / "pid")]
    with (tmp_path / "log").open("wb") as log, subprocess.Popen(arguments, stderr=log) as process:
        try:
            runs = wait_until(
                lambda: process.poll() is not None or _passes(port, tmp_path / "out"), 10.0
            )
            assert runs
            assert (process.poll() is None) == shape.runs
        finally:
            process.kill()


def _passes(port: int, path: Path) -> bool:
    """Whether a line comes from the input into the file."""
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as sender:
            sender.sendall(b"<13>Nov 28 12:00:00 host tag: hello\n")
    except OSError:
        return False
    return wait_until(lambda: path.is_file() and b"hello" in path.read_bytes(), 2.0)


@pytest.mark.parametrize("command", [("advise", "--conf"), ("bench", "--engine", "sink")])
def test_nothing_is_said_or_measured_of_what_kills_rsyslogd(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    path, _ = written(REJECTED["an index by a template that is not there"], tmp_path)
    done = CliRunner().invoke(app, [*command, str(path)])
    assert isinstance(done.exception, JobFailed)
    assert "Could not find template 1 'logs' - action disabled" in str(done.exception)
    assert done.stdout == ""


def test_a_file_that_an_action_needs_here_is_no_fault_but_nothing_runs_without(
    tmp_path: Path,
) -> None:
    text = f'module(load="mmnormalize")\n{INPUT}{FILE}action(type="mmnormalize" rulebase="/gone")\n'
    path, _ = written(Shape(text, True), tmp_path)
    said = check_own(base(path))
    assert said is not None
    assert said.accepted
    require_taken(base(path), runs_here=False)
    with pytest.raises(JobFailed, match=r"leaves out a part of .*/gone"):
        require_taken(base(path))


def test_a_module_that_is_not_here_is_named_with_what_follows_from_it(tmp_path: Path) -> None:
    text = f'{INPUT}{FILE}module(load="omnone")\naction(type="omnone")\n$OMNoneThing on\n'
    path, _ = written(Shape(text, True), tmp_path)
    require_taken(base(path), runs_here=False)
    with pytest.raises(ProgramMissing, match="could not load module 'omnone'"):
        require_taken(base(path))


def test_a_complaint_is_of_the_machine_only_by_its_own_words() -> None:
    """What follows from a file that is missing names it, or stands at the same place."""
    place = "error during parsing file /etc/r.conf, on or before line {}: "
    said = classified(
        [
            f"rsyslogd: {place.format(3)}file could not be accessed for `cat /gone` [v8.2302.0 x ]",
            f"rsyslogd: {place.format(3)}parameter 'template' contains whitespace",
            f"rsyslogd: {place.format(3)}errors occurred in file '/etc/r.conf' around line 3",
            f"rsyslogd: {place.format(9)}parameter 'nosuch' not known",
            "rsyslogd: error accessing config file or directory '/x': No such file or directory",
        ]
    )
    assert [line.rpartition(": ")[2] for line in said.faults] == [
        "parameter 'nosuch' not known", "No such file or directory",
    ]  # fmt: skip
    assert len(said.here) == 2
    assert said.is_without


def test_owners_of_files_are_not_those_of_the_lab(tmp_path: Path) -> None:
    conf = (
        'input(type="imtcp" port="514")\n$FileOwner syslog\n*.* /var/log/all\n'
        'action(type="omelasticsearch")\naction(type="omfile" file="/x" dirGroup="adm")\n'
    )
    text = printed(fitted(tmp_path, conf).block).lower()
    assert "owner" not in text
    assert "dirgroup" not in text

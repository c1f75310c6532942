"""A configuration that cannot serve as a base: said before anything is measured, with file and
line; and nothing of a hostile one is run."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.profile.test_base import CONF
from tuner.cli.commands import app
from tuner.errors import BadProfile, JobFailed, ProgramMissing, TuneError

RUN = CliRunner()
READS = """\
#!/bin/sh
case $1 in
-v) echo "rsyslogd  8.2302.0 (aka 2023.02)" ;;
*)
    for word; do file=$word; done
    echo "$file" >> {asked}
    ! grep -q omnosuch "$file" || {{
        echo "rsyslogd: could not load module 'omnosuch', errors: no such file" >&2
        exit 1
    }}
    number=$(grep -n '[.]typo' "$file" | cut -d: -f1)
    [ -z "$number" ] || {{
        echo "rsyslogd: error during parsing file $file, on or before line $number: \
parameter 'queue.typo' not known [v8.2302.0 try https://www.rsyslog.com/e/2207 ]" >&2
        exit 1
    }}
esac
"""


@pytest.fixture
def site() -> Iterator[Path]:
    """A folder that daemons can read; those of pytest are for their owner alone."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def asked(site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An rsyslogd that says where it finds a typing error, and the file with what it was asked."""
    asked, program = site / "asked", site / "rsyslogd"
    asked.touch()
    asked.chmod(0o666)
    program.write_text(READS.format(asked=asked), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("RSYSLOG_TUNE_RSYSLOGD", str(program))
    return asked


def ran(folder: Path, conf: str, *command: str, profile: str = "") -> Result:
    """What a command does with that configuration, and with a profile on top of it."""
    (folder / "rsyslog.conf").write_text(conf, encoding="utf-8")
    (folder / "prod.yaml").write_text(
        f"name: prod\nbase: {{rsyslog: rsyslog.conf}}\n{profile}", encoding="utf-8"
    )
    return RUN.invoke(app, [one.replace("FOLDER", str(folder)) for one in command])


def failure(shown: Result, kind: type[TuneError]) -> str:
    assert isinstance(shown.exception, kind), (shown.exception, shown.output)
    return str(shown.exception)


TYPO = CONF.replace("queue.size", "queue.typo")


@pytest.mark.parametrize(
    "command",
    [
        ("search", "--conf", "FOLDER/rsyslog.conf", "--engine", "sink"),
        ("bench", "FOLDER/prod.yaml", "--engine", "sink"),
    ],
    ids=lambda one: one[0],
)
def test_what_rsyslogd_refuses_is_said_in_its_words_and_not_measured(
    command: tuple[str, ...], asked: Path, site: Path
) -> None:
    refused = ran(site, TYPO, *command)
    message = failure(refused, JobFailed)
    assert JobFailed.exit_code == 1
    assert f"{site}/rsyslog.conf:8: " in message
    assert "parameter 'queue.typo' not known" in message


def test_validate_says_it_too_with_the_line_of_the_users_own_file(asked: Path, site: Path) -> None:
    shown = ran(site, TYPO, "validate", "FOLDER/prod.yaml")
    failure(shown, JobFailed)
    assert f"{site}/rsyslog.conf:8: " in shown.stdout


def test_merge_requests_get_rsyslogds_words_at_the_line_that_it_names(
    asked: Path, site: Path
) -> None:
    shown = ran(site, TYPO, "validate", "FOLDER/rsyslog.conf", "--output", "github")
    assert failure(shown, JobFailed) == f"{site}/rsyslog.conf: rejected by rsyslogd -N1"
    place = f"::error file={site}/rsyslog.conf,line=8,col=1,title=RT510::"
    (line,) = [one for one in shown.stdout.splitlines() if one.startswith(place)]
    assert "parameter 'queue.typo' not known" in line
    shown = ran(site, TYPO, "validate", "FOLDER/rsyslog.conf", "--output", "gitlab")
    *_, entry = json.loads(shown.stdout)
    assert entry["location"] == {"path": f"{site}/rsyslog.conf", "lines": {"begin": 8}}


CASES = "conf: rsyslog.conf\ncases: [{name: a, line: x, outputs: []}]\n"


def test_what_rsyslogd_refuses_is_not_tested_either(asked: Path, site: Path) -> None:
    (site / "tests.yaml").write_text(CASES, encoding="utf-8")
    message = failure(ran(site, TYPO, "test", "FOLDER/tests.yaml"), JobFailed)
    assert f"{site}/rsyslog.conf:8: " in message


@pytest.mark.parametrize("command", ["validate FOLDER/rsyslog.conf", "test FOLDER/tests.yaml"])
def test_a_module_that_is_missing_is_said_and_has_its_exit_code(
    command: str, asked: Path, site: Path
) -> None:
    (site / "tests.yaml").write_text(CASES, encoding="utf-8")
    shown = ran(site, f'module(load="omnosuch")\n{CONF}', *command.split())
    message = failure(shown, ProgramMissing)
    assert "could not load module 'omnosuch'" in shown.stdout + message


def test_packages_of_modules_are_named_with_what_rsyslogd_says(asked: Path, site: Path) -> None:
    program = (site / "rsyslogd").read_text("utf-8").replace("omnosuch", "omhttp")
    (site / "rsyslogd").write_text(program, encoding="utf-8")
    shown = ran(site, f'module(load="omhttp")\n{CONF}', "validate", "FOLDER/rsyslog.conf")
    failure(shown, ProgramMissing)
    assert "REJECTED: omhttp is not installed: " in shown.stdout
    assert "could not load module 'omhttp'" in shown.stdout


@pytest.mark.parametrize("profile", ["prod.yaml", "rsyslog.conf"])
def test_another_program_is_no_rsyslogd(
    profile: str, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RSYSLOG_TUNE_RSYSLOGD", "/usr/bin/true")
    shown = ran(site, CONF, "validate", f"FOLDER/{profile}")
    assert "/usr/bin/true is not rsyslogd 8" in failure(shown, ProgramMissing)


@pytest.mark.parametrize(
    "command", ["validate --offline FOLDER/rsyslog.conf", "advise --conf FOLDER/rsyslog.conf"]
)
def test_what_only_reads_a_configuration_needs_no_rsyslogd(
    command: str, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RSYSLOG_TUNE_RSYSLOGD", raising=False)
    monkeypatch.setattr("tuner.host.programs.find", lambda _: None)
    shown = ran(site, CONF, *command.split())
    assert shown.exit_code == 0, shown.output
    assert "release.rsyslog is the default: rsyslogd is not installed: " in shown.stderr
    refused = ran(site, CONF, "validate", "FOLDER/rsyslog.conf")
    assert "--offline leaves it out" in failure(refused, ProgramMissing)


@pytest.mark.live
def test_a_drop_in_is_read_behind_the_modules_of_the_file_around_it(site: Path) -> None:
    lines = CONF.splitlines(keepends=True)
    alone = "".join(line for line in lines if not line.startswith("module("))
    shown = ran(site, alone, "validate", "FOLDER/prod.yaml")
    assert shown.exit_code == 0, shown.output
    assert "rsyslogd -N1   ok" in shown.stdout
    refused = ran(site, alone.replace("queue.size", "queue.typo"), "validate", "FOLDER/prod.yaml")
    failure(refused, JobFailed)
    assert f"REJECTED: {site}/rsyslog.conf:" in refused.stdout


@pytest.mark.parametrize(
    "hostile",
    [
        'module(load="/tmp/evil.so")', "$ModLoad /tmp/evil.so", "$ModDir /tmp",
        "module(load=`cat /tmp/evil`)", 'global(debug.logfile="/etc/passwd")',
        "$DebugFile /etc/passwd",
    ],
)  # fmt: skip
def test_rsyslogd_does_not_read_what_would_load_code_or_write_files(
    hostile: str, asked: Path, site: Path
) -> None:
    shown = ran(site, f"{hostile}\n{CONF}", "validate", "FOLDER/prod.yaml")
    assert asked.read_text("utf-8") == ""
    assert "rsyslogd -N1   not run: the base loads modules by their paths" in shown.stdout


def test_every_address_that_names_nothing_comes_at_once_with_what_there_is(site: Path) -> None:
    two = CONF.replace("  if $", '  action(type="omfile" name="es" file="/var/log/x")\n  if $')
    changes = 'changes: {"action[es].queue.size": 1, "ruleset[gone].queue.size": 1}\n'
    refused = failure(
        ran(site, two, "validate", "--offline", "FOLDER/prod.yaml", profile=changes), BadProfile
    )
    there = "main_queue, input[1], ruleset[remote], action[1], action[2], module[omelasticsearch], "
    there += "module[imtcp]"
    assert refused.splitlines() == [
        f"{site}/prod.yaml:3:{column}: error: {key} names nothing in "
        f"{site}/rsyslog.conf, which has {there} [RT019]"
        for column, key in ((11, "action[es].queue.size"), (39, "ruleset[gone].queue.size"))
    ]


@pytest.mark.parametrize(
    "command",
    [
        "validate --offline FOLDER/rsyslog.conf", "validate --offline FOLDER/prod.yaml",
        "advise --conf FOLDER/rsyslog.conf", "test FOLDER/tests.yaml --conf FOLDER/rsyslog.conf",
        "search --conf FOLDER/rsyslog.conf",
    ],
)  # fmt: skip
def test_what_this_user_may_not_read_is_a_bad_profile(
    command: str, asked: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (site / "tests.yaml").write_text(CASES, encoding="utf-8")
    secret, may = f"{site}/rsyslog.conf", os.access

    def read(_self: object, path: str) -> bytes:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("tuner.script.configuration.LocalFiles.read", read)
    monkeypatch.setattr("os.access", lambda path, mode: path != secret and may(path, mode))
    refused = failure(ran(site, CONF, *command.split()), BadProfile)
    assert refused == (
        f"{secret}:1:1: error: {secret} cannot be read: Permission denied: run this as root, or as "
        "a user who may read it [RT019]"
    )


@pytest.mark.parametrize("include", ["/dev/zero", "FIFO", "/proc/kmsg"])
def test_what_is_no_file_is_not_included(include: str, asked: Path, site: Path) -> None:
    """It would be read for ever, or taken from whoever else reads it."""
    fifo = site / "fifo"
    os.mkfifo(fifo)
    path = include.replace("FIFO", str(fifo))
    shown = ran(site, f"$IncludeConfig {path}\n{CONF}", "validate", "FOLDER/prod.yaml")
    assert str(site / "rsyslog.conf") not in asked.read_text("utf-8")
    assert f"{path} cannot be read: it is a" in failure(shown, BadProfile)


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ('searchIndex="Logs"', "RT410"),
        ('template="RSYSLOG_FileFormat"', "RT412"),
    ],
)
def test_what_no_engine_takes_fails_validate_and_stops_nothing_else(
    written: str, code: str, site: Path
) -> None:
    conf = site / "rsyslog.conf"
    conf.write_text(CONF.replace('server="es1"', f'server="es1" {written}'), encoding="utf-8")
    validated = RUN.invoke(app, ["validate", "--offline", str(conf)])
    assert isinstance(validated.exception, BadProfile)
    assert ": error: action[es]: " in str(validated.exception)
    assert str(validated.exception).endswith(f"[{code}]")
    assert "lint           REJECTED: 1 error, " in validated.stdout
    advised = RUN.invoke(app, ["advise", "--conf", str(conf)])
    assert advised.exit_code == 0
    shown = json.loads(RUN.invoke(app, ["explain", code, "--output", "json"]).stdout)
    assert [one["severity"] for one in shown["rules"]] == ["error"]

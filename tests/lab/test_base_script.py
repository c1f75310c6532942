"""A base in a lab: what stays, what is replaced, what is left out and said."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.profile.test_base import CONF, loaded
from tuner.errors import Refused
from tuner.lab.base_script import BaseSite, LabScript, lab_script
from tuner.profile.bind_inputs import bind_inputs
from tuner.rainerscript.script import printed

SITE = BaseSite(("http://127.0.0.1:9999",), "rsyslog-tune-x-", "/scratch")
ES = 'action(type="omelasticsearch" name="es" server="es1" uid="u" pwd="secret"'


def fitted(folder: Path, conf: str) -> LabScript:
    profile = loaded(folder, conf=conf).profile
    assert profile.base is not None
    ports = tuple(range(20_000, 20_000 + len(profile.inputs)))
    return lab_script(profile.base.kept, bind_inputs(profile, ports, "/scratch", "127.0.0.1"), SITE)


def text_of(folder: Path, action: str, more: str = "") -> str:
    conf = f'input(type="imtcp" port="514")\n{more}\n*.* {action}\n'
    return printed(fitted(folder, conf).block)


def test_the_engine_and_its_login_are_those_of_the_lab(tmp_path: Path) -> None:
    text = text_of(tmp_path, f'{ES} searchIndex="logs")')
    assert 'server=["http://127.0.0.1:9999"]' in text
    assert 'searchIndex="rsyslog-tune-x-logs"' in text
    assert "secret" not in text
    assert "es1" not in text


def test_inputs_have_the_ports_of_the_lab_and_keep_all_else(tmp_path: Path) -> None:
    text = printed(fitted(tmp_path, CONF).block)
    assert 'ruleset="remote"' in text
    assert 'port="20000"' in text
    assert "10514" not in text


def test_what_is_about_the_host_is_left_out_and_said(tmp_path: Path) -> None:
    conf = (
        'global(workDirectory="/var/spool/rsyslog" privdrop.user.name="syslog" '
        'maxMessageSize="32k")\n'
        'module(load="imuxsock")\nmodule(load="imklog.so")\nmodule(load="omprog")\n'
        'input(type="imtcp" port="514")\ninput(type="imuxsock" Socket="/dev/x")\n'
        f'*.* action(type="omprog" binary="/bin/evil")\n*.* @@elsewhere\n*.* {ES})\n'
    )
    made = fitted(tmp_path, conf)
    text = printed(made.block)
    for gone in ("evil", "elsewhere", "imuxsock", "imklog", "privdrop", "/var/spool"):
        assert gone not in text
    assert 'maxMessageSize="32k"' in text
    assert 'workDirectory="/scratch"' in text
    said = [str(one) for one in made.left_out]
    assert f"{tmp_path}/rsyslog.conf:7:5: action omprog" in said
    assert {one.split(": ")[1] for one in said} == {
        "module imuxsock", "module imklog", "module omprog", "input imuxsock", "action omprog",
        "action omfwd",
    }  # fmt: skip


def test_files_are_written_below_the_folder_of_the_lab(tmp_path: Path) -> None:
    more = 'template(name="hosts" type="string" string="/var/log/%HOSTNAME%.log")\n*.* ?hosts\n'
    text = text_of(tmp_path, f"{ES})", f"{more}*.* /var/log/all.log\n")
    assert 'file="/scratch/files/var/log/all.log"' in text
    assert 'string="/scratch/files/var/log/%HOSTNAME%.log"' in text


NUMBER = "%timereported:::date-unixtimestamp%%timereported:::date-subseconds%"
TEMPLATES = {
    "none": ("", "", f'"rsyslog_tune_seq":10{NUMBER}}}'),
    "string": (
        'template="t"',
        r'template(name="t" type="string" string="{\"m\":\"%msg:::json%\"}\n")',
        rf"\"rsyslog_tune_seq\":10{NUMBER}}}\n",
    ),
    "list": (
        'template="t"',
        'template(name="t" type="list") { constant(value="{\\"m\\":\\"") '
        'property(name="msg" format="json") constant(value="\\"}") }',
        'constant(value="\\",\\"rsyslog_tune_seq\\":")',
    ),
    "jsonf": (
        'template="t"',
        'template(name="t" type="list" option.jsonf="on") '
        '{ property(outname="m" name="msg" format="jsonf") }',
        'property(name="$.rsyslog_tune_seq_0" outname="rsyslog_tune_seq" format="jsonf")',
    ),
    "subtree": (
        'template="t"',
        'template(name="t" type="subtree" subtree="$!")',
        'set $!rsyslog_tune_seq = exec_template("rsyslog-tune-number-0");',
    ),
}


@pytest.mark.parametrize("kind", TEMPLATES)
def test_documents_get_the_number_of_their_event(kind: str, tmp_path: Path) -> None:
    parameters, template, member = TEMPLATES[kind]
    text = text_of(tmp_path, f"{ES} {parameters})", template)
    assert member.replace('"', '\\"') in text or member in text
    assert 'template="rsyslog-tune-document-0"' in text


def test_each_output_has_a_number_of_its_own(tmp_path: Path) -> None:
    other = ES.replace('"es"', '"two"')
    made = fitted(tmp_path, f'input(type="imtcp" port="514")\n*.* {ES})\n*.* {other})\n')
    assert made.outputs == ("action[es]", "action[two]")
    text = printed(made.block)
    assert f"10{NUMBER}" in text
    assert f"11{NUMBER}" in text


def test_what_has_no_room_for_a_number_is_left_out(tmp_path: Path) -> None:
    template = 'template(name="t" type="string" string="%msg%")\n'
    with pytest.raises(Refused, match="no room for a number"):
        text_of(tmp_path, f'{ES} template="t")', template)


def test_names_that_events_make_begin_with_our_prefix(tmp_path: Path) -> None:
    more = 'template(name="i" type="string" string="logs-%$year%")\n'
    text = text_of(tmp_path, f'{ES} dynSearchIndex="on" searchIndex="i")', more)
    assert 'string="rsyslog-tune-x-logs-%$year%"' in text


def test_queues_keep_their_files_in_the_lab(tmp_path: Path) -> None:
    queue = 'queue.type="Disk" queue.filename="q" queue.spoolDirectory="/data"'
    text = text_of(tmp_path, f"{ES} {queue})")
    assert 'queue.spoolDirectory="/scratch"' in text
    assert 'queue.filename="q"' in text
    assert "/data" not in text

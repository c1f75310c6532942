"""A configuration in a lab: what of the host is touched there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.rainerscript.parser import parse
from tuner.validate.comparable import ComparableScript

URL = "http://127.0.0.1:65001"


def in_lab(text: str) -> tuple[str, ComparableScript]:
    """A configuration as it runs in a lab, and what that has for it."""
    block, refused = parse(text, "rsyslog.conf")
    assert not refused
    made = ComparableScript(URL, "/lab")
    return made.text(block), made


TEXT = """\
module(load="imtcp" streamdriver.name="gtls")
module(load="imuxsock" sysSock.name="/run/log" sysSock.rateLimit.burst="7")
module(load="imklog")
module(load="imfile" mode="polling" pollingInterval="60")
module(load="mmjsonparse")
global(workDirectory="/var/spool/rsyslog" umask="0077" parser.permitSlashInProgramName="on")
input(type="imtcp" address="10.0.0.1" port="601" streamdriver.mode="1" ruleset="in")
input(type="imudp" port="602" ratelimit.burst="5")
input(type="imfile" file="/var/log/app*" tag="app" freshStartTail="on")
input(type="imuxsock" socket="/run/other" rateLimit.interval="5")
main_queue(queue.size="1234" queue.filename="main")
ruleset(name="in") {
    action(type="mmjsonparse" cookie="")
    action(type="omelasticsearch" server="es.example" serverport="9200" uid="u" pwd="p"
           template="d" errorfile="/var/log/refused" queue.type="LinkedList" queue.filename="es")
    if $msg contains "x" then action(type="omfwd" target="far.example" port="514")
    action(type="omfile" file="/var/log/all")
    action(type="ommail" server="mail.example")
}
"""


def test_all_that_decides_what_is_delivered_runs_and_nothing_leaves_the_lab() -> None:
    configuration, _ = in_lab(TEXT)
    for kept in (
        'load="mmjsonparse"', 'cookie=""', 'template="d"', 'queue.type="LinkedList"',
        'queue.size="1234"', 'ruleset="in"', 'ratelimit.burst="5"', "$msg contains",
        'parser.permitSlashInProgramName="on"',
    ):  # fmt: skip
        assert kept in configuration
    for gone in (
        "es.example", "serverport", "pwd", '"omfwd"', "ommail", '"/var/log', "imklog",
        "10.0.0.1", '"601"', '"602"', "queue.filename", "streamdriver.mode",
        "/var/spool", "umask", "polling", "freshStartTail", "rateLimit.interval",
        'rateLimit.burst="7',
    ):  # fmt: skip
        assert gone not in configuration
    assert configuration.count("unset $.rsyslogtunenothing;") == 1
    assert f'server="{URL}"' in configuration


def test_events_enter_by_each_input_in_its_own_way() -> None:
    configuration, made = in_lab(TEXT)
    kinds = ["imuxsock", "imtcp", "imudp", "imfile", "imuxsock"]
    assert [one.kind for one in made.entries] == kinds
    system, tcp, udp, file, other = made.entries
    for said in (
        f'sysSock.name="{system.path}"', f'port="{tcp.port}"', f'port="{udp.port}"',
        f'File="{file.path}"', f'Socket="{other.path}"', 'tag="app"',
    ):  # fmt: skip
        assert said in configuration
    assert file.path == "/lab/read/var/log/appx"


LEGACY = """\
$ModLoad imudp
$ModLoad imfile
$ModLoad imuxsock
$SystemLogSocketName /run/log
$SystemLogRateLimitInterval 3
$AddUnixListenSocket /run/other
$InputFileName /var/log/app
$InputFilePollInterval 30
$InputRunFileMonitor
$WorkDirectory /var/spool/rsyslog
$UDPServerAddress 10.0.0.1
$UDPServerRun 514
$ActionQueueFileName fwd
$ActionQueueType LinkedList
*.* @@far.example:514
*.* /var/log/all
:msg, contains, "debug" ~
"""


def test_so_it_is_with_the_form_before_version_6() -> None:
    configuration, made = in_lab(LEGACY)
    for kept in ("$ModLoad imudp", "$ActionQueueType LinkedList", '"debug"', "~"):
        assert kept in configuration
    for gone in (
        " /var/", "10.0.0.1", "Run 514\n", "FileName fwd", "@@", "Interval 3", "/run/",
    ):  # fmt: skip
        assert gone not in configuration
    assert [one.kind for one in made.entries] == ["imuxsock", "imuxsock", "imfile", "imudp"]
    system, other, file, udp = made.entries
    for said in (
        f"$SystemLogSocketName {system.path}\n", f"$AddUnixListenSocket {other.path}\n",
        f"$InputFileName {file.path}\n", "$InputFilePollInterval 1\n",
        f"$UDPServerRun {udp.port}\n",
    ):  # fmt: skip
        assert said in configuration


def test_the_socket_of_the_system_may_be_nobodys() -> None:
    _, made = in_lab(LEGACY.replace("$SystemLogSocketName /run/log", "$OmitLocalLogging on"))
    assert [one.kind for one in made.entries] == ["imuxsock", "imfile", "imudp"]
    _, made = in_lab('module(load="imuxsock" sysSock.use="off")\ninput(type="imtcp" port="1")\n')
    assert [one.kind for one in made.entries] == ["imtcp"]


LINES = """\
module(load="imtcp")
input(type="imtcp" port="601")
template(name="path" type="string" string="/srv/%hostname%.log")
action(type="omfile" file="/var/log/all" template="RSYSLOG_FileFormat" fileOwner="syslog")
action(type="omfile" dynaFile="path")
action(type="omfwd" target="Far.example" port="6514" protocol="tcp"
       action.execOnlyWhenPreviousIsSuspended="on")
action(type="omkafka" broker="k:9092" topic="path" dynatopic="on")
"""


def test_lines_go_into_files_that_say_where_they_would_have_gone() -> None:
    configuration, _ = in_lab(LINES)
    for kept in (
        'template="RSYSLOG_FileFormat" file="/lab/files/var/log/all")',
        '$.rsyslogtunepath = exec_template("path")',
        '$.rsyslogtunepath = replace($.rsyslogtunepath, "..", "__")',
        'property(name="$.rsyslogtunepath")', 'constant(value="/lab/files/")',
        '= exec_template("RSYSLOG_TraditionalForwardFormat")',
        'file="/lab/sent/omfwd:tcp:far.example:6514"',
        'action.execOnlyWhenPreviousIsSuspended="on"', 'constant(value="/lab/sent/omkafka:")',
    ):  # fmt: skip
        assert kept in configuration
    assert "fileOwner" not in configuration
    assert 'type="omfwd"' not in configuration


def test_a_type_that_depends_on_the_event_is_left_out_with_its_template() -> None:
    action = 'action(type="omelasticsearch" searchType="t" dynSearchType="on" pipelineName="p")'
    configuration, _ = in_lab(action)
    assert "dynSearchType" not in configuration
    assert 'pipelineName="p"' in configuration


def test_the_file_of_an_outchannel_is_in_the_lab_and_no_command_runs(tmp_path: Path) -> None:
    block, refused = parse(
        "$outchannel rot, /var/log/rot, 1000, /bin/rotate\n*.* :omfile:$rot\n", "x.conf"
    )
    assert not refused
    text = ComparableScript("http://127.0.0.1:9200", str(tmp_path)).text(block)
    assert ":omfile:$rot" in text
    (channel,) = (one for one in text.splitlines() if one.startswith("$"))
    assert channel.startswith(f"$outchannel rot,{tmp_path}/")
    assert channel.endswith("/var/log/rot")


@pytest.mark.parametrize(
    ("action", "template"),
    [
        ('type="omfwd" target="up"', "RSYSLOG_TraditionalForwardFormat"),
        ('type="omrelp" target="up" port="1"', "RSYSLOG_ForwardFormat"),
        ('type="omprog" binary="/bin/cat"', "RSYSLOG_FileFormat"),
    ],
)
def test_what_is_sent_has_the_format_that_rsyslog_gives_it(
    action: str, template: str, tmp_path: Path
) -> None:
    block, _ = parse(f"action({action})\n", "x.conf")
    text = ComparableScript("http://127.0.0.1:9200", str(tmp_path)).text(block)
    assert f'exec_template("{template}")' in text


def test_an_input_of_the_old_form_listens_on_a_port_of_the_lab(tmp_path: Path) -> None:
    block, _ = parse("$InputPTCPServerRun 514\n$InputRELPServerRun 515\n", "x.conf")
    made = ComparableScript("http://127.0.0.1:9200", str(tmp_path))
    text = made.text(block)
    assert [one.kind for one in made.entries] == ["imptcp"]
    assert f"$InputPTCPServerRun {made.entries[0].port}\n" in text
    assert " 514\n" not in text


def test_documents_that_are_created_without_ids_still_are_for_engines_that_make_them(
    tmp_path: Path,
) -> None:
    """rsyslogd refuses the action else."""
    action = 'type="omelasticsearch" writeOperation="create" esVersion.major="8"'
    block, _ = parse(f"action({action})\n", "x.conf")
    assert 'esVersion.major="8"' in ComparableScript("http://127.0.0.1:1", str(tmp_path)).text(
        block
    )

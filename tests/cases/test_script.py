"""A configuration as it runs to be tested."""

from __future__ import annotations

import pytest

from tuner.cases.run import Surface, surface
from tuner.cases.script import CaseScript
from tuner.lab.entrances import ReadFile, TcpPort, UnixSocket
from tuner.profile.base import read_text

TEXT = """\
module(load="imtcp" streamDriver.mode="1" threads="4")
module(load="imudp" threads="2" timeRequery="4")
module(load="imrelp")
module(load="imfile" mode="polling")
module(load="imuxsock" sysSock.annotate="on")
module(load="imklog")
global(workDirectory="/var/spool/rsyslog" defaultNetstreamDriver="gtls" maxMessageSize="16k")
main_queue(queue.type="Disk" queue.filename="main")
input(type="imtcp" port="601" ruleset="in")
input(type="imudp" port="602" allowedSender="10.0.0.0/8")
input(type="imrelp" port="603" tls="on" ruleset="in")
input(type="imfile" file="/var/log/apps/*.log" tag="app:")
input(type="imfile" file="/var/log/java" startmsg.regex="^[0-9]")
ruleset(name="in" queue.type="Disk" queue.filename="in" queue.minDequeueBatchSize="500") {
    action(name="es" type="omelasticsearch" searchIndex="name" dynSearchIndex="on" template="d"
           server="far.example" queue.type="LinkedList" queue.filename="es")
    action(type="omelasticsearch" template="d")
    action(name="all" type="omfile" file="/var/log/all")
    action(name="mail" type="ommail")
    action(name="fix" type="mmutf8fix" queue.type="Direct")
}
action(name="far" type="omfwd" target="far.example" port="514")
"""


def fitted(text: str) -> tuple[CaseScript, str]:
    base = read_text("rsyslog.conf", text)
    script = CaseScript(base, "http://127.0.0.1:65001", "/lab", mark="#m#")
    return script, script.text()


def seen(text: str) -> Surface:
    return surface(read_text("rsyslog.conf", text))


def test_inputs_and_outputs_are_called_as_they_are_written() -> None:
    found = seen(TEXT)
    assert found.inputs == {
        "imuxsock": "unix", "imtcp:601": "tcp", "imudp:602": "udp", "imrelp:603": "tcp",
        "imfile:/var/log/apps/*.log": "file",
    }  # fmt: skip
    assert found.outputs == ("es", "action[2]", "all", "far")
    assert [one.message for one in found.gaps] == [
        "imrelp:603: an imptcp stands for it",
        "input imfile:/var/log/java: no test sends to it",
        "output mail: ommail is not tested",
    ]


def test_what_becomes_of_messages_stays_and_nothing_leaves_the_lab() -> None:
    _, text = fitted(TEXT)
    for kept in (
        'timeRequery="4"', 'maxMessageSize="16k"', 'template="d"', 'exec_template("name")',
        'tag="app:"', 'type="mmutf8fix"', 'annotate="on"',
    ):  # fmt: skip
        assert kept in text
    for gone in (
        '"far.example"', "threads=", "polling", "imklog", "gtls", "/var/spool", "imrelp",
        "ommail", "9200",
        '"/var/log', '"Disk"', "minDequeueBatchSize", "queue.filename", "allowedSender",
        "streamDriver",
    ):  # fmt: skip
        assert gone not in text
    assert 'sysSock.name="/lab/socket0"' in text


def test_one_worker_keeps_the_order_of_each_queue() -> None:
    _, text = fitted(TEXT)
    queue = 'queue.type="LinkedList" queue.workerThreads="1" queue.timeoutShutdown="10000"'
    assert f"main_queue({queue})" in text
    assert f'ruleset(name="in" {queue})' in text
    assert text.count("queue.type") == 2


def test_each_ruleset_begins_with_the_number_of_the_case() -> None:
    _, text = fitted(TEXT)
    entrance = 'if $rawmsg contains "#m#" then {\n'
    assert text.count(entrance) == 2
    assert text.index(entrance) < text.index("RSYSLOG_TraditionalForwardFormat")
    after = text.partition('ruleset(name="in"')[2]
    assert after.partition("\n")[2].lstrip().startswith(entrance)


def test_documents_and_files_are_named_for_case_and_output() -> None:
    _, text = fitted(TEXT)
    flat = " ".join(text.split())
    case = 'property(name="$.rsyslogtunecase")'
    in_path = 'property(name="$.rsyslogtunecase" securepath="replace")'
    for parts in (
        f'constant(value="c") {case} constant(value="/0/") property(name="$.rsyslogtuneindex")',
        f'constant(value="c") {case} constant(value="/1/") constant(value="system")',
        f'constant(value="/lab/written/c") {in_path} constant(value="/2/") '
        'constant(value="files/var/log/all")',
        f'constant(value="/lab/written/c") {in_path} constant(value="/5/") '
        'constant(value="sent/omfwd:udp:far.example:514")',
    ):
        assert parts in flat, parts


def test_messages_enter_where_the_input_is_in_the_lab() -> None:
    script, text = fitted(TEXT)
    assert script.entrances["imuxsock"] == UnixSocket("/lab/socket0")
    path = "/lab/read/var/log/apps/x.log"
    assert script.entrances["imfile:/var/log/apps/*.log"] == ReadFile(path)
    assert f'File="{path}"' in text
    tcp = script.entrances["imrelp:603"]
    assert isinstance(tcp, TcpPort)
    port = tcp.port
    assert f'input(ruleset="in" type="imptcp" address="127.0.0.1" port="{port}")' in text


def test_without_an_input_that_a_test_can_send_to_a_socket_stands_for_one() -> None:
    found = seen('module(load="imklog")\naction(type="omfile" file="/var/log/all")\n')
    assert found.inputs == {"imuxsock": "unix"}
    assert found.outputs == ("action[1]",)


def test_the_socket_of_the_system_may_be_nobodys() -> None:
    found = seen('module(load="imuxsock" sysSock.use="off")\ninput(type="imtcp" port="1")\n')
    assert found.inputs == {"imtcp:1": "tcp"}


def test_of_inputs_that_are_called_alike_the_first_is_tested() -> None:
    found = seen('input(type="imudp" port="1" address="10.0.0.1")\ninput(type="imudp" port="1")\n')
    assert found.inputs == {"imudp:1": "udp"}
    assert [str(one) for one in found.gaps] == [
        "rsyslog.conf:2:1: input imudp:1: no test sends to it"
    ]


OLD = """\
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
$RepeatedMsgReduction on
$outchannel rot, /var/log/rot, 1000, /bin/rotate
$ActionQueueFileName fwd
$ActionQueueType LinkedList
*.* @@far.example
*.* /var/log/all
*.* :omfile:$rot
:msg, contains, "debug" ~
"""


def test_the_form_before_version_6_is_tested_too() -> None:
    found = seen(OLD)
    inputs = {
        "imudp:514": "udp", "imuxsock": "unix", "imuxsock:/run/other": "unix",
        "imfile:/var/log/app": "file",
    }  # fmt: skip
    assert found.inputs == inputs
    assert found.outputs == ("action[1]", "action[2]", "action[3]")
    assert "$RepeatedMsgReduction" in [one.message for one in found.gaps]
    _, text = fitted(OLD)
    assert '"debug"' in text
    for gone in (
        '"/var', '"/run', "10.0.0.1", '"514"', '"fwd"', "rateLimit", "/bin/rotate", "polling",
    ):  # fmt: skip
        assert gone not in text


LINES = """\
template(name="path" type="string" string="/srv/%hostname%.log")
action(type="omfile" dynaFile="path" template="RSYSLOG_FileFormat" fileOwner="syslog")
action(type="omkafka" broker="k:9092" topic="path" dynatopic="on"
       action.execOnlyWhenPreviousIsSuspended="on")
"""


def test_lines_whose_place_depends_on_the_event_go_into_files_that_say_it() -> None:
    _, text = fitted(LINES)
    flat = " ".join(text.split())
    for kept in (
        'template="RSYSLOG_FileFormat"', '$.rsyslogtunepath = exec_template("path")',
        '$.rsyslogtunepath = replace($.rsyslogtunepath, "..", "__")',
        'constant(value="files/") property(name="$.rsyslogtunepath")',
        'constant(value="sent/omkafka:") property(name="$.rsyslogtunepath")',
        'action.execOnlyWhenPreviousIsSuspended="on"',
    ):  # fmt: skip
        assert kept in flat, kept
    assert "fileOwner" not in text


@pytest.mark.parametrize(
    ("action", "template"),
    [
        ('type="omfwd" target="up"', "RSYSLOG_TraditionalForwardFormat"),
        ('type="omrelp" target="up" port="1"', "RSYSLOG_ForwardFormat"),
        ('type="omprog" binary="/bin/cat"', "RSYSLOG_FileFormat"),
    ],
)
def test_what_is_sent_has_the_format_that_rsyslog_gives_it(action: str, template: str) -> None:
    _, text = fitted(f"action({action})\n")
    assert f'exec_template("{template}")' in text


def test_documents_are_created_as_the_engine_wants_them() -> None:
    """Without a version rsyslogd refuses the action that creates them without ids."""
    values = 'writeOperation="create" esVersion.major="8" dynSearchType="on" searchType="t"'
    _, text = fitted(f'action(type="omelasticsearch" {values} pipelineName="p")\n')
    for kept in ('writeOperation="create"', 'esVersion.major="8"', 'pipelineName="p"'):
        assert kept in text
    assert "dynSearchType" not in text

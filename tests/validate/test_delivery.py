"""What of a configuration runs in a lab to be compared, and the events that it gets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tuner.errors import Refused
from tuner.lab.entrances import ReadFile, TcpPort, UdpPort, UnixSocket
from tuner.rainerscript.parser import parse
from tuner.validate.delivery import await_same, bytes_below, delivered
from tuner.validate.equality import Arrival, Delivered
from tuner.validate.varied import EVENTS, number_in, varied_events, words_asked_for

URL = "http://127.0.0.1:65001"
KEPT = (
    b'{"create":{"_index":"logs","_id":"7","pipeline":"pipe"}}\n{"message":"n00001 a"}\n\n'
    b'{"index":{"_index":"other"}}\n{"message":"n00002 b"}\n'
)


class Lab:
    """A lab that only remembers: the configuration that ran, and what was sent where."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.configuration, self.entrances, self.asked = "", list[object](), list[str]()
        self.files: dict[str, bytes] = {}
        self.has_ipv6 = False
        self.sent: list[tuple[Any, ...]] = []
        for name, stand_in in {
            "Sink": self.sink, "Rsyslogd": self.rsyslogd, "EngineClient": self.client,
            "send": lambda *given: self.sent.append(given[:4]), "await_quiet": lambda *_: None,
            "send_local": lambda path, events: self.sent.append(("socket", path, events)),
            "_append": lambda _, path, events, __: self.sent.append(("file", path, events)),
            "has_ipv6": lambda: self.has_ipv6,
            "await_same": lambda *_: None, "listening": lambda _: None,
        }.items():  # fmt: skip
            patch.setattr(f"tuner.validate.delivery.{name}", stand_in)

    @contextmanager
    def sink(self, **_: object) -> Iterator[object]:
        yield SimpleNamespace(url=URL)

    def rsyslogd(self, text: str, folder: Path, entrances: Sequence[object]) -> object:
        self.configuration = text
        here = str(folder)
        for name, lines in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            # As JSON has it, and as it is.
            plain, brace, rest = lines.decode("latin-1").partition("{")
            rest = rest.replace("FOLDER", here).replace("/", "\\/") if "FOLDER" in rest else rest
            made = plain.replace("FOLDER", here) + brace + rest
            (folder / name).write_bytes(made.encode("latin-1"))
        self.entrances += entrances
        assert folder.is_dir()
        return SimpleNamespace(check=lambda: None, stop=lambda *_: None)

    def client(self, _url: str) -> object:
        @contextmanager
        def session() -> Iterator[Any]:
            yield SimpleNamespace(get=get)

        def get(path: str, **_: object) -> object:
            self.asked.append(path)
            return SimpleNamespace(content=KEPT, status_code=200)

        return SimpleNamespace(url=URL, new_session=session, close=lambda: None)

    def run(self, text: str) -> Delivered:
        block, refused = parse(text, "rsyslog.conf")
        assert not refused
        return delivered(block, [b"<13>one"])


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Lab:
    return Lab(monkeypatch)


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


def test_all_that_decides_what_is_delivered_runs_and_nothing_leaves_the_lab(lab: Lab) -> None:
    lab.run(TEXT)
    for kept in (
        'load="mmjsonparse"', 'cookie=""', 'template="d"', 'queue.type="LinkedList"',
        'queue.size="1234"', 'ruleset="in"', 'ratelimit.burst="5"', "$msg contains",
        'parser.permitSlashInProgramName="on"',
    ):  # fmt: skip
        assert kept in lab.configuration
    for gone in (
        "es.example", "serverport", "pwd", '"omfwd"', "ommail", '"/var/log', "imklog",
        "10.0.0.1", '"601"', '"602"', "queue.filename", "streamdriver.mode",
        "/var/spool", "umask",
    ):  # fmt: skip
        assert gone not in lab.configuration
    assert lab.configuration.count("unset $.rsyslogtunenothing;") == 1
    assert "continue" not in lab.configuration
    assert f'server="{URL}"' in lab.configuration


def test_the_events_enter_by_each_input_in_its_own_way(lab: Lab) -> None:
    made = lab.run(TEXT)
    assert [(kind, list(events)) for kind, _, events, *_ in lab.sent] == [
        (kind, [b"<13>one"]) for kind in ("socket", "tcp", "udp", "file", "socket")
    ]  # fmt: skip
    system, tcp, udp, file, other = (one[1] for one in lab.sent)
    assert lab.entrances == [
        UnixSocket(system), TcpPort(tcp), UdpPort(udp), ReadFile(file), UnixSocket(other),
    ]  # fmt: skip
    for said in (
        f'sysSock.name="{system}"', f'port="{tcp}"', f'port="{udp}"', f'File="{file}"',
        f'Socket="{other}"', 'tag="app"',
    ):  # fmt: skip
        assert said in lab.configuration
    for gone in ("polling", "freshStartTail", "rateLimit.interval", 'rateLimit.burst="7'):
        assert gone not in lab.configuration
    assert file.endswith("/read/var/log/appx")
    assert made.local == {"imuxsock /run/log", "imfile /var/log/app*", "imuxsock /run/other"}


def test_what_listens_everywhere_gets_the_events_over_ipv6_too(lab: Lab) -> None:
    lab.has_ipv6 = True
    lab.run(TEXT)
    sent = [(kind, *more) for kind, _, _, *more in lab.sent]
    assert [one for one in sent if one[0] in {"tcp", "udp"}] == [
        ("tcp", "127.0.0.1"), ("udp", "::1"), ("udp", "127.0.0.1"),
    ]  # fmt: skip


def test_a_file_that_is_read_is_called_in_documents_as_in_the_configuration(lab: Lab) -> None:
    path = "FOLDER/read/var/log/appx"
    lab.files = {"files/all": f'{path} {{"f":"{path}"}}\n'.encode()}
    (line,) = [one.text for one in lab.run(TEXT).arrivals if one.place]
    assert line == '/var/log/appx {"f":"\\/var\\/log\\/appx"}'


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


def test_so_it_is_with_the_form_before_version_6(lab: Lab) -> None:
    lab.has_ipv6 = True
    made = lab.run(LEGACY)
    for kept in ("$ModLoad imudp", "$ActionQueueType LinkedList", '"debug"', "~"):
        assert kept in lab.configuration
    for gone in (
        " /var/", "10.0.0.1", "Run 514\n", "FileName fwd", "@@", "Interval 3", "/run/",
    ):  # fmt: skip
        assert gone not in lab.configuration
    system, other, file, udp = lab.sent
    assert [one[0] for one in lab.sent] == ["socket", "socket", "file", "udp"]
    for said in (
        f"$SystemLogSocketName {system[1]}\n", f"$AddUnixListenSocket {other[1]}\n",
        f"$InputFileName {file[1]}\n", "$InputFilePollInterval 1\n", f"$UDPServerRun {udp[1]}\n",
    ):  # fmt: skip
        assert said in lab.configuration
    assert made.local == {"imuxsock /run/log", "imuxsock /run/other", "imfile /var/log/app"}


def test_the_socket_of_the_system_may_be_nobodys(lab: Lab) -> None:
    lab.run(LEGACY.replace("$SystemLogSocketName /run/log", "$OmitLocalLogging on"))
    assert [one[0] for one in lab.sent] == ["socket", "file", "udp"]
    lab.sent.clear()
    lab.run('module(load="imuxsock" sysSock.use="off")\ninput(type="imtcp" port="1")\n')
    assert [one[0] for one in lab.sent] == ["tcp"]


def test_what_nothing_can_be_sent_to_is_refused(lab: Lab) -> None:
    with pytest.raises(Refused, match="nothing can be sent to it"):
        lab.run('module(load="imklog")\nmodule(load="imjournal")\n')
    assert lab.sent == []


def test_what_the_sink_kept_is_told_by_document(lab: Lab) -> None:
    assert lab.run(TEXT).arrivals == (
        Arrival("logs", "7", '{"message":"n00001 a"}', "pipe"),
        Arrival("other", None, '{"message":"n00002 b"}'),
    )
    assert lab.asked == [f"{URL}/_sink/kept"]


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


def test_lines_go_into_files_that_say_where_they_would_have_gone(lab: Lab) -> None:
    lab.run(LINES)
    folder = lab.configuration.partition('file="')[2].partition("/files/var/log/all")[0]
    for kept in (
        f'template="RSYSLOG_FileFormat" file="{folder}/files/var/log/all")',
        '$.rsyslogtunepath = exec_template("path")',
        '$.rsyslogtunepath = replace($.rsyslogtunepath, "..", "__")',
        'property(name="$.rsyslogtunepath")', f'constant(value="{folder}/files/")',
        '= exec_template("RSYSLOG_TraditionalForwardFormat")',
        f'file="{folder}/sent/omfwd:tcp:far.example:6514"',
        'action.execOnlyWhenPreviousIsSuspended="on"', f'constant(value="{folder}/sent/omkafka:")',
    ):  # fmt: skip
        assert kept in lab.configuration
    assert "fileOwner" not in lab.configuration
    assert 'type="omfwd"' not in lab.configuration


def test_what_is_in_those_files_is_told_by_place(lab: Lab) -> None:
    lab.files = {
        "files/var/log/all": b"n00001 a\nn00002 \xff\n", "sent/omfwd:udp:far:514": b"n00001 a\n",
    }  # fmt: skip
    lines = [(one.place, one.text) for one in lab.run(LINES).arrivals if one.place]
    assert lines == [
        ("/var/log/all", "n00001 a"), ("/var/log/all", "n00002 \ufffd"),
        ("omfwd:udp:far:514", "n00001 a"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("parameters", "wanted"),
    [
        ('server="es"', {"http://es:9200"}),
        ('server="es" serverport="9999" usehttps="on"', {"https://es:9999"}),
        ('server="https://u:p@es.example"', {"https://es.example:443"}),
        ('server="https://[2001:db8::1]"', {"https://2001:db8::1:443"}),
        ('server="http://es/" serverport="9999"', {"http://es:9999"}),
        ('server=["es1", "http://es2:1/x/"]', {"http://es1:9200", "http://es2:1/x"}),
        ('server="es" pipelineName="geo"', {"http://es:9200 (geo)"}),
        ('server="es" pipelineName="geo" dynPipelineName="on"', {"http://es:9200"}),
    ],
)
def test_servers_are_those_that_rsyslogd_asks(parameters: str, wanted: set[str], lab: Lab) -> None:
    made = lab.run(f'input(type="imtcp" port="1") action(type="omelasticsearch" {parameters})')
    assert made.servers == wanted


def test_a_type_that_depends_on_the_event_is_left_out_with_its_template(lab: Lab) -> None:
    action = 'action(type="omelasticsearch" searchType="t" dynSearchType="on" pipelineName="p")'
    lab.run(f'input(type="imtcp" port="1") {action}')
    assert "dynSearchType" not in lab.configuration
    assert 'pipelineName="p"' in lab.configuration


def test_every_event_has_a_number_that_its_document_tells_but_for_empty_ones() -> None:
    events = varied_events({})
    numbers = [number_in(one.decode("latin-1")) for one in events]
    assert numbers == [*range(EVENTS - 2), None, None]
    assert number_in('{"message": "no number"}') is None
    assert events == varied_events({})


def test_the_events_differ_in_what_configurations_look_at() -> None:
    events = varied_events({})
    texts = [one.decode("latin-1") for one in events]
    priorities = {text.partition(">")[0] for text in texts}
    assert len(priorities - {"<13"}) >= 191
    for words in (
        "sshd[", "web1 ", "db2 ", "postfix/smtpd", "@cee:", "\\", '"quoted"', " 2001:db8::1 ",
        "-05:00 ", "+05:30 ", "Z ", ">1 - - - - - - ", '[a@1 k="', "no priority ", ">no head ",
        "\t", "caf\xe9 ", "\x00",
    ):  # fmt: skip
        assert any(words in text for text in texts), words
    assert max(map(len, events)) > 9000
    assert b"<13>" in events
    # JSON stays JSON where its number is a member.
    made = [json.loads(text[text.index("{") :]) for text in texts if ',"mark":"n' in text]
    assert made
    assert all(number_in(one["mark"]) is not None for one in made)


def test_what_conditions_ask_for_is_among_the_events() -> None:
    asked = {
        "programname": ("backup",), "app-name": ("app7",), "syslogtag": ("tag7:",),
        "hostname": ("mail7", "no host", "h" * 49), "source": ("src7",), "msgid": ("ID7",),
        "msg": ("needle in",), "rawmsg": (" raw7 ",),
    }  # fmt: skip
    texts = [one.decode("latin-1") for one in varied_events(asked)]
    for words in (" backup[", " app7[", " tag7: ", " mail7 ", " src7 ", " ID7 - ", "needle in n",
                  'needle in {"user":"eve","status":200,"mark":"n', " raw7 ",
                  'raw7 {"user":"eve"'):  # fmt: skip
        assert any(words in text for text in texts), words
    # What cannot stand in the head of a message does not.
    for words in ("no host", "h" * 49):
        assert not any(words in text for text in texts)


@pytest.mark.parametrize("body", ["plain text", "@cee:", '"quoted"', "x" * 900])
def test_every_text_comes_from_several_programs(body: str) -> None:
    texts = [one.decode("latin-1") for one in varied_events({}) if body.encode() in one]
    programs = ("sshd", "sudo", "kernel", "nginx", "app-1", "CRON", "postfix/smtpd")
    from_one = [
        program
        for program in programs
        if any(f" {program}[" in text or f" {program} " in text for text in texts)
    ]
    assert len(from_one) > len(programs) / 2


def test_a_condition_on_a_byte_that_is_no_utf_8_is_met() -> None:
    asked = {"msg": ["caf\udce9"], "hostname": ["h\udce9"], "programname": ["p\udce9"]}
    events = b"".join(varied_events(asked))
    assert b"caf\xe9" in events


def test_texts_that_conditions_compare_with_are_found_by_property() -> None:
    block, refused = parse(
        'if $programname == "sshd" and $msg contains ["a", "b"] then stop\n'
        'if not ($programname startswith "su") then stop\n'
        ':hostname, isequal, "web1" stop\n',
        "rsyslog.conf",
    )
    assert not refused
    assert words_asked_for(block) == {
        "programname": ("sshd", "su"), "msg": ("a", "b"), "hostname": ("web1",),
    }  # fmt: skip


def test_the_end_is_awaited_until_nothing_more_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state that stays the same for a moment; one that never does is waited for so long."""
    now, seen = [0.0], iter([1, 2, 3, 3, 4])

    def sleep(seconds: float) -> None:
        now[0] += seconds

    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=sleep)
    monkeypatch.setattr("tuner.validate.delivery.time", clock)
    await_same(lambda: next(seen), 2.0, 100.0)
    assert (now, next(seen)) == ([6.0], 4)
    await_same(object, 2.0, 10.0)
    assert now == [16.0]


def test_what_is_written_is_counted_in_every_folder_below(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "a").write_text("12345", encoding="utf-8")
    (tmp_path / "deep" / "er" / "b").write_text("678", encoding="utf-8")
    assert bytes_below(tmp_path) == 8

"""What leaves the importer does what went in: each difference that nobody was told of, on a real
rsyslogd."""

from __future__ import annotations

import json
import re
import shutil
from subprocess import run

import pytest

from tests.importer.test_import import listed
from tests.live.imported import Became, both_ways
from tuner.lab.ports import free_port
from tuner.lab.rsyslogd import Rsyslogd

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

UDP = 'module(load="imudp")\ninput(type="imudp" address="127.0.0.1" port="PORT")\n'
ENGINE = 'module(load="omelasticsearch")\n'
INTO = 'action(type="omelasticsearch" server="127.0.0.1" serverport="ENGINE" bulkmode="on" '


def _values(became: Became) -> list[tuple[str, object]]:
    return [(index, json.loads(document)) for index, document in became.documents]


@pytest.mark.full
def test_names_of_senders_are_looked_up_as_before() -> None:
    """In filters, names of files, and for the host of messages that name none."""
    text = (
        f'{UDP}{ENGINE}template(name="d" type="string" '
        'string="{\\"host\\":\\"%hostname:::json%\\",\\"m\\":\\"%msg:::json%\\"}")\n'
        'template(name="f" type="string" string="/FOLDER/%fromhost%.log")\n'
        f'if $fromhost == "localhost" then {INTO}searchIndex="local" template="d")\n'
        'action(type="omfile" dynaFile="f")\n'
    )
    both = both_ways(text, [b"<13>Oct 11 22:14:15 su: x"])
    assert both.original.documents == (("local", b'{"host":"localhost","m":" x"}'),)
    assert both.profile == both.original
    assert both.original.files.keys() == {"localhost.log"}


@pytest.mark.full
def test_inputs_without_an_address_listen_on_all_of_both_kinds() -> None:
    listening: list[list[str]] = []

    def look(rsyslogd: Rsyslogd, port: int) -> None:
        said = run(["ss", "-lntuHp"], capture_output=True, text=True, check=True).stdout
        own = (line.split() for line in said.splitlines() if f"pid={rsyslogd.pid}," in line)
        listening.append(sorted(f"{one[0]} {one[4]}" for one in own))

    second = free_port()
    text = (
        'module(load="imudp") module(load="imtcp") module(load="imptcp")\n'
        'input(type="imudp" port="PORT") input(type="imtcp" port="PORT")\n'
        f'input(type="imptcp" port="{second}")\naction(type="omfile" file="/FOLDER/all.log")\n'
    )
    both = both_ways(text, [b"<13>Oct 11 22:14:15 h su: x"], look=look)
    original, profile = listening
    assert profile == original
    assert len(original) == 6
    assert both.profile == both.original


def test_values_without_quotes_keep_their_type() -> None:
    """A number stays one, with a fraction too, and so does a switch."""
    text = (
        f'{UDP}{ENGINE}set $.up = "1.5";\nset $.ok = "true";\nset $!n = "7";\n'
        'template(name="d" type="list") {\n'
        'constant(value="{\\"took\\":") property(name="msg" regex.type="ERE" '
        'regex.expression="took=([0-9.]+)" regex.submatch="1" regex.nomatchMode="ZERO")\n'
        'constant(value=",\\"up\\":") property(name="$.up") constant(value=",\\"ok\\":")\n'
        'property(name="$.ok") constant(value=",\\"pri\\":") property(name="pri")\n'
        'constant(value=",") property(outname="pid" name="procid" format="jsonf" '
        'dataType="number") constant(value="}") }\n'
        f'{INTO}template="d" searchIndex="d")\n'
    )
    both = both_ways(
        text, [b"<13>Oct 11 22:14:15 h a[7]: took=1.25", b"<14>Oct 11 22:14:15 h a[8]:"]
    )
    assert [document for _, document in both.original.documents] == [
        b'{"took":1.25,"up":1.5,"ok":true,"pri":13,"pid":7}',
        b'{"took":0,"up":1.5,"ok":true,"pri":14,"pid":8}',
    ]
    assert _values(both.profile) == _values(both.original)
    assert both.imported.kept == ()


@pytest.mark.full
def test_a_server_of_ipv6_without_a_port_has_curls() -> None:
    """rsyslogd takes the address for a port, and adds none, whatever serverPort says."""
    text = (
        f'{UDP}{ENGINE}action(type="omfile" file="/FOLDER/all.log")\n'
        'action(type="omelasticsearch" server="https://[::1]" serverPort="9")\n'
        'action(type="omelasticsearch" server="http://[::1]" serverPort="9" searchIndex="b")\n'
    )
    both = both_ways(text, [b"<13>Oct 11 22:14:15 h a: x"])
    original, profile = (
        set(re.findall(r"port (\d+)", became.said)) for became in (both.original, both.profile)
    )
    assert profile == original == {"80", "443"}


@pytest.mark.full
def test_an_event_of_the_night_goes_to_the_day_of_utc_as_before() -> None:
    text = (
        f'{UDP}{ENGINE}template(name="i" type="list") {{ constant(value="logs-")\n'
        'property(name="timereported" dateFormat="rfc3339" date.inUTC="on" position.from="1" '
        'position.to="10") }\n'
        'template(name="f" type="string" string="/FOLDER/%timereported:::date-year,date-utc%-'
        '%timereported:::date-month,date-utc%-%timereported:::date-day,date-utc%.log")\n'
        f'{INTO}searchIndex="i" dynSearchIndex="on")\naction(type="omfile" dynaFile="f")\n'
    )
    both = both_ways(text, [b"<13>1 2026-11-20T23:30:00-05:00 h app - - - late"])
    assert [index for index, _ in both.original.documents] == ["logs-2026-11-21"]
    assert [index for index, _ in both.profile.documents] == ["logs-2026-11-21"]
    assert both.original.files.keys() == both.profile.files.keys() == {"2026-11-21.log"}
    assert both.imported.kept == ()


@pytest.mark.full
def test_the_first_template_of_a_name_holds() -> None:
    twice = "".join(
        f'template(name="d" type="string" string="{name}:%msg%\\n")\n'
        f'action(type="omfile" file="/FOLDER/{name}.log" template="d")\n'
        for name in ("first", "second")
    )
    both = both_ways(UDP + twice, [b"<13>Oct 11 22:14:15 h a: x"])
    assert both.original.files == {"first.log": b"first: x\n", "second.log": b"first: x\n"}
    assert both.profile == both.original


@pytest.mark.full
def test_a_position_is_counted_from_either_end() -> None:
    text = (
        f'{UDP}{ENGINE}template(name="d" type="list") {{ constant(value="{{\\"tag\\":\\"")\n'
        'property(name="syslogtag" position.from="1" position.to="-2" format="json")\n'
        'constant(value="\\",\\"m\\":\\"") property(name="msg" position.from="2" format="json")\n'
        f'constant(value="\\"}}") }}\n{INTO}template="d" searchIndex="d")\n'
    )
    events = [b"<13>Oct 11 22:14:15 h app: x", b'<13>Oct 11 22:14:15 h a: {"k":1}']
    both = both_ways(text, events)
    assert _values(both.original) == [
        ("d", {"tag": "ap", "m": "x"}), ("d", {"tag": "a", "m": '{"k":1}'}),
    ]  # fmt: skip
    assert _values(both.profile) == _values(both.original)
    assert "parse" not in both.imported.data


def test_what_is_set_later_does_not_get_into_messages_sent_as_they_are() -> None:
    text = (
        f'{UDP}{ENGINE}template(name="raw" type="string" string="%msg%")\n'
        'template(name="d" type="string" '
        'string="{\\"env\\":\\"%$!env:::json%\\",\\"m\\":\\"%msg:::json%\\"}")\n'
        f'{INTO}template="raw" searchIndex="raw")\nset $!env = "prod";\n'
        f'{INTO}template="d" searchIndex="enriched")\n'
    )
    both = both_ways(text, [b'<13>Oct 11 22:14:15 h a: {"k":1,"env":"x"}'])
    assert dict(_values(both.original))["raw"] == {"k": 1, "env": "x"}
    assert sorted(both.profile.documents) == sorted(both.original.documents)
    assert [one["name"] for one in listed(both.imported, "outputs")] == ["logs"]


@pytest.mark.full
def test_bytes_stay_as_they_are_beside_json_and_where_texts_are_cut() -> None:
    text = (
        f'{UDP}template(name="d" type="string" string="{{\\"m\\":\\"%msg:::json%\\"}}\\n")\n'
        'template(name="cut" type="string" string="{\\"m\\":\\"%msg:2:12:json%\\"}\\n")\n'
        'template(name="raw" type="string" string="%msg%\\n")\n'
        + "".join(
            f'action(type="omfile" file="/FOLDER/{name}.log" template="{name}")\n'
            for name in ("raw", "d", "cut")
        )
    )
    sent = [
        b"a\xff\xfeb",
        b"caf\xc3\xa9 \xff \xe2\x82\xac!",
        b"\xf0\x9f\x90\x98 x\xe9 yy",
        b"plain",
    ]
    both = both_ways(text, [b"<13>Oct 11 22:14:15 h a: " + one for one in sent])
    assert both.original.files["raw.log"].split(b"\n") == [b" " + one for one in sent] + [b""]
    assert both.profile == both.original
    assert both.imported.kept == ()


@pytest.mark.full
def test_a_character_that_is_cut_in_two_is_left_out_alone() -> None:
    template = (
        'template(name="cut" type="list") { constant(value="{\\"m\\":\\"")\n'
        'property(name="msg" position.from="3" position.to="8" format="json") '
        'constant(value="\\"}\\n") }\n'
    )
    text = f'{UDP}{template}action(type="omfile" file="/FOLDER/cut.log" template="cut")\n'
    sent = [
        b"\xc3\xa9\xffabc\xc3\xa9",
        b"\xff\xffabcd\xff",
        b"abcde\xe2\x82\xac",
        b"aaaa\xc3\xa9\xc3\xa9",
    ]
    both = both_ways(text, [b"<13>Oct 11 22:14:15 h a: " + one for one in sent])
    (said,) = (one for one in both.imported.changed if "cuts in two" in one.message)
    assert said.message.startswith("m: ")
    assert both.profile.files["cut.log"].splitlines() == [
        b'{"m":"\xffabc"}', b'{"m":"\xffabcd\xff"}', b'{"m":"bcde"}', b'{"m":"aaa\xc3\xa9"}',
    ]  # fmt: skip


@pytest.mark.full
def test_tabs_of_files_stay_tabs() -> None:
    """What is read from files is not parsed, so that nothing escapes it on its way in."""
    text = (
        f'global(workDirectory="/FOLDER") module(load="imfile")\n{UDP}'
        'input(type="imfile" file="/FOLDER/app.txt" tag="app:")\n'
        'template(name="line" type="string" string="%msg%\\n")\n'
        'action(type="omfile" file="/FOLDER/all.log" template="line")\n'
    )
    both = both_ways(text, [], start={"app.txt": b"one\ttwo\n"})
    assert both.original.files == {"all.log": b"one\ttwo\n"}
    assert both.profile == both.original


@pytest.mark.full
def test_an_action_that_rsyslogd_refuses_sends_nothing_in_the_profile_either() -> None:
    text = (
        f'{UDP}{ENGINE}{INTO}searchIndex="d" writeOperation="create")\n'
        'action(type="omfile" file="/FOLDER/all.log" template="RSYSLOG_FileFormat")\n'
    )
    both = both_ways(text, [b"<13>1 2026-11-20T23:30:00Z h app - - - x"])
    assert "requires bulkid" in both.original.said
    assert not both.original.documents
    assert both.profile == both.original
    assert len(both.imported.missing) == 1

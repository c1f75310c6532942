"""What options make of a field, through a real rsyslogd: each in its document as valid JSON."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import pytest

from tests.live.outputs import place
from tests.live.test_documents import run, stored
from tests.live.test_json_whole import body
from tests.profile.examples import small
from tuner.engine.client import EngineClient, EngineRefused, at
from tuner.engine.feed import kept_bulks
from tuner.host.process import give_to_daemons
from tuner.lab.entrances import free_port
from tuner.lab.scratch import scratch, subfolder
from tuner.lab.sink import Sink
from tuner.modules.omfile import DynaFile, file_pattern
from tuner.render.engine_files import index_template

pytestmark = [pytest.mark.live, pytest.mark.each_rsyslogd("documents")]

HEAD = b'<165>1 2026-11-21T01:02:03.250000+01:00 Web-1 App 77 ID [a@1 b="c"] '
Fields = Sequence[Mapping[str, object]]


def written(folder: Path, fields: Fields, texts: list[bytes], **changes: object) -> list[object]:
    """The documents of RFC 5424 messages with these texts."""
    with Sink(keep=1000) as sink:
        client = EngineClient(sink.url)
        ours = {
            "inputs[0].port": free_port(),
            "outputs[logs].servers": [sink.url],
            "outputs[logs].document": [*fields, {"property": "procid", "name": "pid"}],
        }
        profile = small({**ours, **changes})
        messages = [HEAD + text for text in texts]
        run(profile, folder, messages, lambda: kept_bulks(client).count(b"\n") // 2)
        found = [json.loads(line) for line in kept_bulks(client).splitlines()[1::2]]
        client.close()
    assert len(found) == len(texts)
    assert {one.pop("pid") for one in found} == {"77"}
    return found


def field(name: str, **options: object) -> Mapping[str, object]:
    return {"property": "msg", "name": name, **options}


def test_a_text_is_cut_split_searched_and_its_case_changed(tmp_path: Path) -> None:
    fields = [
        {"property": "hostname", "name": "x-host", "case": "lower"},
        field("upper", case="upper"),
        field("cut", position={"from": 2, "to": 4}),
        field("rest", position={"from": 4}),
        field("second", split={"delimiter": ";", "number": 2}),
        field("found", regex={"expression": "b=([^ ;]*)", "submatch": 1}),
        field("zero", regex={"expression": "z=.*", "nomatch": "ZERO"}),
        field("whole", regex={"expression": "z=.*", "nomatch": "FIELD"}),
    ]
    found = written(tmp_path, fields, [b'a;b="\\;c', "äöüß;b=ß".encode(), b""])
    assert found[0] == {
        "x-host": "web-1", "upper": 'A;B="\\;C', "cut": ";b=", "rest": '="\\;c', "second": 'b="\\',
        "found": '"\\', "zero": "0", "whole": 'a;b="\\;c',
    }  # fmt: skip
    assert found[1] == {
        "x-host": "web-1", "upper": "äöüß;B=ß", "cut": "ö", "rest": "üß;b=ß", "second": "b=ß",
        "found": "ß", "zero": "0", "whole": "äöüß;b=ß",
    }  # fmt: skip
    empty = dict.fromkeys(("upper", "cut", "rest", "second", "found", "whole"), "")
    assert found[2] == {"x-host": "web-1", "zero": "0", **empty}


def test_a_character_that_is_cut_in_two_is_left_out(tmp_path: Path) -> None:
    fields = [
        field("cut", position={"from": 3, "to": 7}),
        field("byte", regex={"expression": "^.(.)", "submatch": 1}),
    ]
    found = written(tmp_path, fields, ["€€€".encode(), "\U0001f418abc".encode(), "ab€".encode()])
    assert found == [
        {"cut": "€", "byte": ""}, {"cut": "abc", "byte": ""}, {"cut": "€", "byte": "b"},
    ]  # fmt: skip


@pytest.mark.full
def test_what_options_find_is_typed_safely(tmp_path: Path) -> None:
    fields = [
        field("i", type="integer", regex={"expression": "i=([^ ]*)", "submatch": 1}),
        field("f", type="float", split={"delimiter": "^", "number": 2}),
        field("b", type="boolean", case="lower", split={"delimiter": "]", "number": 3}),
    ]
    texts = [b"i=5^2.5^]x]TRUE", b'i=5,"b":1^1e999^]]maybe', b"^]", b"i=-7 ^3^]x]false]y"]
    assert written(tmp_path, fields, texts) == [
        {"i": None, "f": 2.5, "b": True}, {"i": None, "f": None, "b": None},
        {"i": None, "f": None, "b": None}, {"i": -7, "f": 3, "b": False},
    ]  # fmt: skip


@pytest.mark.full
def test_empty_fields_are_skipped_null_or_blank(tmp_path: Path) -> None:
    fields = [
        *(field(f"{kind}.x", split={"delimiter": ",", "number": 1}, onEmpty=kind)
          for kind in ("skip", "null", "blank")),
        field("skip.n", type="integer", split={"delimiter": ",", "number": 2}, onEmpty="skip"),
        {"constant": 1, "type": "integer", "name": "skip.always"},
    ]  # fmt: skip
    texts = [b'a"b,5', b",x", b',","']
    found = written(tmp_path, fields, texts)
    assert found[0] == {
        "skip": {"always": 1, "x": 'a"b', "n": 5}, "null": {"x": 'a"b'}, "blank": {"x": 'a"b'},
    }  # fmt: skip
    empty = {"skip": {"always": 1}, "null": {"x": None}, "blank": {"x": ""}}
    assert found[1:] == [empty, empty]


@pytest.mark.full
def test_a_piece_of_csv_can_be_null_or_skipped(tmp_path: Path) -> None:
    fields = [{"column": name, "name": name, "onEmpty": kind}
              for name, kind in (("a", "null"), ("b", "skip"))]  # fmt: skip
    parse = {"format": "csv", "columns": ["a", "b"], "quoted": True}
    found = written(tmp_path, fields, [b'"x,y",z', b',""', b'"",""'], parse=parse)
    assert found == [{"a": "x,y", "b": "z"}, {"a": None}, {"a": None}]


@pytest.mark.full
def test_times_come_in_the_formats_of_rsyslog(tmp_path: Path) -> None:
    formats = {
        "rfc3339": "2026-11-21T01:02:03.250000+01:00", "rfc3164": "Nov 21 01:02:03",
        "unixtimestamp": 1795219323, "mysql": "20261121010203", "pgsql": "2026-11-21 01:02:03",
        "subseconds": "250000", "year": "2026", "month": "11", "day": "21", "hour": "01",
        "minute": "02", "second": "03", "wdayname": "Sat", "tzoffshour": "01", "tzoffsmin": "00",
        "tzoffsdirection": "+", "ordinal": "324",
    }  # fmt: skip
    fields: list[dict[str, object]] = [
        {"property": "timereported", "name": name, "dateFormat": name} for name in formats
    ]
    fields[2]["type"] = "integer"
    assert written(tmp_path, fields, [b"x"]) == [formats]


def test_every_source_is_known_to_rsyslog(tmp_path: Path) -> None:
    names = (
        "fromhost", "fromhost-ip", "inputname", "pri", "pri-text", "rawmsg-after-pri",
        "structured-data", "protocol-version", "uuid", "parsesuccess", "$myhostname", "$now",
        "$now-utc", "$year", "$month", "$day", "$hour", "$minute", "msgid",
    )  # fmt: skip
    fields: list[dict[str, object]] = [
        {"property": one, "name": "f" + one.strip("$")} for one in names
    ]
    fields[3]["type"] = "integer"
    (found,) = written(tmp_path, fields, [b'x"y'])
    assert isinstance(found, dict)
    assert found["ffromhost"] == found["ffromhost-ip"] == "127.0.0.1"
    assert (found["finputname"], found["fpri"], found["fmsgid"]) == ("imptcp", 165, "ID")
    assert found["fpri-text"] == "local4.notice"
    assert found["frawmsg-after-pri"].endswith('x"y')
    assert found["frawmsg-after-pri"].startswith("1 2026-11-21")
    assert found["fstructured-data"] == '[a@1 b="c"]'
    assert found["fprotocol-version"] == "1"
    assert len(found["fuuid"]) == 32
    assert found["fmyhostname"] == socket.gethostname().split(".")[0]
    assert found["fnow"][:4] == found["fyear"]
    assert found["fparsesuccess"] == "FAIL"
    assert all(found.values())


@pytest.mark.full
def test_metadata_of_imfile_cannot_be_forged_by_the_event(tmp_path: Path) -> None:
    with scratch(tmp_path) as below, Sink(keep=1000) as sink:
        log = subfolder(below, "logs") / "app.log"
        log.write_text('{"metadata": {"filename": "/evil", "fileoffset": 7}, "a": 1}\nno JSON\n')
        give_to_daemons(log.parent)
        client = EngineClient(sink.url)
        fields = [
            {"property": "$!metadata!filename", "name": "file"},
            {"property": "$!metadata!fileoffset", "name": "at", "type": "integer"},
            {"json": "a", "name": "a", "type": "json"},
        ]
        source = {"type": "imfile", "file": str(log), "tag": "app:", "addMetadata": True}
        changes: dict[str, object] = {
            "inputs": [{"type": "imptcp", "port": free_port()}, source],
            "global.workDirectory": str(log.parent),
            "outputs[logs].document": fields,
            "outputs[logs].servers": [sink.url],
            "parse": {"format": "json", "cookie": ""},
        }
        run(small(changes), tmp_path, [], lambda: kept_bulks(client).count(b"\n") // 2 - 2)
        found = [json.loads(line) for line in kept_bulks(client).splitlines()[1::2]]
        client.close()
    assert found == [
        {"file": str(log), "at": 0, "a": 1}, {"file": str(log), "at": 61, "a": None},
    ]  # fmt: skip


def addressed(folder: Path, changes: Mapping[str, object], messages: list[bytes]) -> list[object]:
    """What the line before each document says."""
    with Sink(keep=1000) as sink:
        client = EngineClient(sink.url)
        ours = {"inputs[0].port": free_port(), "outputs[logs].servers": [sink.url]}
        document = [{"property": "msg", "name": "m"}]
        profile = small({**ours, "outputs[logs].document": document, **changes})
        run(profile, folder, messages, lambda: kept_bulks(client).count(b"\n") // 2)
        found = [json.loads(line) for line in kept_bulks(client).splitlines()[::2]]
        client.close()
    for line in found:
        line["index"].pop("_type", None)  # before 8.2206 rsyslog cannot leave it out
    assert len(found) == len(messages)
    return found


NAMES = [
    ("Sshd", "sshd"), ("a.b-c_9", "a.b-c_9"), ("-", "other"), ("..", "other"), ("_x", "other"),
    ('a","_id":"1', "other"), ("a" * 64, "a" * 64), ("a" * 65, "other"), ("caf\u00e9", "other"),
    ("*", "other"), ("a,b", "other"), ("<a-{now/d}>", "other"), ("a:b", "other"),
]  # fmt: skip


def test_an_index_is_named_by_a_value_that_it_may_hold(tmp_path: Path) -> None:
    index = {"name": "app", "by": {"property": "app-name"}, "rotate": "monthly", "separator": "_"}
    head = b"<13>1 2026-11-21T01:02:03+01:00 h %b 7 - - x"
    messages = [head % name.encode() for name, _ in NAMES]
    found = addressed(tmp_path, {"outputs[logs].index": index}, messages)
    assert found == [{"index": {"_index": f"app-{part}-2026_11"}} for _, part in NAMES]


@pytest.mark.full
def test_an_index_is_named_by_a_member_of_json(tmp_path: Path) -> None:
    changes = {
        "outputs[logs].index": {"name": "app", "by": {"json": "k8s.ns", "fallback": "none"}},
        "parse": {"format": "json", "cookie": ""},
    }
    texts = [b'{"k8s": {"ns": "Prod"}}', b"no JSON", b'{"k8s": {"ns": {"a": 1}}}', b"{}"]
    found = addressed(tmp_path, changes, [HEAD + text for text in texts])
    names = ["app-prod", "app-none", "app-none", "app-none"]
    assert found == [{"index": {"_index": name}} for name in names]


@pytest.mark.full
@pytest.mark.parametrize(
    ("rotate", "separator", "name"),
    [("hourly", ".", "2026.11.21.01"), ("daily", "-", "2026-11-21"), ("weekly", ".", "2026.47"),
     ("monthly", "none", "202611")],
)  # fmt: skip
def test_dates_of_names_are_of_the_clock_that_is_asked_for(
    rotate: str, separator: str, name: str, tmp_path: Path
) -> None:
    index = {"name": "app", "rotate": rotate, "separator": separator}
    (ours,) = addressed(tmp_path, {"outputs[logs].index": index}, [HEAD + b"x"])
    assert ours == {"index": {"_index": f"app-{name}"}}


@pytest.mark.full
def test_the_clock_of_rsyslog_names_an_index_too(tmp_path: Path) -> None:
    index = {"name": "app", "rotate": "monthly", "clock": "generated"}
    head = HEAD.replace(b"2026", b"1999")
    (found,) = addressed(tmp_path, {"outputs[logs].index": index}, [head + b"x"])
    assert f"app-{datetime.now().astimezone():%Y.%m}" in str(found)


IDS = [
    "plain", "x" * 512, "/?&%", 'a"},"_index":"evil', "back\\slash", "caf\u00e9", "", "two words",
    "x" * 513,
]  # fmt: skip


def test_a_value_of_the_event_is_the_id_where_an_id_may_be(tmp_path: Path) -> None:
    changes = {"outputs[logs].bulkid": {"json": "id"}, "parse": {"format": "json", "cookie": ""}}
    messages = [HEAD + json.dumps({"id": one}).encode() for one in IDS]
    found = addressed(tmp_path, changes, messages)
    ids = [one["index"].pop("_id") for one in found if isinstance(one, dict)]
    assert found == [{"index": {"_index": "syslog"}}] * len(IDS)
    assert ids[:3] == IDS[:3]
    assert all(re.fullmatch("[0-9a-fA-F]{32}", one) for one in ids[3:]), ids[3:]
    assert len(set(ids)) == len(ids)


@pytest.mark.full
def test_indices_named_by_events_have_the_template(
    elasticsearch: EngineClient, tmp_path: Path
) -> None:
    index = {"name": "rsyslog-tune-by", "by": {"property": "app-name"}, "rotate": "hourly"}
    changes = {
        "inputs[0].port": free_port(),
        "outputs[logs].servers": [elasticsearch.url],
        "outputs[logs].index": {**index, "settings": {"number_of_replicas": 0}},
        "outputs[logs].document": [{"property": "msg", "name": "m"}],
    }
    profile = small(changes)
    body = index_template(profile, profile.measured)
    elasticsearch.request("PUT", "/_index_template/rsyslog-tune-by", body)

    def arrived() -> int:
        """The events in the engine, which answers 503 while an index is being made."""
        try:
            return stored(elasticsearch, "rsyslog-tune-by-*")
        except EngineRefused:
            return 0

    try:
        names = [b"Sshd", b"..", b"cron"]
        messages = [b"<13>1 2026-11-21T01:02:03Z h %b 7 - - x" % name for name in names]
        run(profile, tmp_path, messages, arrived)
        found = elasticsearch.get("/rsyslog-tune-by-*/_mapping")
    finally:
        for name in elasticsearch.get("/rsyslog-tune-by-*"):
            elasticsearch.request("DELETE", f"/{name}")
        elasticsearch.request("DELETE", "/_index_template/rsyslog-tune-by")
    parts = ("cron", "other", "sshd")
    assert sorted(found) == [f"rsyslog-tune-by-{part}-2026.11.21.01" for part in parts]
    assert all(at(one, "mappings", "dynamic") == "false" for one in found.values())


def test_a_line_is_written_as_the_profile_says_and_stays_one(tmp_path: Path) -> None:
    parts = [
        {"property": "timereported", "dateFormat": "year"}, {"constant": ' "%msg%" \\ '},
        {"property": "hostname", "case": "lower"}, {"constant": " ["},
        {"json": "a.b"}, {"constant": "] "}, {"property": "msg"}, {"constant": " "}, {"json": "*"},
        {"constant": " "}, {"property": "msg", "split": {"delimiter": ":", "number": 2}},
    ]  # fmt: skip
    texts = [body({"a": {"b": "x\ny"}}), b"two\nlines:\x01", b"%hostname%"]
    with place(tmp_path) as here:
        folder = here.folder / "logs"
        name = {"before": f"{folder}/", "property": "hostname", "between": "/", "rotate": "daily",
                "separator": "/", "clock": "reported", "after": ".log"}  # fmt: skip
        output = {"name": "f", "type": "omfile", "dynaFile": name, "line": parts}
        parse = {
            "parse": {"format": "json", "cookie": ""},
            "global": {"parser.escapeControlCharactersOnReceive": False},
        }
        with here.running([output], parse):
            here.send([HEAD + text for text in texts])
        (file,) = [one for one in folder.rglob("*") if one.is_file()]
        found = file.read_text(encoding="utf-8").splitlines()
        path = str(file.relative_to(folder))
    assert path == "Web-1/2026/11/21.log"
    start = '2026 "%msg%" \\ web-1 ['
    assert found[0].startswith(start + 'x#010y] {"a": {"b": "x\\ny"}} {"a":{"b":"x\\ny"}} ')
    assert found[1].startswith(start + "] two#010lines:#001 {")
    assert found[1].endswith(" #001")
    assert found[2] == start + '] %hostname% {"msg":"%hostname%"} '
    assert len(found) == 3


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ({"property": "hostname", "after": ".log"}, "/d/*.log"),
        ({"rotate": "hourly", "separator": "/", "after": ".log"}, "/d/*/*/*/*.log"),
        ({"rotate": "hourly", "separator": "none"}, "/d/*"),
        ({"property": "hostname", "between": "/", "rotate": "weekly"}, "/d/*/*"),
    ],
)
def test_the_pattern_of_files_has_their_folders(name: dict[str, object], pattern: str) -> None:
    assert file_pattern(DynaFile.model_validate({"before": "/d/", **name})) == pattern

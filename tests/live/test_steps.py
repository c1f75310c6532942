"""Steps of a stream through a real rsyslogd: what each makes of an event is found in the sink."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.live.outputs import daemon, lines, place
from tests.live.test_documents import create_index, run, search, stored
from tests.live.test_field_options import HEAD
from tests.profile.examples import small
from tuner.engine.client import EngineClient, at
from tuner.engine.feed import kept_bulks
from tuner.host.process import give_to_daemons
from tuner.lab.entrances import TcpPort, free_port
from tuner.lab.scratch import scratch
from tuner.lab.sink import Sink
from tuner.render.artefacts import rsyslog_conf
from tuner.render.form import Form

pytestmark = [pytest.mark.live, pytest.mark.each_rsyslogd("documents")]

Steps = Sequence[Mapping[str, object]]


def made(
    folder: Path, steps: Steps, texts: list[bytes], fields: Steps, **changes: object
) -> list[Any]:
    """The documents of RFC 5424 messages with these texts."""
    with Sink(keep=1000) as sink:
        client = EngineClient(sink.url)
        ours = {
            "inputs[0].port": free_port(),
            "outputs[logs].servers": [sink.url],
            "outputs[logs].document": fields,
            "steps": steps,
            **changes,
        }
        messages = [HEAD + text for text in texts]
        run(small(ours), folder, messages, lambda: kept_bulks(client).count(b"\n") // 2)
        found = [json.loads(line) for line in kept_bulks(client).splitlines()[1::2]]
        client.close()
    assert len(found) == len(texts)
    return found


JSON = {"parse": {"format": "json", "cookie": ""}}
MESSAGE = {"property": "msg", "name": "m"}


def test_addresses_are_made_anonymous_before_the_text_is_parsed(tmp_path: Path) -> None:
    steps: Steps = [{"type": "mmanon", "ipv4.bits": 16, "ipv6.bits": 64}, {"type": "parse"}]
    texts = [b'{"ip": "10.1.2.3"}', b"from 192.168.7.9 and 2001:db8:1:2:3:4:5:6"]
    found = made(tmp_path, steps, texts, [MESSAGE, {"json": "ip", "name": "ip"}], **JSON)
    assert found == [
        {"m": '{"ip": "10.1.0.0"}', "ip": "10.1.0.0"},
        {"m": "from 192.168.0.0 and 2001:db8:1:2:0:0:0:0", "ip": ""},
    ]


def test_what_was_parsed_before_keeps_its_addresses(tmp_path: Path) -> None:
    steps: Steps = [{"type": "parse"}, {"type": "mmanon", "ipv4.mode": "simple", "ipv4.bits": 8}]
    fields = [MESSAGE, {"json": "ip", "name": "ip"}]
    found = made(tmp_path, steps, [b'{"ip": "10.1.2.3"}'], fields, **JSON)
    assert found == [{"m": '{"ip": "10.1.2.x"}', "ip": "10.1.2.3"}]


def test_variables_are_set_in_order_where_a_filter_says_so_and_removed(tmp_path: Path) -> None:
    steps: Steps = [
        {"type": "set", "variable": "short", "value": [
            {"property": "hostname", "case": "lower"}, {"constant": "/"},
            {"property": "msg", "position": {"from": 2, "to": 4}}]},
        {"type": "set", "json": "user.label", "value": [{"variable": "short"}, {"json": "user.n"}],
         "filter": {"match": [{"variable": "short", "startswith": ["web-1/"]},
                              {"json": "kind", "isequal": ["a"]}]}},
        {"type": "unset", "json": "secret"},
        {"type": "set", "json": "none", "value": [{"json": "gone"}], "fallback": 'no "one" $x'},
    ]  # fmt: skip
    texts = [b'{"kind": "a", "user": {"n": 7}, "secret": "x"}', b'{"kind": "b"}', "€€€".encode()]
    fields = [{"json": "*"}, {"variable": "short", "name": "s"}]
    found = made(tmp_path, steps, texts, fields, **JSON)
    none = {"none": 'no "one" $x'}
    assert found == [
        {"s": 'web-1/"ki', "kind": "a", "user": {"n": 7, "label": 'web-1/"ki7'}, **none},
        {"s": 'web-1/"ki', "kind": "b", **none},
        {"s": "web-1/", "msg": "€€€", **none},
    ]


TABLE = {
    "version": 1, "nomatch": "", "type": "string",
    "table": [{"index": "web-1", "value": 'team "a"\\'}, {"index": 'q"', "value": "quoted"}],
}  # fmt: skip


def looked_up(folder: Path, texts: list[bytes]) -> list[object]:
    table = folder / "owners.json"
    table.write_text(json.dumps(TABLE), encoding="utf-8")
    table.chmod(0o644)
    steps = [
        {"type": "set", "variable": "owner", "lookup": "owners",
         "value": [{"property": "hostname", "case": "lower"}]},
        {"type": "set", "json": "by.text", "lookup": "owners", "value": [{"property": "msg"}],
         "fallback": "nobody"},
    ]  # fmt: skip
    fields = [{"variable": "owner", "name": "owner"}, {"json": "by.text", "name": "text"}]
    return made(folder, steps, texts, fields, lookup_tables={"owners": {"file": str(table)}})


def test_tables_are_looked_up_and_have_a_fallback(tmp_path: Path) -> None:
    with scratch(tmp_path) as below:
        give_to_daemons(below)
        found = looked_up(below, [b'q"', b'"), "$!x', b"web-1"])
    assert found == [
        {"owner": 'team "a"\\', "text": text} for text in ("quoted", "nobody", 'team "a"\\')
    ]


HOSTILE: list[object] = [
    {"owner": "evil", "n": "7"},
    {"OWNER": "evil", "N": 7},
    {"owner": {"name": "evil"}, "n": {"x": 1}},
    {"owner": ["evil"], "n": None, "a": {"b": {"keep": 1}, "keep": 2}},
    {"a": "evil"},
    {"a": None, "n": 5},
    {"a": {"b": ["evil"], "keep": 1}},
    {'owner":"evil","x': 1, "$!owner": "evil", "owner.name": "evil"},
    {"steps": {"1": "evil"}, "host": '"},{"index":{"_index":"evil'},
]


def test_what_an_event_brings_is_never_taken_for_what_a_step_sets(tmp_path: Path) -> None:
    steps: Steps = [
        {"type": "set", "json": "owner", "value": [{"property": "hostname"}]},
        {"type": "set", "variable": "n", "value": [{"property": "procid"}]},
        {"type": "set", "json": "copy", "value": [{"json": "*"}, {"property": "msg"}]},
        {"type": "set", "json": "a.b.c", "value": [{"constant": "ours"}]},
    ]
    fields: Steps = [
        {"json": "owner", "name": "by.owner"},
        {"json": "a.b.c", "name": "by.path"},
        {"variable": "n", "name": "n", "type": "integer"},
        {"json": "*"},
    ]
    texts = [json.dumps(one).encode() for one in HOSTILE]
    found = made(tmp_path, steps, texts, fields, **JSON)
    by = {"owner": "Web-1", "path": "ours"}
    assert [(one["by"], one["n"]) for one in found] == [(by, 77)] * len(HOSTILE)
    assert found[3]["a"] == {"b": {"keep": 1, "c": "ours"}, "keep": 2}
    assert found[6]["a"] == {"b": {"c": "ours"}, "keep": 1}
    for one, text in zip(found, texts, strict=True):
        assert one["copy"].endswith(text.decode())


def test_a_snippet_sees_what_steps_made_and_keeps_it_from_all_outputs(tmp_path: Path) -> None:
    step = {"type": "set", "variable": "host", "value": [{"property": "hostname", "case": "lower"}]}
    snippet = 'if $.host == "web-2" then stop\nset $!seen = $.host;\n'
    with place(tmp_path) as here:
        out = here.folder / "out"
        output = {
            "name": "file", "type": "omfile", "file": str(out),
            "line": [{"json": "seen"}, {"constant": " "}, {"property": "msg"}],
            "filter": {"match": [{"json": "seen", "isequal": ["web-1"]}]},
        }  # fmt: skip
        profile = here.profile([output], {"steps": [step], "snippets": {"outputs": ["s.conf"]}})
        config = rsyslog_conf(profile, form=Form({"s.conf": snippet}))
        with daemon(config, here.folder, [TcpPort(here.port)]):
            here.send([HEAD + b"one", HEAD.replace(b"Web-1", b"Web-2") + b"two"])
        found = lines(out)
    assert found == ["web-1 one"]


@pytest.mark.full
def test_what_steps_make_is_typed_and_searched_in_elasticsearch(
    elasticsearch: EngineClient, tmp_path: Path
) -> None:
    steps: Steps = [
        {"type": "set", "variable": "took", "value": [
            {"property": "msg", "regex": {"expression": "took=([0-9]+)", "submatch": 1}}]},
        {"type": "set", "json": "who.host", "value": [{"property": "hostname", "case": "lower"}]},
    ]  # fmt: skip
    fields = [
        MESSAGE,
        {"variable": "took", "name": "took", "type": "integer", "uses": ["range"]},
        {"json": "who.host", "name": "who.host", "uses": ["term"]},
    ]
    profile = small(
        {
            "inputs[0].port": free_port(),
            "outputs[logs].servers": [elasticsearch.url],
            "outputs[logs].document": fields,
            "steps": steps,
        }
    )
    create_index(elasticsearch, profile, "syslog")
    try:
        messages = [HEAD + text for text in (b"took=12 ms", b"took=x", b'took=7"}')]
        run(profile, tmp_path, messages, lambda: stored(elasticsearch, "syslog"))
        hits = sorted(search(elasticsearch, "syslog"), key=lambda hit: str(hit["_source"]["m"]))
        found = elasticsearch.get("/syslog/_search?q=took:[8%20TO%2020]%20AND%20who.host:web-1")
    finally:
        elasticsearch.request("DELETE", "/syslog")
    assert [hit["_source"]["took"] for hit in hits] == [12, 7, None]
    assert at(found, "hits", "total", "value") == 1

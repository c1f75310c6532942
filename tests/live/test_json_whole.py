"""JSON passed on whole through a real rsyslogd: what an event brings stands where it may, as it is,
and never in the place of a field of the profile."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.live.outputs import lines
from tests.live.test_documents import create_index, run, search, stored
from tests.profile.examples import small
from tuner.engine.client import EngineClient, at
from tuner.engine.feed import kept_bulks
from tuner.host.process import give_to_daemons
from tuner.lab.entrances import free_port
from tuner.lab.scratch import scratch
from tuner.lab.sink import Sink
from tuner.profile.model import Profile

pytestmark = [pytest.mark.live, pytest.mark.each_rsyslogd("documents")]

HEAD = b"<13>Nov 21 01:02:03 web1 app[%d]: "
NUMBER = {"property": "procid", "name": "n", "type": "integer"}
HOST = {"property": "hostname", "name": "host.name"}
EVENT: dict[str, object] = {
    "text": 'a "quoted" \\ text / \u00e9\u20ac',
    "list": ["a", {"b": [1, 2.5, None]}, []],
    "empty": {},
    "big": 1e22,
    "small": 1.1,
    "on": True,
    "none": None,
    "x-y.z": {"deep": {"er": "x"}},
}


def parsed(url: str, port: int, fields: Sequence[Mapping[str, object]] | str) -> Profile:
    """A profile whose events are all JSON."""
    return small(
        {
            "inputs[0].port": port,
            "outputs[logs].servers": [url],
            "parse": {"format": "json", "cookie": ""},
            "outputs[logs].document": fields,
        }
    )


def documents(
    folder: Path, fields: Sequence[Mapping[str, object]] | str, texts: list[bytes]
) -> list[dict[str, object]]:
    """What the sink gets, in the order in which it was sent."""
    with Sink(keep=1000) as sink:
        client = EngineClient(sink.url)
        profile = parsed(sink.url, free_port(), fields)
        messages = [HEAD % n + text for n, text in enumerate(texts)]
        run(profile, folder, messages, lambda: kept_bulks(client).count(b"\n") // 2)
        found = [_read(line) for line in kept_bulks(client).splitlines()[1::2]]
        client.close()
    assert len(found) == len(texts)
    return found


def _read(line: bytes) -> dict[str, object]:
    """A document that is JSON and has no name twice."""

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        assert len({name for name, _ in pairs}) == len(pairs), pairs
        return dict(pairs)

    found = json.loads(line, object_pairs_hook=once)
    assert isinstance(found, dict)
    return found


def body(event: object) -> bytes:
    return json.dumps(event).encode()


def test_a_message_that_is_the_document_arrives_as_it_is(tmp_path: Path) -> None:
    texts = [body(EVENT), b"{}", b"no JSON", b'{"a": 1} trailing', b'["a"]', b'{"msg": "x"}']
    wrapped = [{"msg": text.decode()} for text in texts[2:5]]
    assert documents(tmp_path, "raw", texts) == [EVENT, {}, *wrapped, {"msg": "x"}]


ODD: dict[str, object] = {
    'a"},"n":7,"b': 1, "\\": "\\", '"': '"', "\n": "\n{",
    "documents": {"logs": {"1": {"text": "}"}}},
}  # fmt: skip
# What an event brings to take the place of a field, and what is left of it.
HOSTILE: list[tuple[object, dict[str, object]]] = [
    (EVENT, EVENT),
    ({}, {}),
    ({"host": "evil"}, {}),
    ({"host": {"name": "evil", "ip": "1.2.3.4"}, "a": 1}, {"a": 1}),
    ({"host": None, "N": None, "a": None}, {"a": None}),
    ({"HOST": {"NAME": "evil"}, "N": 7, "b": []}, {"b": []}),
    ({"host.name": "evil", "n": 7, "n.x": 1}, {"n.x": 1}),
    (ODD, ODD),
]  # fmt: skip


def test_fields_of_the_profile_win_over_members_of_merged_json(tmp_path: Path) -> None:
    found = documents(tmp_path, [NUMBER, HOST, {"json": "*"}], [body(one) for one, _ in HOSTILE])
    assert found == [
        {"n": n, "host": {"name": "web1"}, **left} for n, (_, left) in enumerate(HOSTILE)
    ]


def test_a_text_that_is_no_json_stays_beside_the_fields(tmp_path: Path) -> None:
    texts = [b"no JSON", b'{"a": 1', b""]
    found = documents(tmp_path, [NUMBER, HOST, {"json": "*"}], texts)
    assert [one.get("msg") for one in found] == ["no JSON", '{"a": 1', ""]


def test_all_of_it_under_a_name(tmp_path: Path) -> None:
    texts = [body(EVENT), b"{}", b"no JSON", body({"n": 7, '"},"n":8': 1})]
    found = documents(tmp_path, [NUMBER, {"json": "*", "name": "event.data"}], texts)
    wanted: list[object] = [EVENT, {}, {"msg": "no JSON"}, {"n": 7, '"},"n":8': 1}]
    assert found == [{"n": n, "event": {"data": one}} for n, one in enumerate(wanted)]


VALUES: list[object] = [
    ["a", "b"], {"b": 1e22}, [], {}, 5, 1.1, True, "text", "5", '{"a":1},"n":7', '["a"]', "true",
    '"', "\u00e9", None, "",
]  # fmt: skip


def test_what_stands_at_a_path_is_passed_on_as_such(tmp_path: Path) -> None:
    """A text that looks like JSON is a text."""
    fields = [
        NUMBER,
        {"json": "a.v", "name": "v", "type": "json"},
        {"json": "a.v", "name": "w.v", "type": "json", "onEmpty": "skip"},
        {"constant": "x", "name": "w.x"},
    ]
    texts = [body({"a": {"v": value}}) for value in VALUES] + [b"{}"]
    found = documents(tmp_path, fields, texts)
    assert [one["v"] for one in found] == [*(value or _kept(value) for value in VALUES), None]
    for one in found:
        w = one["w"]
        assert isinstance(w, dict)
        assert w == ({"x": "x"} if one["v"] is None else {"x": "x", "v": one["v"]})


def _kept(value: object) -> object:
    """What is empty and no text is kept."""
    return None if value == "" else value


def test_a_member_is_typed_and_the_rest_merged(tmp_path: Path) -> None:
    fields = [NUMBER, {"json": "status", "name": "status", "type": "integer"}, {"json": "*"}]
    texts = [body({"status": 404, "a": 1.1}), body({"status": "x", "b": [1]}), b'{"status":{}}']
    assert documents(tmp_path, fields, texts) == [
        {"n": 0, "status": 404, "a": 1.1}, {"n": 1, "status": None, "b": [1]},
        {"n": 2, "status": None},
    ]  # fmt: skip


@pytest.mark.full
def test_merged_and_typed_json_reach_elasticsearch(
    elasticsearch: EngineClient, tmp_path: Path
) -> None:
    """Members are kept and typed ones searched; what the engine refuses costs its own event."""
    fields: list[Mapping[str, object]] = [
        NUMBER,
        {"json": "status", "name": "status", "type": "integer", "uses": ["term"]},
        {"json": "list", "name": "kept", "type": "json"},
        {"json": "*", "name": "whole"},
        {"property": "timereported", "name": "at", "type": "date", "dateFormat": "unixtimestamp"},
        {"json": "*"},
    ]
    events: list[object] = [
        EVENT | {"status": 404}, {"status": "404"}, {"status.x": 1}, {"whole": {"": {"": 1}}},
        {"kept": 5, "list": [{"a": 1}, 2, "x"]}, {"": 1}, {"deep": {"a": {"b": 1}}, "status": []},
        {"status": float("nan")}, {"x": float("inf")},
    ]  # fmt: skip
    profile = parsed(elasticsearch.url, free_port(), fields)
    create_index(elasticsearch, profile, "syslog")
    try:
        messages = [HEAD % n + body(one) for n, one in enumerate(events)]
        run(profile, tmp_path, messages, lambda: stored(elasticsearch, "syslog") + 4)
        hits = {hit["_source"]["n"]: hit["_source"] for hit in search(elasticsearch, "syslog")}
        query = "/syslog/_search?q=status:404"
        found = elasticsearch.get(query)
        assert at(found, "hits", "total", "value") == 2
    finally:
        elasticsearch.request("DELETE", "/syslog")
    assert sorted(hits) == [0, 1, 3, 4, 6], "the engine refuses four, and those alone"
    assert hits[0]["list"] == hits[0]["kept"] == EVENT["list"] == hits[0]["whole"]["list"]
    assert (hits[0]["status"], hits[1]["status"], hits[6]["status"]) == (404, 404, None)
    assert "whole" in hits[3]
    assert hits[4]["kept"] == [{"a": 1}, 2, "x"]


@pytest.mark.full
def test_two_outputs_share_an_index_by_ids_of_the_events(
    elasticsearch: EngineClient, tmp_path: Path
) -> None:
    """What both take stands there once, and each keeps what the engine refused in its own file."""
    fields = [NUMBER, {"json": "*"}]
    with scratch(tmp_path) as below:
        files = {name: below / f"{name}.json" for name in ("logs", "login")}
        (base,) = parsed(elasticsearch.url, free_port(), fields).model_dump(
            mode="json", by_alias=True, exclude_defaults=True
        )["outputs"]
        logs, login = (
            {**base, "name": name, "bulkid": {"json": "id"}, "retryfailures": {"file": str(path)}}
            for name, path in files.items()
        )
        login["filter"] = {"match": [{"json": "kind", "isequal": ["login"]}]}
        profile = small(
            {
                "inputs[0].port": free_port(),
                "parse": {"format": "json", "cookie": ""},
                "outputs": [logs, login],
            }
        )
        create_index(elasticsearch, profile, "syslog")
        give_to_daemons(below)
        events: list[dict[str, object]] = [
            {"id": "a", "kind": "login"}, {"id": "b"}, {"id": "c", "kind": "login", "n.x": 1},
            {"id": "d", "n.x": 1},
        ]  # fmt: skip

        def accounted() -> int:
            refused = sum(len(lines(path)) for path in files.values())
            return len(events) if (stored(elasticsearch, "syslog"), refused) == (2, 3) else 0

        try:
            messages = [HEAD % n + body(one) for n, one in enumerate(events)]
            run(profile, below, messages, accounted)
            hits = {hit["_id"]: hit["_source"]["n"] for hit in search(elasticsearch, "syslog")}
        finally:
            elasticsearch.request("DELETE", "/syslog")
        kept_in = {
            name: sorted(json.loads(line)["document"]["id"] for line in lines(path))
            for name, path in files.items()
        }
    assert hits == {"a": 0, "b": 1}
    assert kept_in == {"logs": ["c", "d"], "login": ["c"]}

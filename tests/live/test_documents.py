"""Hostile events through a real rsyslogd: every document is valid and holds the text it had."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.live.hostile import CASES, KINDS, Case, cases
from tests.profile.examples import small
from tuner.engine.client import EngineClient
from tuner.engine.feed import kept_bulks
from tuner.lab.entrances import TcpPort, free_port
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.lab.sink import Sink
from tuner.profile.model import Profile
from tuner.profile.placement import ports_of
from tuner.render.artefacts import rsyslog_conf
from tuner.render.engine_files import index_template

pytestmark = [pytest.mark.live, pytest.mark.each_rsyslogd("documents")]

INDEX = "rsyslog-tune-test-documents"
DEADLINE_S = 20.0


def profile_for(
    kind: str, url: str, port: int, changes: Mapping[str, object] | None = None
) -> Profile:
    ours: dict[str, object] = {
        "inputs[0].port": port,
        "outputs[logs].servers": [url],
        "outputs[logs].index.name": INDEX,
    }
    return small({**KINDS[kind][1], **ours, **(changes or {})})


def framed(sent: list[Case]) -> list[bytes]:
    """Each text in a message that carries its number."""
    return [
        b"<13>Nov 21 01:02:03 web1 app[%d]: %b" % (number, case.text)
        for number, case in enumerate(sent)
    ]


def run(profile: Profile, folder: Path, messages: list[bytes], arrived: Callable[[], int]) -> None:
    """Send messages in frames that count octets, so that a text may hold newlines."""
    (port,) = ports_of(profile, profile.inputs[0])
    with scratch(folder) as below:
        daemon = Rsyslogd(rsyslog_conf(profile), subfolder(below, "rsyslog"), [TcpPort(port)])
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                for message in messages:
                    connection.sendall(b"%d %b" % (len(message), message))
            wait(lambda: arrived() >= len(messages))
        finally:
            daemon.stop(5.0)


def wait(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not done() and time.monotonic() < deadline:
        time.sleep(0.1)


def differences(sent: list[Case], found: list[dict[str, object]]) -> list[object]:
    """What was sent, wanted and found, of every case whose document is not the wanted one."""
    by_number = {document["n"]: document for document in found}
    return [
        (case.text[:200], dict(case.wanted), by_number.get(number))
        for number, case in enumerate(sent)
        if {key: by_number.get(number, {}).get(key, "missing") for key in case.wanted}
        != dict(case.wanted)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_events_reach_the_sink_as_they_were(kind: str, tmp_path: Path) -> None:
    sent = cases(kind)
    with Sink(keep=CASES) as sink:
        client = EngineClient(sink.url)
        profile = profile_for(kind, sink.url, free_port())
        run(profile, tmp_path, framed(sent), lambda: kept_bulks(client).count(b"\n") // 2)
        lines = kept_bulks(client).splitlines()
        client.close()
    found = [json.loads(line) for line in lines[1::2]]
    assert len(found) == CASES
    assert differences(sent, found) == []


ODD = [
    (b'@cee: {"t": {"ext": "a\\u0000b"}}', "a"),  # rsyslog's texts end at NUL
    (b'@cee: {"t": {"ext": "a\\ud800b"}}', "a\ufffdb"),
    (b'@cee: {"t": {"ext": 1}, "T": {"ext": 2}, "t": {"ext": "last"}}', "last"),
    (b'@cee: {"t": {"ext": null}}', ""),
    (b'@cee: {"t": {"ext": [1, "x"]}}', '[ 1, "x" ]'),
    (b'@cee: {"t": "no object"}', ""),
    (b'@cee:{"t": {"ext": "near"}}', "near"),
    (b'{"t": {"ext": "no cookie"}}', ""),
    (b'@cee: {"t": {"ext": "x"}} trailing', ""),
    (b"@cee: " + b'{"t":' * 200 + b"1" + b"}" * 200, ""),
]


def test_odd_json_makes_valid_documents(tmp_path: Path) -> None:
    sent = [Case(text, {"text": shown}) for text, shown in ODD]
    with Sink(keep=CASES) as sink:
        client = EngineClient(sink.url)
        port = free_port()
        profile = profile_for("json", sink.url, port, {"parse": {"format": "json"}})
        run(profile, tmp_path, framed(sent), lambda: kept_bulks(client).count(b"\n") // 2)
        found = [json.loads(line) for line in kept_bulks(client).splitlines()[1::2]]
        client.close()
    assert differences(sent, found) == []


def test_a_text_beyond_the_largest_message_is_cut_and_stays_valid(tmp_path: Path) -> None:
    """rsyslog's global maxMessageSize, 8 KiB where nobody sets it."""
    messages = [b"<13>Nov 21 01:02:03 web1 app[1]: " + b'"' * 20_000]
    messages.append(b"<13>Nov 21 01:02:03 web1 app[2]: after")
    with Sink(keep=CASES) as sink:
        client = EngineClient(sink.url)
        profile = profile_for("plain", sink.url, free_port())
        run(profile, tmp_path, messages, lambda: kept_bulks(client).count(b"\n") // 2)
        found = [json.loads(line)["message"] for line in kept_bulks(client).splitlines()[1::2]]
        client.close()
    assert set(found[0]) == {" ", '"'}
    assert 8000 < len(found[0]) < 8192
    assert found[-1] == " after"


def test_a_longer_message_is_whole_where_the_profile_says_so(tmp_path: Path) -> None:
    messages = [b"<13>Nov 21 01:02:03 web1 app[1]: " + b"x" * 20_000]
    with Sink(keep=CASES) as sink:
        client = EngineClient(sink.url)
        longer = {"global": {"maxMessageSize": "32k"}}
        profile = profile_for("plain", sink.url, free_port(), longer)
        run(profile, tmp_path, messages, lambda: kept_bulks(client).count(b"\n") // 2)
        found = [json.loads(line)["message"] for line in kept_bulks(client).splitlines()[1::2]]
        client.close()
    assert found == [" " + "x" * 20_000]


@pytest.fixture
def engine(elasticsearch: EngineClient) -> Iterator[EngineClient]:
    yield elasticsearch
    elasticsearch.request("DELETE", f"/{INDEX}")


def create_index(engine: EngineClient, profile: Profile, name: str = INDEX) -> None:
    body = index_template(profile, profile.measured)["template"]
    assert isinstance(body, dict)
    body["settings"] |= {"index.number_of_replicas": 0}
    engine.request("PUT", f"/{name}", body)


def stored(engine: EngineClient, name: str = INDEX) -> int:
    engine.request("POST", f"/{name}/_refresh")
    return int(str(engine.get(f"/{name}/_count")["count"]))


def search(engine: EngineClient, name: str = INDEX) -> list[dict[str, Any]]:
    answer = engine.request("GET", f"/{name}/_search?size=1000")
    assert isinstance(answer, dict)
    hits: list[dict[str, Any]] = answer["hits"]["hits"]
    return hits


@pytest.mark.parametrize(
    "kind",
    [kind if kind == "json" else pytest.param(kind, marks=pytest.mark.full) for kind in KINDS],
)
def test_hostile_events_reach_elasticsearch_as_they_were(
    engine: EngineClient, kind: str, tmp_path: Path
) -> None:
    sent = cases(kind)
    profile = profile_for(kind, engine.url, free_port())
    create_index(engine, profile)
    run(profile, tmp_path, framed(sent), lambda: stored(engine))
    assert stored(engine) == CASES
    hits = search(engine)
    assert differences(sent, [hit["_source"] for hit in hits]) == []
    if kind != "plain":
        ignored = {hit["_source"]["n"] for hit in hits if "when" in hit.get("_ignored", ())}
        none = {
            n for n, case in enumerate(sent) if not re.search(r"^\d+$", str(case.wanted["when"]))
        }
        assert ignored == none, "a date that is none is kept, not indexed, and does no harm"


def test_a_head_that_is_no_utf8_costs_its_own_event_only(
    engine: EngineClient, tmp_path: Path
) -> None:
    """mmutf8fix repairs the text and not the head, so the engine refuses this one document."""
    document = [{"property": "hostname", "name": "host"}]
    changes = {"outputs[logs].document": document}
    profile = profile_for("plain", engine.url, free_port(), changes)
    create_index(engine, profile)
    heads = (b"good1", b"b\xffd", b"good2")
    messages = [b"<13>1 2026-11-21T01:02:03Z %b app 7 - - hi" % head for head in heads]
    run(profile, tmp_path, messages, lambda: stored(engine) + 1)
    assert sorted(hit["_source"]["host"] for hit in search(engine)) == ["good1", "good2"]

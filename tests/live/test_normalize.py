"""Text taken apart by a liblognorm rulebase, through a real rsyslogd with mmnormalize."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.live.hostile import CASES, Case
from tests.live.test_documents import INDEX, differences, framed, run
from tests.profile.examples import small
from tuner.engine.client import EngineClient
from tuner.engine.feed import kept_bulks
from tuner.host.process import give_to_daemons
from tuner.lab.entrances import free_port
from tuner.lab.scratch import scratch, subfolder
from tuner.lab.sink import Sink

pytestmark = [pytest.mark.live, pytest.mark.each_rsyslogd("documents")]

RULES = Path(__file__).parent / "rulebases" / "ssh.rb"

DOCUMENT: list[dict[str, object]] = [
    {"property": "procid", "name": "n", "type": "integer"},
    {"property": "msg", "name": "message"},
    {"json": "user", "name": "user.name", "uses": ["term"]},
    {"json": "ip", "name": "source.ip"},
    {"json": "port", "name": "port", "type": "integer", "uses": ["range"]},
    {"json": "status", "name": "status", "type": "integer"},
    {"json": "seconds", "name": "seconds", "type": "float"},
    {"json": "cached", "name": "cached", "type": "boolean"},
    {"json": "request", "name": "request"},
    {"json": "text", "name": "text"},
]

EMPTY: dict[str, object] = {
    "user": {"name": ""}, "source": {"ip": ""}, "port": None, "status": None, "seconds": None,
    "cached": None, "request": "", "text": "",
}  # fmt: skip
LOGIN = b"Accepted publickey for alice from 192.0.2.7 port 40022 ssh2: ED25519"

CASES_OF_RULES: list[tuple[bytes, dict[str, object]]] = [
    (LOGIN, {"user": {"name": "alice"}, "source": {"ip": "192.0.2.7"}, "port": 40022}),
    (b'"GET / HTTP/1.1" 200 0.25 true',
     {"request": "GET / HTTP/1.1", "status": 200, "seconds": 0.25, "cached": True}),
    (b'"GET /x" 404 1.5 maybe',
     {"request": "GET /x", "status": 404, "seconds": 1.5, "cached": None}),
    (b"nothing that a rule knows", {}),
    (b"Accepted publickey for mallory from nowhere port 1 x", {}),
    (b'said "}\n{"index":{}} \\ \xff $!all-json', {"text": '"}#012{"index":{}} \\   $!all-json'}),
    (b'"GET /" 9999999999999999999 1.0 true',
     {"request": "GET /", "status": None, "seconds": 1.0, "cached": True}),
]  # fmt: skip


def test_rules_become_typed_fields_and_the_rest_stays_empty(tmp_path: Path) -> None:
    sent = [Case(text, EMPTY | wanted) for text, wanted in CASES_OF_RULES]
    with Sink(keep=CASES) as sink, scratch(tmp_path) as below:
        rulebase = subfolder(below, "rules") / "ssh.rb"
        rulebase.write_bytes(RULES.read_bytes())
        give_to_daemons(rulebase.parent)
        client = EngineClient(sink.url)
        changes: dict[str, object] = {
            "inputs[0].port": free_port(),
            "parse": {"format": "normalize", "rulebase": str(rulebase)},
            "outputs[logs].servers": [sink.url],
            "outputs[logs].index.name": INDEX,
            "outputs[logs].document": DOCUMENT,
        }
        profile = small(changes)
        run(profile, tmp_path, framed(sent), lambda: kept_bulks(client).count(b"\n") // 2)
        found = [json.loads(line) for line in kept_bulks(client).splitlines()[1::2]]
        client.close()
    assert len(found) == len(sent)
    assert differences(sent, found) == []

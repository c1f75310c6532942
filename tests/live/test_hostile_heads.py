"""Hostile heads, texts and typed fields into two outputs at once: every event is accounted for.

mmutf8fix repairs the text of a message and nothing of its head.  Where the engine refuses the
document for that, it is in the file of `retryfailures`; another output has it byte by byte.
"""

from __future__ import annotations

import json
import random
import socket
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.live.hostile import SEED, TYPED, pieces
from tests.profile.examples import SMALL
from tuner.engine.client import EngineClient
from tuner.host.process import wait_until
from tuner.lab.entrances import TcpPort, free_port
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.profile.model import Profile
from tuner.profile.source import read
from tuner.render.artefacts import rsyslog_conf
from tuner.render.engine_files import index_template

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("nothing_left_behind")]

INDEX = "rsyslog-tune-test-heads"
EVENTS = 400
TIMEOUT_S = 30.0
# What a host, a program or a message id may hold in RFC 5424 is less; senders do not care.
HEADS = (
    b"web1", b"a", b'"', b"\\", b'"}', b"%HOSTNAME%", b"`id`", b"caf\xc3\xa9", b"\xe2\x82\xac",
    b"{", b"'", b"$!x", b"10.0.0.1", b"::1", b"\xff", b"b\xffd", b"\xc3(", b"\xed\xa0\x80",
)  # fmt: skip
DOCUMENT = [
    {"property": "procid", "name": "n", "type": "integer", "uses": ["term"]},
    {"property": "hostname", "name": "host", "uses": ["term"]},
    {"property": "app-name", "name": "program", "uses": ["term"]},
    {"property": "msgid", "name": "level", "type": "integer", "uses": ["range"]},
    {"property": "msg", "name": "message", "uses": ["full_text"]},
]


@dataclass(frozen=True)
class Event:
    """One message, and its document with the bytes of its head."""

    sent: bytes
    host: bytes
    program: bytes
    level: int | None
    message: str

    @property
    def is_refused(self) -> bool:
        """Whether the engine refuses its document: Elasticsearch takes halves of characters as
        they are, and only a byte that begins none is an error (seen on 8.19)."""
        return b"\xff" in self.host + self.program

    def document(self, errors: str) -> dict[str, object]:
        """What the document says, bytes that are no UTF-8 decoded by that rule."""
        return {
            "host": self.host.decode("utf-8", errors),
            "program": self.program.decode("utf-8", errors),
            "level": self.level,
            "message": self.message,
        }


def events() -> list[Event]:
    """The same events every time."""
    random_ = random.Random(SEED)
    words = [one for one in TYPED if one[0] and len(one[0]) <= 32]
    return [event(n, random_, random_.choice(words)) for n in range(EVENTS)]


def event(number: int, random_: random.Random, typed: tuple[str, int | None, object, object]) -> (
    Event
):  # fmt: skip
    host, program = random_.choice(HEADS), random_.choice(HEADS)
    text, shown = pieces(random_)
    head = b"<13>1 2026-11-21T01:02:03Z %b %b %d %b - " % (host, program, number, typed[0].encode())
    return Event(head + b"x" + text + b"x", host, program, typed[1], f"x{shown}x")


def documents(path: Path) -> list[dict[str, object]]:
    """The documents in a file, one a line; bytes that are no UTF-8 stay what they are."""
    raw = path.read_bytes() if path.exists() else b""
    return [json.loads(line.decode("utf-8", "surrogateescape")) for line in raw.splitlines()]


def profile_for(url: str, port: int, folder: Path) -> Profile:
    everything = {
        "name": "everything",
        "type": "omfile",
        "file": str(folder / "everything.json"),
        "document": DOCUMENT,
    }
    changes = {
        "inputs[0].port": port,
        "inputs[0].parser": ["rsyslog.rfc5424"],
        "outputs[logs].servers": [url],
        "outputs[logs].document": DOCUMENT,
        "outputs[logs].retryfailures.file": str(folder / "refused.json"),
        "outputs[logs].index.name": INDEX,
    }
    data = read(edit(SMALL, changes), "p.yaml").data
    assert isinstance(data, dict)
    data["outputs"].append(everything)
    return parse_profile(json.dumps(data), "p.yaml").profile


@pytest.fixture
def engine(elasticsearch: EngineClient) -> Iterator[EngineClient]:
    yield elasticsearch
    elasticsearch.request("DELETE", f"/{INDEX}")


def indexed(engine: EngineClient) -> dict[int, dict[str, object]]:
    engine.request("POST", f"/{INDEX}/_refresh")
    answer = engine.request("GET", f"/{INDEX}/_search?size=1000")
    assert isinstance(answer, dict)
    found = [hit["_source"] for hit in answer["hits"]["hits"]]
    assert max(Counter(one["n"] for one in found).values(), default=1) == 1
    return {one.pop("n"): one for one in found}


def test_every_event_is_indexed_or_in_the_file_of_what_was_refused(
    engine: EngineClient, tmp_path: Path
) -> None:
    sent = events()
    good = {n for n, one in enumerate(sent) if not one.is_refused}
    assert 0 < len(good) < EVENTS
    with scratch(tmp_path) as folder:
        port = free_port()
        below = subfolder(folder, "rsyslog")
        profile = profile_for(engine.url, port, below)
        body = index_template(profile, profile.measured)["template"]
        assert isinstance(body, dict)
        engine.request("PUT", f"/{INDEX}", body)
        daemon = Rsyslogd(rsyslog_conf(profile), below, [TcpPort(port)])
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                for one in sent:
                    connection.sendall(b"%d %b" % (len(one.sent), one.sent))
            refused = below / "refused.json"
            wait_until(lambda: len(indexed(engine)) + len(documents(refused)) >= EVENTS, TIMEOUT_S)
        finally:
            daemon.stop(5.0)
        told = [one["document"] for one in documents(refused)]
        written = documents(below / "everything.json")
    assert indexed(engine) == {n: sent[n].document("replace") for n in good}
    refusals = Counter(one["n"] for one in told if isinstance(one, dict))
    assert refusals == Counter(n for n in range(EVENTS) if n not in good)
    assert {one.pop("n"): one for one in written} == {
        n: one.document("surrogateescape") for n, one in enumerate(sent)
    }

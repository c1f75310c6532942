"""Ids, pipelines and indices that events name: the same from every rsyslogd, whatever it escapes,
and every bulk is JSON."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.live.outputs import bulks_to, place, rendered_for_it, wait
from tuner.engine.client import EngineClient
from tuner.engine.feed import kept_bulks
from tuner.lab.sink import Sink, parse_fault

pytestmark = [
    pytest.mark.live,
    pytest.mark.each_rsyslogd("outputs"),
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

TAKEN = ("plain-1", "a/b", "[a]^b_`{|}~", "!#$%&'()*+,-./:;<=>?@", " blanks ", "x" * 512)
REPLACED = ('a"b', "a\\b", '","_index":"other', "ü", "a b", "a\nb", "", "x" * 513)
NEW = re.compile(r"[0-9A-Fa-f]{32}")
PIPELINES = {"a/b": "a/b", "geo ip": "geo ip", 'a"b': None, "a\\b": None, "ü": None}


def actions(
    folder: Path, bodies: Sequence[Mapping[str, str]], *faults: str, **more: object
) -> list[dict[str, str]]:
    """What the bulks say of each of these events, in the order in which they were sent."""
    with Sink(keep=100, faults=[parse_fault(one) for one in faults]) as sink, place(folder) as site:
        client = EngineClient(sink.url)
        output = bulks_to(sink.url, **more)
        changes = {**rendered_for_it(), "parse": {"format": "json", "cookie": ""}}
        with site.running([output], changes):
            site.send(
                b"<13>Nov 21 06:30:00 web1 app[77]: " + json.dumps(one).encode() for one in bodies
            )
            wait(lambda: kept_bulks(client).count(b"\n") >= 2 * len(bodies) * (1 + len(faults)))
        lines = [json.loads(line) for line in kept_bulks(client).splitlines()]
        client.close()
    return [next(iter(line.values())) for line in lines[::2]]


def test_an_id_is_the_events_own_or_a_new_one_but_never_another(tmp_path: Path) -> None:
    events = [{"id": one} for one in (*TAKEN, *REPLACED)]
    ids = [one["_id"] for one in actions(tmp_path, events, bulkid={"json": "id"})]
    assert ids[: len(TAKEN)] == [one.strip() for one in TAKEN]
    replaced = ids[len(TAKEN) :]
    assert all(NEW.fullmatch(one) for one in replaced), replaced
    assert len(set(replaced)) == len(REPLACED)


def test_what_is_sent_again_keeps_its_id(tmp_path: Path) -> None:
    file = {"file": f"{tmp_path}/refused.json"}
    events = [{"id": one} for one in TAKEN[:4]]
    found = actions(
        tmp_path, events, "items=429,after=1", bulkid={"json": "id"}, retryfailures=file
    )
    assert sorted(one["_id"] for one in found) == sorted(2 * list(TAKEN[:4]))


def test_a_pipeline_that_an_event_names_is_one_that_json_can_hold(tmp_path: Path) -> None:
    dynamic: dict[str, object] = {
        "pipelineName": "msgid", "dynPipelineName": True, "skipPipelineIfEmpty": True,
    }  # fmt: skip
    with Sink(keep=100) as sink, place(tmp_path) as site:
        client = EngineClient(sink.url)
        with site.running([bulks_to(sink.url, **dynamic)], rendered_for_it()):
            site.send(
                f"<13>1 2026-11-21T06:30:00Z web1 app 77 {name.replace(' ', '_')} - x".encode()
                for name in PIPELINES
            )
            wait(lambda: kept_bulks(client).count(b"\n") >= 2 * len(PIPELINES))
        lines = [json.loads(line) for line in kept_bulks(client).splitlines()]
        client.close()
    assert [next(iter(line.values())).get("pipeline") for line in lines[::2]] == [
        name and name.replace(" ", "_") for name in PIPELINES.values()
    ]


def test_an_index_that_an_event_names_is_plain(tmp_path: Path) -> None:
    events = [{"service": one} for one in ("Shop", "a/b", 'a"b', "a\\b", "..")]
    by = {"json": "service", "fallback": "other"}
    found = actions(tmp_path, events, index={"name": "syslog", "by": by})
    assert [one["_index"] for one in found] == ["syslog-shop", *4 * ["syslog-other"]]

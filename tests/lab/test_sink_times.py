"""The sink's own histogram of how long it took for bulk requests."""

from __future__ import annotations

import time

import pytest

from tests.lab.test_sink import bulk_body, send
from tuner.engine.bulk_times import BulkTimes, between, bulk_times, latency_of
from tuner.engine.client import EngineClient
from tuner.lab.sink import Sink, parse_fault
from tuner.lab.sink_store import ReplyTimes


def look(client: EngineClient, requests: int) -> BulkTimes:
    """A look as soon as the sink counted `requests`: it counts one after its reply is on its way"""
    deadline_s = time.monotonic() + 30
    while True:
        found = bulk_times(client, "*")
        assert found is not None
        if found.requests >= requests or time.monotonic() > deadline_s:
            return found
        time.sleep(0.01)


def test_each_bulk_is_counted_once_with_its_bytes_and_nothing_else_is() -> None:
    with Sink() as sink:
        client = EngineClient(sink.url)
        assert bulk_times(client, "*") == BulkTimes(0, 0, {})
        body = bulk_body("x", range(100))
        for path in ("/_bulk", "/x/_bulk", "/_bulk?filter_path=errors", "/_bulk"):
            assert send(sink, path, body)[0] == 200
        assert send(sink, "/_bulk", b"nonsense")[0] == 400
        assert client.get("/x/_count")["count"] == 400
        found = look(client, 5)
        client.close()
    assert found.requests == 5
    assert found.body_bytes == 4 * len(body) + len(b"nonsense")
    assert sum(found.buckets.values()) == 5


def test_what_takes_long_is_seen_to_take_long() -> None:
    with Sink(faults=[parse_fault("delay=0.3,after=3,times=2")]) as sink:
        client = EngineClient(sink.url)
        for turn in range(2):
            send(sink, "/_bulk", bulk_body("x", [turn]))
        before = look(client, 2)
        for turn in range(2):
            send(sink, "/_bulk", bulk_body("x", [turn]))
        latency = latency_of(between(before, look(client, 4)))
        client.close()
    assert latency is not None
    assert latency.requests == 2
    assert latency.p50_ms >= 256
    assert latency.max_ms >= 512


@pytest.mark.parametrize(
    ("took_s", "lower", "upper"),
    [
        (0.0, None, 1),
        (0.000999, None, 1),
        (0.0010001, 1, 2),
        (0.0019, 1, 2),
        (0.0020001, 2, 4),
        (0.0039, 2, 4),
        (0.3, 256, 512),
        (65.0, 32768, 65536),
        (65.6, 65536, None),
        (500.0, 65536, None),
    ],
)
def test_the_buckets_are_those_of_elasticsearch(
    took_s: float, lower: int | None, upper: int | None
) -> None:
    times = ReplyTimes()
    times.add("/_bulk", 1, took_s)
    told = times.routes()["/_bulk"]
    assert isinstance(told, dict)
    histogram = told["responses"]["handling_time_histogram"]
    assert len(histogram) == 18
    used = [bucket for bucket in histogram if bucket["count"]]
    assert [(one.get("ge_millis"), one.get("lt_millis"), one["count"]) for one in used] == [
        (lower, upper, 1)
    ]

"""Clients that send bulks: what they send, what they count, and when they end."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator

import pytest

from tests.profile.examples import small
from tuner.engine.client import EngineClient
from tuner.engine.delivery import fault_counts
from tuner.engine.feed import MOST_BULK_BYTES, Bulk, Feed, bulk_path, bulks_of, fault_in
from tuner.engine.status import count
from tuner.host.process import wait_until
from tuner.lab.sink import Sink, parse_fault

SHORT = "/_bulk?filter_path=errors,items.*.status,items.*.error"


def lines(documents: int, text: str = "x") -> bytes:
    action = '{"index":{"_index": "fed"}}'
    return "".join(f'{action}\n{{"n":{n},"t":"{text}"}}\n' for n in range(documents)).encode()


@pytest.fixture
def sink() -> Iterator[Sink]:
    with Sink() as running:
        yield running


@pytest.fixture
def client(sink: Sink) -> Iterator[EngineClient]:
    client = EngineClient(sink.url)
    yield client
    client.close()


def test_the_bulks_together_are_the_lines_as_they_were() -> None:
    bulks = bulks_of(lines(12), 4)
    assert [bulk.documents for bulk in bulks] == [4, 4, 4]
    assert b"".join(bulk.body for bulk in bulks) == lines(12)


def test_a_rest_that_fills_no_bulk_is_left_out_unless_it_is_all_there_is() -> None:
    assert [bulk.documents for bulk in bulks_of(lines(11), 4)] == [4, 4]
    assert bulks_of(lines(3), 4) == (Bulk(lines(3), 3),)


def test_carriage_returns_and_other_separators_do_not_end_a_line() -> None:
    body = b'{"index":{}}\n{"t":"a\rb\x0bc\x85d"}\n' * 2
    assert bulks_of(body, 2) == (Bulk(body, 2),)


def test_no_bulk_is_larger_than_an_engine_takes() -> None:
    (bulk, *others) = bulks_of(lines(220, "y" * 2**20), 5000)
    assert 90 <= bulk.documents < 100
    assert len(bulk.body) <= MOST_BULK_BYTES
    assert [other.documents for other in others] == [bulk.documents]


def test_bulks_are_filtered_as_those_of_the_output_are() -> None:
    assert bulk_path(small().measured) == "/_bulk"
    wanted = ["errors", "items.*.status"]
    filtered = small({"outputs[logs].filter_path": wanted})
    assert bulk_path(filtered.measured) == "/_bulk?filter_path=errors,items.*.status"


def reply(*statuses: int, errors: bool | None = None) -> bytes:
    items = [
        {"index": {"status": one} | ({"error": {"reason": "too long"}} if one >= 300 else {})}
        for one in statuses
    ]
    head = {} if errors is None else {"errors": errors}
    return json.dumps({**head, "took": 3, "items": items}, separators=(",", ":")).encode()


def test_a_reply_without_errors_is_no_fault() -> None:
    assert fault_in(200, reply(201, 201, errors=False)) is None
    assert fault_in(200, reply(201, 200)) is None
    assert fault_in(200, b'{"took":3}') is None


def test_one_refused_document_is_a_fault_with_its_reason() -> None:
    for found in (reply(201, 400, 201, errors=True), reply(201, 400, 201)):
        fault = fault_in(200, found)
        assert fault is not None
        assert "status 400: too long" in fault


def test_a_document_that_says_errors_false_hides_no_fault() -> None:
    """The text may come back in the reason of an error."""
    items = [{"create": {"status": 400, "error": {"reason": '"errors":false'}}}]
    fault = fault_in(200, json.dumps({"errors": True, "took": 1, "items": items}).encode())
    assert fault is not None
    assert "status 400" in fault


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [(429, b"slow down", "HTTP 429: slow down"), (200, b"<html>", "not JSON: <html>")],
)
def test_any_other_answer_is_a_fault(status: int, body: bytes, said: str) -> None:
    fault = fault_in(status, body)
    assert fault is not None
    assert said in fault


@pytest.mark.parametrize("path", [SHORT, "/_bulk", "/_bulk?filter_path=took"])
@pytest.mark.parametrize("clients", [1, 3])
def test_what_is_acknowledged_is_what_arrived(
    client: EngineClient, path: str, clients: int
) -> None:
    with Feed(client, path, bulks_of(lines(2000), 100), clients) as feed:
        assert wait_until(lambda: feed.progress().acknowledged >= 5000, 60)
    fed = feed.progress()
    assert fed.fault is None
    assert fed.sent == fed.acknowledged == count(client, "fed")
    assert fed.cpu_s > 0


def test_the_bulks_go_out_in_turn_and_none_twice_before_each_went_once() -> None:
    bulks = bulks_of(lines(400), 10)
    with Sink(keep=400) as sink:
        client = EngineClient(sink.url)
        with Feed(client, SHORT, bulks, 1) as feed:
            assert wait_until(lambda: feed.progress().acknowledged >= 400, 60)
        with client.new_session() as session:
            assert session.get(f"{sink.url}/_sink/kept", timeout=60).content == lines(400)
        client.close()


@pytest.mark.parametrize(
    ("fault", "said"),
    [("status=429,after=3", "HTTP 429"), ("errors,after=3", "refused with status"),
     ("reset,after=3", "Connection")],
)  # fmt: skip
def test_the_first_fault_ends_every_client_and_says_why(fault: str, said: str) -> None:
    with Sink(faults=[parse_fault(fault)]) as sink:
        client = EngineClient(sink.url)
        with Feed(client, SHORT, bulks_of(lines(1000), 100), 3) as feed:
            assert wait_until(lambda: feed.progress().fault is not None, 60)
            assert wait_until(lambda: alive() == 0, 60)
        fed = feed.progress()
        assert fed.fault is not None
        assert said in fed.fault
        assert fed.acknowledged < fed.sent
        assert len(fault_counts(client)) == 1
        client.close()


def test_an_exception_ends_the_clients_after_the_bulks_under_way() -> None:
    """An answer that comes late must not find its index removed: it would be made anew."""
    with Sink(faults=[parse_fault("delay=1")]) as sink:
        client = EngineClient(sink.url)
        feed = Feed(client, SHORT, bulks_of(lines(100), 100), 2)
        with pytest.raises(KeyboardInterrupt), feed:
            interrupt_after(0.3)
        assert alive() == 0
        fed = feed.progress()
        assert fed.sent == fed.acknowledged == count(client, "fed")
        client.close()


def test_an_interrupt_while_the_clients_are_started_ends_those_that_are(
    monkeypatch: pytest.MonkeyPatch, client: EngineClient
) -> None:
    feed, started = Feed(client, SHORT, bulks_of(lines(100), 100), 2), list[threading.Thread]()
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        if started:
            raise KeyboardInterrupt
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt), feed:
        pytest.fail("it was fed")
    assert [thread.name for thread in started] == ["feed"]
    assert not started[0].is_alive()


def interrupt_after(seconds: float) -> None:
    time.sleep(seconds)
    raise KeyboardInterrupt


def alive() -> int:
    return sum(thread.name == "feed" for thread in threading.enumerate())

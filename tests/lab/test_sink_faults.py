"""The sink going wrong as it is told to: what it answers, what it counts, what it admits."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from tests.lab.test_sink import SHORT, bulk_body, checked, numbered, send
from tuner.engine.client import EngineClient
from tuner.engine.delivery import DeliveryCheck, FaultCount, arrived, fault_counts
from tuner.engine.status import indexed, unfinished
from tuner.errors import JobFailed
from tuner.lab.sink import Sink, parse_fault


@contextmanager
def faulty(*texts: str) -> Iterator[tuple[Sink, EngineClient]]:
    with Sink(faults=[parse_fault(text) for text in texts]) as sink:
        client = EngineClient(sink.url)
        client.request("PUT", "/x")
        yield sink, client
        client.close()


def bulk(sink: Sink, numbers: Sequence[int], path: str = "/_bulk") -> tuple[int, bytes]:
    return send(sink, path, numbered("x", numbers))


@pytest.mark.parametrize("status", [401, 403, 413, 429, 500, 503])
def test_a_status_is_an_error_in_json_and_nothing_is_counted(status: int) -> None:
    with faulty(f"status={status},after=2,times=2") as (sink, client):
        answers = [bulk(sink, range(n * 10, n * 10 + 10)) for n in range(4)]
        assert [code for code, _ in answers] == [200, status, status, 200]
        error = json.loads(answers[1][1])
        assert error["status"] == status
        assert "items" not in error
        assert indexed(client, "x") == 20
        assert checked(client, "x", 40) == DeliveryCheck(20, 0, tuple(range(10, 20)), ())
        fault = f"status={status},after=2,times=2"
        assert fault_counts(client) == (FaultCount(fault, 10, 0), FaultCount(fault, 10, 0))


def test_by_default_the_fifth_request_goes_wrong_once() -> None:
    with faulty("html=503") as (sink, client):
        answers = [bulk(sink, [n]) for n in range(7)]
        assert [code for code, _ in answers] == [200] * 4 + [503] + [200] * 2
        assert answers[4][1].startswith(b"<html>")
        assert checked(client, "x", 7).missing == (4,)


@pytest.mark.parametrize("path", ["/_bulk", f"/_bulk?filter_path={SHORT}"])
def test_refused_documents_are_reported_and_not_counted(path: str) -> None:
    with faulty("errors,after=1") as (sink, client):
        status, answer = bulk(sink, range(10), path)
        assert status == 200
        parsed = json.loads(answer)
        assert parsed["errors"] is True
        statuses = [item["index"]["status"] for item in parsed["items"]]
        assert statuses == [201, 201, 400, 201, 201, 429, 201, 201, 400, 201]
        assert parsed["items"][5]["index"]["error"]["type"] == "es_rejected_execution_exception"
        assert checked(client, "x", 10) == DeliveryCheck(3, 0, (2, 5, 8), ())
        assert fault_counts(client) == (FaultCount("errors,after=1,times=1", 10, 7),)
        assert json.loads(bulk(sink, range(10, 20), path)[1])["errors"] is False


def test_a_proxy_refuses_what_is_larger_than_it_takes_with_a_page() -> None:
    with faulty("limit=500,after=1,times=9") as (sink, client):
        answers = [bulk(sink, range(10)), bulk(sink, [10]), bulk(sink, range(11, 30))]
        assert [code for code, _ in answers] == [413, 200, 413]
        assert answers[0][1].startswith(b"<html>")
        assert indexed(client, "x") == 1


def test_an_answer_without_a_body_is_empty() -> None:
    with faulty("empty=413,after=1") as (sink, client):
        assert bulk(sink, range(10)) == (413, b"")
        assert indexed(client, "x") == 0


def test_all_documents_can_be_refused_alike() -> None:
    with faulty("items=429,after=1") as (sink, client):
        status, answer = bulk(sink, range(4))
        assert status == 200
        assert [one["index"]["status"] for one in json.loads(answer)["items"]] == [429] * 4
        assert indexed(client, "x") == 0


def test_half_an_answer_is_no_json_but_everything_is_counted() -> None:
    with faulty("truncate,after=1") as (sink, client):
        status, answer = bulk(sink, range(10))
        assert status == 200
        with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
            json.loads(answer)
        assert indexed(client, "x") == 10
        assert fault_counts(client) == (FaultCount("truncate,after=1,times=1", 10, 10),)


@pytest.mark.parametrize(("text", "counted"), [("reset", 10), ("reset-before", 0)])
def test_a_reset_comes_after_or_before_storing(text: str, counted: int) -> None:
    with faulty(f"{text},after=1") as (sink, client):
        with pytest.raises(ConnectionResetError):
            bulk(sink, range(10))
        assert indexed(client, "x") == counted
        assert fault_counts(client) == (FaultCount(f"{text},after=1,times=1", 10, counted),)
        assert bulk(sink, range(10))[0] == 200


def test_a_delay_is_slow_and_harmless() -> None:
    with faulty("delay=0.2,after=1") as (sink, client):
        started = time.monotonic()
        assert bulk(sink, range(10))[0] == 200
        assert time.monotonic() - started >= 0.2
        assert checked(client, "x", 10) == DeliveryCheck(0, 0, (), ())
        assert unfinished(client).bulk_bytes == 0


def test_a_hung_request_holds_its_connection_and_no_other() -> None:
    with faulty("hang,after=1") as (sink, client):
        connection = http.client.HTTPConnection("127.0.0.1", sink.port, timeout=0.3)
        connection.request("POST", "/_bulk", bulk_body("x", [1]))
        with pytest.raises(TimeoutError):
            connection.getresponse()
        connection.close()
        assert bulk(sink, [2])[0] == 200
        assert indexed(client, "x") == 1


def test_one_event_is_dropped_and_one_doubled_and_both_are_answered_as_stored() -> None:
    with faulty("drop-event=7", "double-event=3") as (sink, client):
        answer = json.loads(bulk(sink, range(10))[1])
        assert [item["index"]["status"] for item in answer["items"]] == [201] * 10
        assert indexed(client, "x") == 10
        assert checked(client, "x", 10) == DeliveryCheck(1, 1, (7,), (3,))
        assert set(fault_counts(client)) == {
            FaultCount("drop-event=7,times=1", 1, 0),
            FaultCount("double-event=3,times=1", 1, 2),
        }
        bulk(sink, [7, 3])
        assert checked(client, "x", 10) == DeliveryCheck(0, 2, (), (3,))


def test_the_books_show_every_index_and_run() -> None:
    with faulty() as (sink, client):
        send(sink, "/_bulk", bulk_body("y", [0, 1, 1, 3]) + b'{"index":{"_index":"y"}}\n{}\n')
        send(sink, "/_bulk", bulk_body("y", [0], "ffffffff"))
        books = {book.index: book for book in arrived(client)}
        assert books["x"].documents == 0
        assert books["y"].documents == 6
        first, second = books["y"].runs
        assert (first.run_id, first.events, first.account) == (
            "0a1b2c3d", 3, DeliveryCheck(1, 1, (2,), (1,))
        )  # fmt: skip
        assert (second.run_id, second.events, second.account) == (
            "ffffffff", 1, DeliveryCheck(0, 0, (), ())
        )  # fmt: skip


def test_a_fault_that_is_none_stops_the_process_from_starting() -> None:
    import subprocess
    import sys

    command = [sys.executable, "-m", "tuner.lab.sink_server", "--fault", "nonsense"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=-3)
    assert done.returncode == 1
    assert "'nonsense' is not a fault" in done.stderr


def test_a_sink_says_when_it_has_ended() -> None:
    with Sink() as sink:
        assert sink.ending() is None
    assert sink.ending() == "exit code 0"
    with pytest.raises(JobFailed), Sink() as first, Sink(first.port):
        pass

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Sequence

import pytest

from tuner.engine.client import EngineClient, EngineRefused
from tuner.engine.delivery import DeliveryCheck, Expectation, check_by_sink
from tuner.engine.numbering import FIELD, SentEvents, first_number
from tuner.engine.owned import Owner, create_index, indices, put_template, remove
from tuner.engine.status import count, facts, index_counters, indexed, make_durable, node_counters
from tuner.lab.sink import Sink

RUN = "0a1b2c3d"
STAMPED = "042"
SHORT = "errors,items.*.status,items.*.error"


@pytest.fixture(scope="module")
def sink() -> Iterator[Sink]:
    with Sink() as running:
        yield running


@pytest.fixture
def client(sink: Sink) -> Iterator[EngineClient]:
    client = EngineClient(sink.url)
    yield client
    client.close()


def bulk_body(index: str, numbers: Sequence[int], run: str = RUN) -> bytes:
    action = json.dumps({"index": {"_index": index}})
    documents = [json.dumps({"message": f'run={run} seq={n:012} says "hello"'}) for n in numbers]
    return "".join(f"{action}\n{document}\n" for document in documents).encode()


def numbered(index: str, numbers: Sequence[int], output: int = 0, run: str = STAMPED) -> bytes:
    """Documents with the numbers that a lab adds."""
    action = json.dumps({"index": {"_index": index}})
    first = first_number(run, output)
    return b"".join(
        b'%b\n{"%b":%d}\n' % (action.encode(), FIELD.encode(), first + n) for n in numbers
    )


def checked(
    client: EngineClient, index: str, *sent: int, outputs: tuple[tuple[int, ...], ...] = ((1,),)
) -> DeliveryCheck:
    """What became of events that were numbered, of which each is expected in each output."""
    return check_by_sink(client, index, SentEvents(sent), STAMPED, Expectation(outputs))


def send(
    sink: Sink, path: str, body: bytes, headers: dict[str, str] | None = None
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", sink.port, timeout=60)
    try:
        connection.request("POST", path, body, headers or {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def post(sink: Sink, path: str, body: bytes) -> dict[str, object]:
    status, answer = send(sink, path, body)
    assert status == 200, answer
    parsed = json.loads(answer)
    assert isinstance(parsed, dict)
    return parsed


def test_the_engine_client_probes_it(client: EngineClient) -> None:
    found = facts(client)
    assert (found.distribution, found.version, found.data_nodes) == ("elasticsearch", "8.19.0", 1)
    assert node_counters(client).cpu_ms > 0
    assert node_counters(client).rejected == 0


def test_documents_are_counted_exactly(sink: Sink, client: EngineClient) -> None:
    post(sink, "/_bulk", bulk_body("counts-a", range(1000)))
    post(sink, "/_bulk", bulk_body("counts-b", range(500)) + bulk_body("counts-a", [1000]))
    assert indexed(client, "counts-a") == 1001
    assert index_counters(client, "counts-a").indexed == 1001
    assert indexed(client, "counts-b") == 500
    assert indexed(client, "counts-*") == 1501
    make_durable(client, "counts-*")
    assert count(client, "counts-*") == 1501


@pytest.mark.parametrize("path", ["/single/events", "/single/_doc", "/single/_doc/7"])
def test_a_document_in_a_request_of_its_own_is_counted(path: str, sink: Sink) -> None:
    status, answer = send(sink, path, b'{\n"m": 1}\n')
    assert status == 201
    assert json.loads(answer)["result"] == "created"
    assert post(sink, "/single/_count", b"")["count"] == json.loads(answer)["_seq_no"] + 1


def test_empty_lines_between_documents_are_skipped(sink: Sink, client: EngineClient) -> None:
    one, two = (bulk_body("spaced", [number]) for number in (1, 2))
    assert post(sink, "/_bulk", one + b"\n" + two)["errors"] is False
    assert indexed(client, "spaced") == 2


def test_losses_and_repetitions_are_named(sink: Sink, client: EngineClient) -> None:
    numbers = [n for n in range(99) if n not in {3, 77}] + [5, 5]
    post(sink, "/_bulk", numbered("named", numbers) + b'{"index":{"_index":"named"}}\n{"a":1}\n')
    assert checked(client, "named", 100) == DeliveryCheck(3, 2, (3, 77, 99), (5,))


def test_what_another_run_left_makes_up_for_no_loss(sink: Sink, client: EngineClient) -> None:
    post(sink, "/_bulk", numbered("runs", range(1, 10)) + numbered("runs", range(4), run="041"))
    assert checked(client, "runs", 10) == DeliveryCheck(1, 0, (0,), ())


def test_what_no_sender_reached_makes_up_for_no_loss(sink: Sink, client: EngineClient) -> None:
    sent = [*range(1_010), *range(2_000, 2_500)]
    post(sink, "/_bulk", numbered("senders", sent))
    assert checked(client, "senders", 1_500, 10) == DeliveryCheck(0, 0, (), ())
    assert checked(client, "senders", 1_500, 11) == DeliveryCheck(1, 0, (1_010,), ())
    post(sink, "/_bulk", numbered("senders", [1_011]))
    assert checked(client, "senders", 1_500, 11) == DeliveryCheck(1, 0, (1_010,), ())


def test_a_check_adds_up_over_indices(sink: Sink, client: EngineClient) -> None:
    post(sink, "/_bulk", numbered("days-1", range(60)) + numbered("days-2", range(50, 100)))
    assert checked(client, "days-*", 100) == DeliveryCheck(0, 10, (), tuple(range(50, 60)))


def test_each_output_is_checked_by_itself(sink: Sink, client: EngineClient) -> None:
    """The second takes every other event, the third may have any."""
    outputs = ((1, 1), (1, 0), (-1, -1))
    first, second = [*range(9), 3], [0, 2, 4, 5, 6]
    for output, numbers in enumerate((first, second, [1, 1, 1])):
        post(sink, "/_bulk", numbered("outputs", numbers, output))
    found = checked(client, "outputs", 10, outputs=outputs)
    assert found == DeliveryCheck(2, 2, (9, 8), (3, 5))


def test_a_filtered_reply_has_no_more_than_was_asked_for(sink: Sink) -> None:
    body = bulk_body("filtered", range(3))
    path = f"/_bulk?timeout=1m&filter_path={SHORT}"
    status = {"index": {"status": 201}}
    assert post(sink, path, body) == {"errors": False, "items": [status] * 3}
    assert post(sink, "/_bulk?filter_path=errors", body) == {"errors": False}


def test_a_full_reply_has_an_item_per_document(sink: Sink) -> None:
    body = bulk_body("full", range(2)) + b'{"create":{"_index":"full","_id":"i\\"d"}}\n{}\n'
    answer = post(sink, "/_bulk", body)
    assert answer["errors"] is False
    items = answer["items"]
    assert isinstance(items, list)
    assert [next(iter(item)) for item in items] == ["index", "index", "create"]
    assert items[1]["index"] == {
        "_index": "full",
        "_id": "sink0000000000000001",
        "_version": 1,
        "result": "created",
        "_shards": {"total": 1, "successful": 1, "failed": 0},
        "_seq_no": 1,
        "_primary_term": 1,
        "status": 201,
    }
    assert items[2]["create"]["_id"] == 'i"d'


def test_the_address_names_the_index_when_the_action_does_not(
    sink: Sink, client: EngineClient
) -> None:
    post(sink, "/addressed/_bulk", b'{"index":{}}\n{"a":1}\n')
    assert indexed(client, "addressed") == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"index":{}}\n{}\n',
        b'{"index":{"_index":"bad"}}\n{}',
        b'{"index":{"_index":"bad"}}\n',
        b"nonsense\n{}\n",
        b'{"delete":{"_index":"bad"}}\n{}\n',
    ],
)
def test_what_is_no_bulk_is_refused_and_counts_nothing(
    sink: Sink, client: EngineClient, body: bytes
) -> None:
    status, answer = send(sink, "/_bulk", body)
    assert status == 400
    assert b"illegal_argument_exception" in answer
    assert "bad" not in indices(client, "bad")


def test_templates_and_indices_of_ours_come_and_go(sink: Sink, client: EngineClient) -> None:
    owner = Owner("11112222")
    body: dict[str, object] = {
        "index_patterns": [f"{owner.prefix}*"],
        "_meta": owner.meta,
        "template": {"mappings": {"_meta": owner.meta}, "settings": {"number_of_shards": 1}},
    }
    put_template(client, owner, f"{owner.prefix}t", body)
    with pytest.raises(EngineRefused, match="already exists"):
        put_template(client, owner, f"{owner.prefix}t", body)
    listed = client.get(f"/_index_template/{owner.prefix}t")["index_templates"]
    assert listed == [{"name": f"{owner.prefix}t", "index_template": body}]
    create_index(client, owner, f"{owner.prefix}a")
    with pytest.raises(EngineRefused, match="already exists"):
        create_index(client, owner, f"{owner.prefix}a")
    post(sink, "/_bulk", bulk_body(f"{owner.prefix}b", [0]))
    assert indices(client, owner.prefix) == (f"{owner.prefix}a", f"{owner.prefix}b")
    remove(client, owner, owner.prefix)
    assert indices(client, owner.prefix) == ()
    assert client.get(f"/_index_template/{owner.prefix}*") == {"index_templates": []}


def test_a_created_index_shows_its_mappings(client: EngineClient) -> None:
    client.request("PUT", "/shown", {"mappings": {"_meta": {"run_id": "x"}}})
    shown = client.get("/shown/_mapping")["shown"]
    assert isinstance(shown, dict)
    assert shown["mappings"] == {"_meta": {"run_id": "x"}}
    assert client.request("DELETE", "/shown") == {"acknowledged": True}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/nowhere/_stats"),
        ("GET", "/nowhere/_count"),
        ("DELETE", "/nowhere"),
        ("GET", "/_index_template/nowhere"),
        ("DELETE", "/_index_template/nowhere"),
    ],
)
def test_what_is_not_there_is_not_found(client: EngineClient, method: str, path: str) -> None:
    with pytest.raises(EngineRefused) as refused:
        client.request(method, path)
    assert refused.value.status == 404


@pytest.mark.parametrize(
    ("method", "path"), [("DELETE", "/a*"), ("PUT", "/_cluster/settings"), ("GET", "/_unknown")]
)
def test_what_we_never_ask_for_is_refused(client: EngineClient, method: str, path: str) -> None:
    with pytest.raises(EngineRefused) as refused:
        client.request(method, path)
    assert refused.value.status == 400


def test_it_answers_expect_100_continue_before_the_body(sink: Sink) -> None:
    body = bulk_body("expected", range(10))
    with socket.create_connection(("127.0.0.1", sink.port), 5) as connection:
        head = f"POST /_bulk HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
        connection.sendall(f"{head}Expect: 100-continue\r\n\r\n".encode())
        assert connection.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")
        connection.sendall(b"HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(1000), b""))
        assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"POST /_bulk HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"400"),
        (b"POST /_bulk HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n", b"413"),
        (b"POST /_bulk HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"411"),
    ],
)
def test_what_is_no_http_is_refused(sink: Sink, head: bytes, status: bytes) -> None:
    with socket.create_connection(("127.0.0.1", sink.port), 5) as connection:
        connection.sendall(head)
        assert connection.recv(1000).split(b" ")[1] == status


def test_bulks_that_come_in_parallel_are_all_counted(sink: Sink, client: EngineClient) -> None:
    def work(worker: int) -> None:
        for turn in range(20):
            start = (worker * 20 + turn) * 100
            post(sink, "/_bulk", numbered("parallel", range(start, start + 100)))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert indexed(client, "parallel") == 12_000
    assert checked(client, "parallel", 12_000) == DeliveryCheck(0, 0, (), ())


@pytest.mark.parametrize("query", ["", f"?filter_path={SHORT}"])
def test_an_index_that_no_engine_makes_is_refused_in_an_engines_words(
    sink: Sink, client: EngineClient, query: str
) -> None:
    """The documents of other indices in the same bulk are taken."""
    body = bulk_body("misnamed-not", [1, 2]) + bulk_body("Misnamed", [3])
    before = count(client, "misnamed-not") if query else 0
    answer = post(sink, f"/_bulk{query}", body)
    items = answer["items"]
    assert isinstance(items, list)
    assert [one["index"]["status"] for one in items] == [201, 201, 400]
    reason = "Invalid index name [Misnamed], must be lowercase"
    assert items[2]["index"]["error"] == {"type": "invalid_index_name_exception", "reason": reason}
    assert answer["errors"] is True
    assert count(client, "misnamed-not") == before + 2
    assert "Misnamed" not in indices(client, "*")

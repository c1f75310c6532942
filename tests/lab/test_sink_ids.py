"""Documents that come with ids: what is created twice is refused, as the engine does."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tests.lab.test_sink import STAMPED, checked, post
from tuner.engine.client import EngineClient
from tuner.engine.delivery import DeliveryCheck
from tuner.engine.numbering import FIELD, first_number
from tuner.lab.sink import Sink, parse_fault


def body(numbers: Sequence[int], operation: str = "create") -> bytes:
    """One document for each number, which is its id too."""
    lines = []
    for number in numbers:
        action = {operation: {"_index": "x", "_id": f"id-{number}"}}
        document = {FIELD: first_number(STAMPED, 0) + number}
        lines += [json.dumps(action), json.dumps(document)]
    return "".join(line + "\n" for line in lines).encode()


def statuses(reply: dict[str, object], operation: str = "create") -> list[int]:
    items = reply["items"]
    assert isinstance(items, list)
    return [item[operation]["status"] for item in items]


def test_creating_what_is_there_is_a_conflict_and_counts_once() -> None:
    with Sink() as sink:
        client = EngineClient(sink.url)
        first = post(sink, "/_bulk", body([0, 1]))
        second = post(sink, "/_bulk", body([1, 2, 2]))
        assert (statuses(first), first["errors"]) == ([201, 201], False)
        assert (statuses(second), second["errors"]) == ([409, 201, 409], True)
        assert checked(client, "x", 3) == DeliveryCheck(0, 0, (), ())
        client.close()


def test_what_was_refused_can_be_created_later() -> None:
    with Sink(faults=[parse_fault("errors,after=1")]) as sink:
        assert statuses(post(sink, "/_bulk", body(range(6)))) == [201, 201, 400, 201, 201, 429]
        again = statuses(post(sink, "/_bulk", body(range(6))))
        assert again == [409, 409, 201, 409, 409, 201]


def test_to_index_again_is_a_repetition() -> None:
    with Sink() as sink:
        client = EngineClient(sink.url)
        for _ in range(2):
            assert statuses(post(sink, "/_bulk", body([0], "index")), "index") == [201]
        assert checked(client, "x", 1) == DeliveryCheck(0, 1, (), (0,))
        client.close()

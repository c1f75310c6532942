"""Every event counted where a message gives no document, one or several in each output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from tests.engine.test_delivery import ACCOUNT, ALL_WELL, Index
from tuner.engine.client import JSON, EngineClient, EngineRefused
from tuner.engine.delivery import (
    DeliveryCheck,
    Expectation,
    check_expected_by_identity,
    check_expected_by_sink,
    numbers_of,
)
from tuner.engine.numbering import FIELD, SentEvents

RUN = "1700000"
EVENTS = 6_400
ONE = SentEvents((EVENTS,))
# Every message goes to the first output, and every other one to the second.
SOME = Expectation(((1, 1), (1, 0)))
ALL = Expectation(((1, 1), (0, 0)))


class Based(Index):
    """An engine that counts documents in stretches of numbers too; of terms each of its shards
    says its own, and what is in two of them once each is in none twice."""

    def __init__(self, numbers: Iterable[int], shards: int = 1, indices: int = 1) -> None:
        super().__init__(numbers)
        self.shards, self.indices = shards, indices

    def request(
        self, method: str, path: str, body: JSON | None = None, *, timeout_s: float | None = None
    ) -> object:
        answer: Any = super().request(method, path, body)
        answer["_shards"] = {"total": self.shards}
        for one in answer["aggregations"].get("most", {}).get("buckets", ()) * (self.shards > 1):
            one["doc_count"] = 1
        return answer

    def _buckets(self, agg: Mapping[str, Any]) -> list[dict[str, int]]:
        indices: Any = [{"key": number, "doc_count": 1} for number in range(self.indices)]
        if agg.get("terms", {}).get("field") == "_index":
            return indices  # type: ignore[no-any-return]
        if "filters" not in agg:
            return super()._buckets(agg)
        stretches = [one["range"][FIELD] for one in agg["filters"]["filters"]]
        below: Any = {"indices": {"buckets": indices}} if "aggs" in agg else {}
        return [
            {"doc_count": sum(n for at, n in self.held.items() if one["gte"] <= at < one["lt"])}
            | below
            for one in stretches
        ]


def key(output: int, number: int, run: str = RUN) -> int:
    """What documents carry: two digits of the output, sixteen of the event's microseconds."""
    return int(f"{10 + output}{int(run) * 10**9 + number:016d}")


def documents(expectation: Expectation, sent: SentEvents) -> list[int]:
    """What arrives if all is well."""
    return [
        key(output, int(number))
        for output in range(len(expectation.outputs))
        for number, times in zip(numbers_of(sent), expectation.of_events(output, sent), strict=True)
        for _ in range(max(0, int(times)))
    ]


def check(
    held: Iterable[int], expectation: Expectation = SOME, sent: SentEvents = ONE
) -> DeliveryCheck:
    return check_expected_by_identity(Based(held), "logs-*", sent, RUN, expectation)


def without(held: list[int], *gone: int) -> list[int]:
    return [one for one in held if one not in gone]


def test_a_message_gives_in_each_output_what_it_gave_when_it_was_learnt() -> None:
    assert SOME.of_events(1, SentEvents((5,))).tolist() == [1, 0, 1, 0, 1]
    # Two senders: each begins with the first message of the pool.
    two = SentEvents((1_001, 1_001))
    assert SOME.of_events(1, two)[[0, 1, 1_000, 1_001, 2_000]].tolist() == [1, 0, 1, 0, 1]
    assert SOME.documents(SentEvents((5,))) == 8
    assert Expectation(((3, -1),)).documents(SentEvents((4,))) == 6


class Unindexed(Based):
    """An engine that searches no field without an index."""

    def _buckets(self, agg: Mapping[str, Any]) -> list[dict[str, int]]:
        if "filters" in agg:
            raise EngineRefused("all shards failed: Cannot search on field", 400)
        return super()._buckets(agg)


def test_where_the_engine_counts_no_stretches_every_number_is_read() -> None:
    held = documents(ALL, ONE)
    whole = check_expected_by_identity(Unindexed(held), "logs-*", ONE, RUN, ALL)
    assert whole == ALL_WELL
    less = check_expected_by_identity(Unindexed(held[1:]), "logs-*", ONE, RUN, ALL)
    assert (less.lost, less.missing) == (1, (0,))


@pytest.mark.parametrize("sent", [ONE, SentEvents((2_500, 1_010))])
def test_what_is_expected_is_all_well_by_one_answer(sent: SentEvents) -> None:
    index = Based(documents(ALL, sent))
    assert check_expected_by_identity(index, "logs-*", sent, RUN, ALL) == ALL_WELL
    assert index.pages == []
    assert check(documents(SOME, sent), SOME, sent) == ALL_WELL


def test_a_document_that_should_not_be_there_makes_up_for_no_loss_beside_it() -> None:
    held = without(documents(SOME, ONE), key(1, 20))
    assert check([*held, key(1, 21)]) == DeliveryCheck(1, 1, (20,), (21,))


@pytest.mark.parametrize("number", [0, 4_000, EVENTS - 2])
@pytest.mark.parametrize("output", [0, 1])
def test_a_document_that_is_missing_in_one_output_is_named(output: int, number: int) -> None:
    held = without(documents(SOME, ONE), key(output, number))
    assert check(held) == DeliveryCheck(1, 0, (number,), ())


def test_a_document_that_no_output_should_have_is_one_too_many() -> None:
    assert check([*documents(SOME, ONE), key(1, 3)]) == DeliveryCheck(0, 1, (), (3,))


@pytest.mark.parametrize("output", [0, 1])
def test_a_double_makes_up_for_no_loss(output: int) -> None:
    held = without(documents(SOME, ONE), key(output, 10))
    assert check([*held, key(output, 12)]) == DeliveryCheck(1, 1, (10,), (12,))


@pytest.mark.parametrize(("shards", "indices"), [(3, 1), (2, 2)])
def test_a_double_in_two_shards_makes_up_for_no_loss(shards: int, indices: int) -> None:
    held = without(documents(ALL, ONE), key(0, 10))
    index = Based([*held, key(0, 12)], shards, indices)
    found = check_expected_by_identity(index, "logs-*", ONE, RUN, ALL)
    assert found == DeliveryCheck(1, 1, (10,), (12,))


@pytest.mark.parametrize(
    "stranger", [key(0, 5, "1699999"), key(2, 5), key(7, 5), key(0, EVENTS), key(0, 0) - 1]
)
def test_a_document_of_another_run_output_or_number_makes_up_for_no_loss(stranger: int) -> None:
    held = without(documents(SOME, ONE), key(0, 5))
    assert check([*held, stranger]) == DeliveryCheck(1, 0, (5,), ())


def test_a_document_of_one_output_makes_up_for_none_of_another() -> None:
    held = without(documents(SOME, ONE), key(0, 20))
    assert check([*held, key(1, 21)]) == DeliveryCheck(1, 1, (20,), (21,))


def test_of_messages_that_give_several_each_copy_counts() -> None:
    twice = Expectation(((2, 1),))
    held = documents(twice, ONE)
    assert check(held, twice) == ALL_WELL
    lost = held.copy()
    lost.remove(key(0, 100))
    assert check(lost, twice) == DeliveryCheck(1, 0, (100,), ())
    assert check([*held, key(0, 101)], twice) == DeliveryCheck(0, 1, (), (101,))


def test_of_a_message_that_differs_from_time_to_time_nothing_is_expected() -> None:
    differs = Expectation(((1, -1),))
    held = [*documents(differs, ONE), *[key(0, 1)] * 3, key(0, 5)]
    assert check(held, differs) == ALL_WELL
    assert check(without(held, key(0, 2)), differs) == DeliveryCheck(1, 0, (2,), ())


def test_documents_of_which_none_was_expected_are_read_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer with more numbers than it may hold leaves some out."""
    monkeypatch.setattr("tuner.engine.delivery._PARTITION", 400)
    monkeypatch.setattr("tuner.engine.delivery._MOST_BUCKETS", 600)
    held = [key(0, number) for number in range(EVENTS)]
    differs = Expectation(((1, -1),))
    assert check(held, differs) == ALL_WELL
    assert check(without(held, key(0, 2)), differs) == DeliveryCheck(1, 0, (2,), ())


def test_what_several_outputs_miss_is_counted_together_and_ten_are_named() -> None:
    gone = [key(output, number) for output in (0, 1) for number in range(0, 16, 2)]
    found = check(without(documents(SOME, ONE), *gone))
    assert (found.lost, found.missing) == (16, (0, 2, 4, 6, 8, 10, 12, 14, 0, 2))
    twice = [key(output, number) for output in (0, 1) for number in range(0, 16, 2)]
    more = check([*documents(SOME, ONE), *twice])
    assert (more.duplicated, more.doubled) == (16, found.missing)


class Sink(EngineClient):
    """Our sink, which says what became of the events that it is asked for."""

    def __init__(self) -> None:
        super().__init__("http://sink.invalid")
        self.asked: list[tuple[str, str, JSON | None]] = []

    def request(
        self, method: str, path: str, body: JSON | None = None, *, timeout_s: float | None = None
    ) -> object:
        self.asked.append((method, path, body))
        return ACCOUNT


def test_our_sink_is_told_what_is_expected_of_which_run() -> None:
    sink = Sink()
    found = check_expected_by_sink(sink, "logs-*", SentEvents((100, 20)), RUN, SOME)
    assert found == DeliveryCheck(3, 2, (5, 6, 7), (9,))
    wanted = {"sent": [100, 20], "run": RUN, "expected": [[1, 1], [1, 0]]}
    assert sink.asked == [("POST", "/_sink/logs-*/account", wanted)]

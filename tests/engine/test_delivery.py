"""Every event counted: by the engine's counters, and by the numbers in the documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from tuner.engine.client import JSON, EngineClient
from tuner.engine.delivery import (
    Arrived,
    ArrivedRun,
    DeliveryCheck,
    FaultCount,
    arrived,
    check_by_counters,
    check_by_identity,
    check_by_sink,
    fault_counts,
)
from tuner.engine.numbering import FIELD, SentEvents
from tuner.measure.measurement import Delivery

ALL_WELL = DeliveryCheck(0, 0, (), ())


@pytest.mark.parametrize(
    ("indexed", "found", "lost", "duplicated"),
    [
        (100, 100, 0, 0),
        (97, 97, 3, 0),
        (104, 104, 0, 4),
        (100, 98, 2, 0),  # counted by the engine, and then not there
        (98, 100, 2, 0),
        (103, 100, 0, 3),
        (103, 98, 2, 3),
        (0, 0, 100, 0),
    ],
)
def test_where_counters_disagree_the_worse_counts(
    indexed: int, found: int, lost: int, duplicated: int
) -> None:
    assert check_by_counters(100, indexed, found) == DeliveryCheck(
        lost, duplicated, (), (), identified=False
    )


@pytest.mark.parametrize(
    "counts", [(99, 100, 100), (100, 99, 100), (100, 100, 99), (100, 101, 100), (100, 100, 101)]
)
def test_counts_that_differ_are_not_exact(counts: tuple[int, int, int]) -> None:
    assert not Delivery(*counts, 0, 0).exact


def test_what_is_lost_or_doubled_is_not_exact_whatever_the_counts() -> None:
    assert Delivery(100, 100, 100, 0, 0).exact
    assert not Delivery(100, 100, 100, 1, 0).exact
    assert not Delivery(100, 100, 100, 0, 1).exact
    assert not Delivery(100, 100, 100, 1, 1).exact


class Index(EngineClient):
    """An engine that holds documents with these numbers, and answers aggregations over them.  Of
    terms it names no more than it is asked for; `pages` are the bodies that it was asked for whole
    pages of numbers with."""

    def __init__(self, numbers: Iterable[int]) -> None:
        super().__init__("http://engine.invalid")
        self.held = Counter(numbers)
        self.pages: list[JSON] = []

    def request(
        self, method: str, path: str, body: JSON | None = None, *, timeout_s: float | None = None
    ) -> object:
        assert body is not None
        assert (method, body["size"]) == ("POST", 0)
        place, _, options = path.partition("?")
        assert place == "/logs-*/_search"
        assert {*options.split("&")} == {
            "request_cache=false", "allow_partial_search_results=false",
        }  # fmt: skip
        aggs: Any = body.get("aggs", {})
        if "numbers" in aggs:
            self.pages.append(body)
        # Without being asked an engine counts no further than 10,000.
        is_exact = body.get("track_total_hits") is True
        total = self.held.total() if is_exact else min(10_000, self.held.total())
        return {
            "hits": {"total": {"value": total}},
            "aggregations": {name: {"buckets": self._buckets(agg)} for name, agg in aggs.items()},
        }

    def _buckets(self, agg: Mapping[str, Any]) -> list[dict[str, int]]:
        ((kind, asked),) = agg.items()
        assert asked["field"] == FIELD
        if kind == "range":
            return [
                {
                    "doc_count": sum(
                        n for at, n in self.held.items() if one["from"] <= at < one["to"]
                    )
                }
                for one in asked["ranges"]
            ]
        assert kind == "terms"
        part = asked.get("include", {"partition": 0, "num_partitions": 1})
        inside = {n for n in self.held if n % part["num_partitions"] == part["partition"]}
        most = [one for one in self.held.most_common() if one[0] in inside]
        return [{"key": at, "doc_count": n} for at, n in most[: asked["size"]]]


def check(numbers: Iterable[int], sent: SentEvents, shards: int = 1) -> DeliveryCheck:
    return check_by_identity(Index(numbers), "logs-*", sent, shards)


EVENTS = 100_000
ONE = SentEvents((EVENTS,))
TWO = SentEvents((4_500, 2_010))
OF_TWO = [number for first, end in TWO.ranges() for number in range(first, end)]


@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize(("numbers", "sent"), [(range(EVENTS), ONE), (OF_TWO, TWO)])
def test_every_number_once_is_all_well(
    numbers: Iterable[int], sent: SentEvents, shards: int
) -> None:
    assert check(numbers, sent, shards) == ALL_WELL


def test_in_one_shard_one_answer_proves_it_and_in_two_every_number_is_read() -> None:
    for shards, pages in ((1, 0), (2, 3)):
        index = Index(range(EVENTS))
        check_by_identity(index, "logs-*", ONE, shards)
        assert len(index.pages) == pages


@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize("gone", [0, 12_345, EVENTS - 1])
def test_a_number_that_is_missing_is_named_wherever_it_is(gone: int, shards: int) -> None:
    assert check((n for n in range(EVENTS) if n != gone), ONE, shards) == DeliveryCheck(
        1, 0, (gone,), ()
    )


@pytest.mark.parametrize("shards", [1, 2])
def test_a_number_that_is_there_three_times_is_two_too_many(shards: int) -> None:
    assert check([*range(EVENTS), 7, 7], ONE, shards) == DeliveryCheck(0, 2, (), (7,))


@pytest.mark.parametrize("shards", [1, 2])
def test_a_double_does_not_make_up_for_a_loss(shards: int) -> None:
    """There are as many documents as events."""
    numbers = [*(n for n in range(EVENTS) if n != 20_000), 5]
    assert check(numbers, ONE, shards) == DeliveryCheck(1, 1, (20_000,), (5,))


@pytest.mark.parametrize("stranger", [3_010, 3_999, 9_999_999])
def test_a_number_that_nobody_sent_does_not_make_up_for_a_loss(stranger: int) -> None:
    """As many documents as events, and none twice: another flood's, or what lies between."""
    spread = SentEvents((2_500, 1_010))
    numbers = [number for first, end in spread.ranges() for number in range(first, end)]
    assert stranger not in numbers
    found = check([*numbers[:-1], stranger], spread)
    assert (found.lost, found.missing, found.duplicated) == (1, (numbers[-1],), 0)


def test_a_document_of_nobody_beside_all_is_no_proof_but_loses_nothing() -> None:
    """What was found is then more than what was sent, and the counts say so."""
    assert check([*range(EVENTS), EVENTS + 500_000], ONE) == ALL_WELL
    assert not Delivery(EVENTS, EVENTS + 1, EVENTS + 1, 0, 0).exact


def test_ten_of_each_are_named_and_all_are_counted() -> None:
    numbers = [*range(100, EVENTS), *range(200, 230)]
    assert check(numbers, ONE) == DeliveryCheck(100, 30, tuple(range(10)), tuple(range(200, 210)))


class Torn(Index):
    """One whose first page of numbers comes without its second half."""

    def _buckets(self, agg: Mapping[str, Any]) -> list[dict[str, int]]:
        found = super()._buckets(agg)
        return found[: len(found) // 2] if len(self.pages) == 1 and "terms" in agg else found


def test_a_torn_page_is_never_all_well() -> None:
    torn = check_by_identity(Torn(range(EVENTS)), "logs-*", ONE, shards=2)
    assert torn.lost > 4_000


def test_numbers_in_more_ranges_than_one_answer_may_hold_are_all_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tuner.engine.delivery._MOST_RANGES", 3)
    for senders, pages in ((2, 0), (3, 1)):
        sent = SentEvents((1, 0) * senders)
        index = Index(first for first, _ in sent.ranges())
        assert check_by_identity(index, "logs-*", sent, shards=1) == ALL_WELL
        assert len(index.pages) == pages


def test_nothing_sent_is_nothing_lost() -> None:
    assert check([], SentEvents((0,))) == ALL_WELL


class Sink(EngineClient):
    """Our sink, by what it says of itself."""

    def __init__(self, **answers: JSON) -> None:
        super().__init__("http://sink.invalid")
        self.answers = answers
        self.asked: list[str] = []

    def get(self, path: str, timeout_s: float | None = None) -> JSON:
        self.asked.append(path)
        return self.answers[path.partition("?")[0].rpartition("/")[2]]


ACCOUNT: JSON = {"lost": 3, "duplicated": 2, "missing": [5, 6, 7], "doubled": [9]}


def test_the_account_of_our_sink_is_asked_for_by_what_each_sender_sent() -> None:
    sink = Sink(account=ACCOUNT)
    found = check_by_sink(sink, "logs-*", SentEvents((100, 20)))
    assert found == DeliveryCheck(3, 2, (5, 6, 7), (9,))
    assert sink.asked == ["/_sink/logs-*/account?sent=100,20"]


def test_what_our_sink_did_wrong_as_it_was_told_to() -> None:
    strike = {"fault": "status=503", "documents": 500, "stored": 0}
    assert fault_counts(Sink(faults={"strikes": [strike]})) == (FaultCount("status=503", 500, 0),)
    assert fault_counts(Sink(faults={"strikes": None})) == ()


def test_what_arrived_is_told_by_index_and_flood() -> None:
    index = {"index": "logs", "documents": 12, "runs": {"0a1b2c3d": {"distinct": 9, **ACCOUNT}}}
    check = DeliveryCheck(3, 2, (5, 6, 7), (9,))
    assert arrived(Sink(books={"indices": [index, {"index": "x", "documents": 1}]})) == (
        Arrived("logs", 12, (ArrivedRun("0a1b2c3d", 9, check),)), Arrived("x", 1, ()),
    )  # fmt: skip
    assert arrived(Sink(books={"indices": None})) == ()

"""Every event counted: by the engine's counters, and by the numbers in the documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from tuner.engine.client import JSON, EngineClient, EngineRefused
from tuner.engine.delivery import (
    Arrived,
    ArrivedRun,
    DeliveryCheck,
    Expectation,
    FaultCount,
    arrived,
    check_by_counters,
    check_by_identity,
    check_by_sink,
    fault_counts,
    numbers_of,
    searchable_by_sink,
)
from tuner.engine.numbering import FIELD, SentEvents
from tuner.measure.measurement import Delivery

ALL_WELL = DeliveryCheck(0, 0, (), ())
RUN = "042"
EVENTS = 6_400
ONE = SentEvents((EVENTS,))
TWO = SentEvents((2_500, 1_010))
# Every message goes to the first output, and every other one to the second.
SOME = Expectation(((1, 1), (1, 0)))
EACH = Expectation(((1,),))
ALL = Expectation(((1, 1), (0, 0), (1, 1)))


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
    """An engine that holds documents with these numbers in a few shards, of which each says its
    own terms: what is in two of them once each is in none twice.  Of terms it names no more than it
    is asked for; `pages` are the bodies that it was asked for whole pages of numbers with."""

    def __init__(self, numbers: Iterable[int], shards: int = 1, indices: int = 1) -> None:
        super().__init__("http://engine.invalid")
        self.held = Counter(numbers)
        self.shards, self.indices = shards, indices
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
        found = {name: {"buckets": self._buckets(agg)} for name, agg in aggs.items()}
        for one in found.get("most", {}).get("buckets", ()) if self.shards > 1 else ():
            one["doc_count"] = 1
        return {
            "hits": {"total": {"value": total}},
            "_shards": {"total": self.shards},
            "aggregations": found,
        }

    def _buckets(self, agg: Mapping[str, Any]) -> list[dict[str, Any]]:
        indices = [{"key": number, "doc_count": 1} for number in range(self.indices)]
        if agg.get("terms", {}).get("field") == "_index":
            return indices
        if "range" in agg:
            assert agg["range"]["field"] == FIELD
            below = {"indices": {"buckets": indices}} if "aggs" in agg else {}
            ranges = [(one["from"], one["to"]) for one in agg["range"]["ranges"]]
            if not ranges:
                raise EngineRefused("No [ranges] specified", 400, "No [ranges] specified")
            # Whatever order they were asked for in.
            return [
                {"doc_count": sum(n for at, n in self.held.items() if first <= at < end)} | below
                for first, end in sorted(ranges)
            ]
        asked = agg["terms"]
        assert asked["field"] == FIELD
        part = asked.get("include", {"partition": 0, "num_partitions": 1})
        inside = {n for n in self.held if n % part["num_partitions"] == part["partition"]}
        most = [one for one in self.held.most_common() if one[0] in inside]
        return [{"key": at, "doc_count": n} for at, n in most[: asked["size"]]]


def key(output: int, number: int, run: str = RUN) -> int:
    """What documents carry: two digits of the output, twelve of the event's microseconds."""
    return int(f"{10 + output}{int(run) * 10**9 + number:012d}")


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
    return check_by_identity(Index(held), "logs-*", sent, RUN, expectation)


def without(held: list[int], *gone: int) -> list[int]:
    return [one for one in held if one not in gone]


def test_a_message_gives_in_each_output_what_it_gave_when_it_was_learnt() -> None:
    assert SOME.of_events(1, SentEvents((5,))).tolist() == [1, 0, 1, 0, 1]
    # Two senders: each begins with the first message of the pool.
    two = SentEvents((1_001, 1_001))
    assert SOME.of_events(1, two)[[0, 1, 1_000, 1_001, 2_000]].tolist() == [1, 0, 1, 0, 1]
    assert SOME.documents(SentEvents((5,))) == 8
    assert Expectation(((3, -1),)).documents(SentEvents((4,))) == 6


@pytest.mark.parametrize("sent", [ONE, TWO])
@pytest.mark.parametrize("expectation", [EACH, ALL])
def test_where_each_event_is_there_once_one_answer_proves_it(
    sent: SentEvents, expectation: Expectation
) -> None:
    index = Index(documents(expectation, sent))
    assert check_by_identity(index, "logs-*", sent, RUN, expectation) == ALL_WELL
    assert index.pages == []


@pytest.mark.parametrize("sent", [ONE, TWO])
@pytest.mark.parametrize(
    ("shards", "indices", "expectation"), [(1, 1, SOME), (3, 1, EACH), (3, 1, ALL), (2, 2, ALL)]
)
def test_where_some_are_or_in_two_shards_every_number_is_read(
    sent: SentEvents, shards: int, indices: int, expectation: Expectation
) -> None:
    index = Index(documents(expectation, sent), shards, indices)
    assert check_by_identity(index, "logs-*", sent, RUN, expectation) == ALL_WELL
    assert len(index.pages) == 1


def test_numbers_in_more_ranges_than_one_answer_may_hold_are_all_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tuner.engine.delivery._MOST_RANGES", 5)
    for senders, pages in ((2, 0), (3, 1)):
        sent = SentEvents((1, 0) * senders)
        index = Index(documents(ALL, sent))
        assert check_by_identity(index, "logs-*", sent, RUN, ALL) == ALL_WELL
        assert len(index.pages) == pages


def test_of_nothing_sent_and_nothing_expected_nothing_is_lost() -> None:
    assert check([], EACH, SentEvents((0,))) == ALL_WELL
    none = Expectation(((0,), (0,)))
    assert check([], none) == ALL_WELL
    assert check([key(1, 3)], none) == DeliveryCheck(0, 1, (), (3,))


@pytest.mark.parametrize("number", [0, 4_000, EVENTS - 2])
@pytest.mark.parametrize(("output", "expectation"), [(0, EACH), (0, SOME), (1, SOME), (2, ALL)])
def test_a_document_that_is_missing_in_one_output_is_named(
    output: int, expectation: Expectation, number: int
) -> None:
    held = without(documents(expectation, ONE), key(output, number))
    assert check(held, expectation) == DeliveryCheck(1, 0, (number,), ())


@pytest.mark.parametrize(("output", "expectation"), [(0, EACH), (0, SOME), (1, SOME), (2, ALL)])
def test_a_document_that_is_there_three_times_is_two_too_many(
    output: int, expectation: Expectation
) -> None:
    held = [*documents(expectation, ONE), *[key(output, 6)] * 2]
    assert check(held, expectation) == DeliveryCheck(0, 2, (), (6,))


@pytest.mark.parametrize("expectation", [SOME, ALL])
def test_a_document_that_no_output_should_have_is_one_too_many(expectation: Expectation) -> None:
    held = [*documents(expectation, ONE), key(1, 3)]
    assert check(held, expectation) == DeliveryCheck(0, 1, (), (3,))


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("indices", [1, 3])
@pytest.mark.parametrize(("output", "expectation"), [(0, EACH), (0, SOME), (1, SOME), (2, ALL)])
def test_a_double_makes_up_for_no_loss(
    output: int, expectation: Expectation, shards: int, indices: int
) -> None:
    """There are as many documents as events."""
    held = without(documents(expectation, ONE), key(output, 10))
    index = Index([*held, key(output, 12)], max(shards, indices), indices)
    found = check_by_identity(index, "logs-*", ONE, RUN, expectation)
    assert found == DeliveryCheck(1, 1, (10,), (12,))


@pytest.mark.parametrize("expectation", [EACH, SOME])
@pytest.mark.parametrize(
    "stranger", [key(0, 5, "041"), key(3, 5), key(7, 5), key(0, EVENTS), key(0, 0) - 1]
)
def test_a_document_of_another_run_output_or_number_makes_up_for_no_loss(
    stranger: int, expectation: Expectation
) -> None:
    held = without(documents(expectation, ONE), key(0, 5))
    assert check([*held, stranger], expectation) == DeliveryCheck(1, 0, (5,), ())


@pytest.mark.parametrize("stranger", [3_010, 3_999])
@pytest.mark.parametrize("lost", [3_009, 4_499])
def test_a_number_that_no_sender_reached_makes_up_for_no_loss(stranger: int, lost: int) -> None:
    """It lies between what two senders sent, next to the one that is lost too."""
    held = documents(EACH, TWO)
    assert key(0, stranger) not in held
    held = without(held, key(0, lost))
    assert check([*held, key(0, stranger)], EACH, TWO) == DeliveryCheck(1, 0, (lost,), ())


def test_a_document_of_nobody_beside_all_is_no_proof_but_loses_nothing() -> None:
    """What was found is then more than what was sent, and the counts say so."""
    assert check([*documents(EACH, ONE), key(0, EVENTS + 500)], EACH) == ALL_WELL
    assert not Delivery(EVENTS, EVENTS + 1, EVENTS + 1, 0, 0).exact


@pytest.mark.parametrize(("output", "expectation"), [(1, SOME), (2, ALL)])
def test_a_document_of_one_output_makes_up_for_none_of_another(
    output: int, expectation: Expectation
) -> None:
    held = without(documents(expectation, ONE), key(0, 20))
    assert check([*held, key(output, 21)], expectation) == DeliveryCheck(1, 1, (20,), (21,))


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


def test_numbers_just_short_of_two_parts_are_read_in_two(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One answer would leave out what it may not hold."""
    monkeypatch.setattr("tuner.engine.delivery._PARTITION", 400)
    monkeypatch.setattr("tuner.engine.delivery._MOST_BUCKETS", 600)
    sent = SentEvents((799,))
    differs = Expectation(((1, -1),))
    held = [key(0, number) for number in range(799)]
    assert check(held, differs, sent) == ALL_WELL


def test_what_several_outputs_miss_is_counted_together_and_ten_are_named() -> None:
    gone = [key(output, number) for output in (0, 1) for number in range(0, 16, 2)]
    found = check(without(documents(SOME, ONE), *gone))
    assert (found.lost, found.missing) == (16, (0, 2, 4, 6, 8, 10, 12, 14, 0, 2))
    twice = [key(output, number) for output in (0, 1) for number in range(0, 16, 2)]
    more = check([*documents(SOME, ONE), *twice])
    assert (more.duplicated, more.doubled) == (16, found.missing)


class Torn(Index):
    """One whose first page of numbers comes without its second half."""

    def _buckets(self, agg: Mapping[str, Any]) -> list[dict[str, Any]]:
        found = super()._buckets(agg)
        return found[: len(found) // 2] if len(self.pages) == 1 and "terms" in agg else found


def test_a_torn_page_is_never_all_well() -> None:
    torn = Torn(documents(EACH, ONE), shards=2)
    assert check_by_identity(torn, "logs-*", ONE, RUN, EACH).lost == EVENTS / 2


class Sink(EngineClient):
    """Our sink, by what it says of itself."""

    def __init__(self, **answers: JSON) -> None:
        super().__init__("http://sink.invalid")
        self.answers = answers
        self.asked: list[tuple[str, str, JSON | None]] = []

    def request(
        self, method: str, path: str, body: JSON | None = None, *, timeout_s: float | None = None
    ) -> object:
        self.asked.append((method, path, body))
        return self.answers[path.partition("?")[0].rpartition("/")[2]]


ACCOUNT: JSON = {"lost": 3, "duplicated": 2, "missing": [5, 6, 7], "doubled": [9]}


def test_our_sink_is_told_what_is_expected_of_which_run() -> None:
    sink = Sink(account=ACCOUNT)
    found = check_by_sink(sink, "logs-*", SentEvents((100, 20)), RUN, SOME)
    assert found == DeliveryCheck(3, 2, (5, 6, 7), (9,))
    wanted = {"sent": [100, 20], "run": RUN, "expected": [[1, 1], [1, 0]]}
    assert sink.asked == [("POST", "/_sink/logs-*/account", wanted)]


def test_our_sink_counts_by_ranges_what_it_found() -> None:
    """For one output of one run."""
    buckets = [{"key": 0, "doc_count": 300}, {"key": 600, "doc_count": 12}]
    sink = Sink(numbers={"buckets": buckets})
    assert searchable_by_sink(sink, "logs-*", RUN, 1, 300) == {0: 300, 600: 12}
    asked = "/_sink/logs-*/numbers?run=042&output=1&width=300"
    assert sink.asked == [("GET", asked, None)]


def test_what_our_sink_did_wrong_as_it_was_told_to() -> None:
    strike = {"fault": "status=503", "documents": 500, "stored": 0}
    assert fault_counts(Sink(faults={"strikes": [strike]})) == (FaultCount("status=503", 500, 0),)
    assert fault_counts(Sink(faults={"strikes": None})) == ()


def test_what_arrived_is_told_by_index_and_flood() -> None:
    run = {"run_id": "0a1b2c3d", "events": 9, "account": ACCOUNT}
    index = {"index": "logs", "documents": 12, "runs": [run]}
    check = DeliveryCheck(3, 2, (5, 6, 7), (9,))
    assert arrived(Sink(books={"indices": [index, {"index": "x", "documents": 1}]})) == (
        Arrived("logs", 12, (ArrivedRun("0a1b2c3d", 9, check),)), Arrived("x", 1, ()),
    )  # fmt: skip
    assert arrived(Sink(books={"indices": None})) == ()

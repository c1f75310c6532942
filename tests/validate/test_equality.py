"""In what two deliveries of the same events differ, on arrivals as a sink has them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from tuner.validate.equality import Arrival, discrepancies

UUIDS = ("0F" * 16, "A1" * 16)


def arrival(
    number: int = 1, *, index: str = "syslog", document_id: str | None = None, **more: object
) -> Arrival:
    """The document of an event with that number in its message."""
    return Arrival(index, document_id, json.dumps({"message": f"n{number:05d} text", **more}))


def differing(one: Sequence[Arrival], other: Sequence[Arrival]) -> dict[str, int]:
    """What differs, and in how many events; the same from either side."""
    found = {each.what: each.events for each in discrepancies(one, other)}
    assert found == {each.what: each.events for each in discrepancies(other, one)}
    return found


def test_the_same_documents_in_any_order_are_equal() -> None:
    made = [arrival(number, index=index) for number in range(9) for index in ("a", "b")]
    assert differing(made, made[::-1]) == {}


def test_a_document_that_is_missing_or_there_twice_is_told() -> None:
    made = [arrival(number) for number in range(5)]
    assert differing(made, made[1:]) == {"documents": 1}
    assert differing(made, [*made, made[2]]) == {"documents": 1}
    assert differing(made, []) == {"documents": 5}


def test_one_that_is_missing_is_not_made_up_for_by_another_of_the_same_text() -> None:
    assert differing([arrival(1), arrival(2)], [arrival(1), arrival(1)]) == {"documents": 2}


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (arrival(index="other"), "_index"),
        (arrival(document_id="x"), "_id"),
        (arrival(host="web1"), "host"),
        (arrival(host=None), "host"),
        (arrival(host={}), "host"),
        (arrival(host={"name": "web1"}), "host.name"),
    ],
)
def test_index_id_and_each_field_are_compared(other: Arrival, what: str) -> None:
    assert differing([arrival()], [other]) == {what: 1}


@pytest.mark.parametrize(
    ("one", "other"),
    [("5", 5), (1, True), (0, False), (5, 5.0), ("", None), ([1], [1, 2]), ("a", "a ")],
)
def test_a_value_of_another_type_is_another_value(one: object, other: object) -> None:
    assert differing([arrival(v=one)], [arrival(v=other)]) == {"v": 1}


def test_how_often_a_field_differs_is_counted_and_the_first_is_the_example() -> None:
    ours = [arrival(number, v=number) for number in range(4)]
    theirs = [arrival(number, v=9 if number else 0) for number in range(4)]
    (found,) = discrepancies(theirs, ours)
    assert (found.what, found.events, found.example) == ("v", 3, "event 1: 9 and 1")


def test_the_original_stands_first_in_what_is_told() -> None:
    (found,) = discrepancies([arrival(index="theirs")], [arrival(index="ours")])
    assert found.example == "event 1: theirs and ours"
    (found,) = discrepancies([arrival()], [])
    assert found.example == "event 1: 1 of the original, 0 of the profile"


def test_the_time_at_which_an_event_came_to_each_is_the_same_and_another_time_is_not() -> None:
    now = datetime.now(UTC)
    times = [(now + timedelta(seconds=seconds)).isoformat() for seconds in (0, 5, -3600)]
    assert differing([arrival(at=times[0])], [arrival(at=times[1])]) == {}
    assert differing([arrival(at=times[0])], [arrival(at=times[2])]) == {"at": 1}
    without_zone = now.replace(tzinfo=None).isoformat()
    assert differing([arrival(at=times[0])], [arrival(at=without_zone)]) == {"at": 1}


def test_ids_that_rsyslog_makes_for_each_event_are_no_difference() -> None:
    made = [arrival(document_id=one) for one in UUIDS]
    assert differing(made[:1], made[1:]) == {}
    assert differing(made[:1], [arrival(document_id="host-1")]) == {"_id": 1}
    assert differing(made[:1], [arrival()]) == {"_id": 1}


def test_what_is_no_json_is_compared_as_it_came() -> None:
    torn, other = (Arrival("syslog", None, f"n00001 {text}") for text in ('{"a": ', "{"))
    assert differing([torn], [arrival()]) == {"JSON": 1}
    assert differing([torn], [torn]) == {}
    assert differing([torn], [other]) == {"JSON": 1}


def test_documents_without_a_number_are_compared_within_their_index() -> None:
    def bare(index: str, text: str) -> Arrival:
        return Arrival(index, None, json.dumps({"m": text}))

    assert differing([bare("a", "x"), bare("b", "y")], [bare("b", "y"), bare("a", "x")]) == {}
    assert differing([bare("a", "x")], [bare("a", "z")]) == {"m": 1}
    assert differing([bare("a", "x")], [bare("b", "x")]) == {"documents": 2}

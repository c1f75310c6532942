"""What two rsyslogds make of the same messages: what differs is told, and what differs by itself is
not."""

from __future__ import annotations

import json

import pytest

from tuner.cases.difference import differences
from tuner.cases.run import Arrival, Came

DOCUMENT = {"message": "hello", "seen": "10:00:00", "size": 7}


def document(index: str = "logs", document_id: str | None = None, **fields: object) -> Came:
    return Came("es", Arrival(index, document_id, json.dumps({**DOCUMENT, **fields})))


def line(text: str, place: str = "/var/log/all.log") -> Came:
    return Came("file", Arrival("", None, text, place=place))


def told(first: Came, again: Came, other: Came) -> list[tuple[str, str, str]]:
    found = differences([[first]], [[again]], [[other]])
    return [(one.what, one.before, one.after) for one in found]


@pytest.mark.parametrize(
    ("first", "other", "expected"),
    [
        (document(), document(), []),
        (document(), document(size="7"), [("field size", "7", '"7"')]),
        (document(), document(index="other"), [("index", "logs", "other")]),
        (document(document_id="a/b"), document(document_id="a\\/b"), [("id", "a/b", "a\\/b")]),
        (document(), document(more=1), [("field more", "nothing", "1")]),
        (line("a"), line("b"), [("the line", '"a"', '"b"')]),
        (line("a"), line("a", "/else"), [("where it goes", "/var/log/all.log", "/else")]),
    ],
)
def test_what_differs_is_told_with_both(
    first: Came, other: Came, expected: list[tuple[str, str, str]]
) -> None:
    assert told(first, first, other) == expected


def test_what_is_another_each_time_is_no_difference() -> None:
    assert (
        told(document(seen="10:00:01"), document(seen="10:00:02"), document(seen="10:00:03")) == []
    )
    both = told(document(seen="1"), document(seen="2"), document(seen="3", message="other"))
    assert both == [("field message", '"hello"', '"other"')]


def test_what_no_longer_comes_and_what_comes_twice_is_told() -> None:
    gone = differences([[line("a")], [line("a")]], [[line("a")], [line("a")]], [[], [line("a")]])
    assert [(one.what, one.before, one.after, one.count, one.of) for one in gone] == [
        ("how many come", "1", "0", 1, 2)
    ]
    twice = differences([[document()]], [[document()]], [[document(), document()]])
    assert str(twice[0]) == "es: how many come: 1 before, 2 after (1 of 1 messages)"


def test_a_document_that_became_no_json_is_told() -> None:
    broken = Came("es", Arrival("logs", None, '{"message":"he said "no""}'))
    names = [what for what, _, _ in told(document(), document(), broken)]
    assert "the document, which is no JSON" in names

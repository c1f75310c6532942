"""How many events are behind documents, where a message gives none, one or several."""

from __future__ import annotations

import pytest

from tuner.engine.delivery import Expectation
from tuner.engine.numbering import SentEvents
from tuner.measure.watch import ExpectedDocuments


@pytest.mark.parametrize(
    ("outputs", "documents", "sent", "events"),
    [
        # Each event is one document.
        (((1, 1),), 12_345, 20_000, 12_345),
        (((1, 1), (1, 0)), 1_500, 2_000, 1_000),
        # The rates of stretches with and without documents are those of the events.
        (((1,) * 500 + (0,) * 500,), 499, 2_000, 499),
        (((1,) * 500 + (0,) * 500,), 501, 2_000, 1_001),
        # Events that give none count once they are sent.
        (((0,) * 5 + (1,) * 5,), 0, 3, 3),
        (((0,) * 5 + (1,) * 5,), 0, 9, 5),
        (((1,) * 5 + (0,) * 5,), 5, 8, 8),
        (((1,) * 5 + (0,) * 5,), 5, 900, 10),
        # Where nothing is expected it is one in the mean, and none behind a filter by chance.
        (((1,) * 700 + (-1,) * 300,), 850_000, 1_000_000, 850_000),
        (((2, -1, 0, -1),), 300, 1_000, 300),
        (((1, 1), (0, -1)), 300, 1_000, 200),
    ],
)
def test_so_many_events_are_behind_so_many_documents(
    outputs: tuple[tuple[int, ...], ...], documents: int, sent: int, events: int
) -> None:
    expected = ExpectedDocuments(Expectation(outputs), (1.0,) * len(outputs))
    assert expected.events(documents, SentEvents((sent,))) == events


def test_messages_that_differ_from_time_to_time_give_what_they_gave_in_the_mean() -> None:
    """As those of an action for one message of ten, drawn by lot: two rounds find most of them
    sure to give none."""
    by_lot = Expectation(((0,) * 81 + (1,) + (-1,) * 18,))
    expected = ExpectedDocuments(by_lot, (0.5,))
    assert expected.events(5_000, SentEvents((100_000,))) == pytest.approx(50_000, rel=0.01)


def test_events_of_several_senders_come_alike() -> None:
    each = ExpectedDocuments(Expectation(((1, 1, 1),)), (0.0,))
    assert [each.events(number, SentEvents((9, 9))) for number in range(6)] == [0, 1, 2, 3, 4, 5]
    none_first = ExpectedDocuments(Expectation(((0,) * 4 + (1,) * 4,)), (0.0,))
    assert none_first.events(0, SentEvents((3, 9))) == 3 + 4
    assert none_first.events(2, SentEvents((3, 9))) == 5 + 5

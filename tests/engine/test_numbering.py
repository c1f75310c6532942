from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.engine.delivery import check_arrivals
from tuner.engine.numbering import BLOCK, SentEvents, event_of, number_of

COUNTS = st.lists(st.integers(0, 5 * BLOCK), min_size=1, max_size=5).map(tuple)


@given(COUNTS)
def test_no_two_senders_give_the_same_number(counts: tuple[int, ...]) -> None:
    sent = SentEvents(counts)
    numbers = [
        number_of(event, sender, len(counts))
        for sender, count in enumerate(counts)
        for event in range(count)
    ]
    inside = [number for first, end in sent.ranges() for number in range(first, end)]
    assert sorted(numbers) == inside
    assert len(inside) == sent.total
    assert sent.end == max(numbers, default=-1) + 1


@given(st.integers(0, 10**7), st.integers(1, 9))
def test_a_number_tells_its_sender(event: int, senders: int) -> None:
    for sender in range(senders):
        assert event_of(number_of(event, sender, senders), senders) == (sender, event)


def test_one_sender_counts_through() -> None:
    assert SentEvents((2500,)).ranges() == ((0, 2500),)
    assert SentEvents((0,)).ranges() == ()


def test_what_a_slower_sender_has_not_sent_is_not_lost() -> None:
    sent = SentEvents((1500, 10))
    assert sent.ranges() == ((0, 1010), (2000, 2500))
    arrivals = np.zeros(sent.end, dtype=np.int64)
    arrivals[:1010] = arrivals[2000:2500] = 1
    assert check_arrivals(arrivals, sent).lost == 0
    arrivals[2499], arrivals[3] = 0, 3
    done = check_arrivals(arrivals, sent)
    assert (done.lost, done.missing) == (1, (2499,))
    assert (done.duplicated, done.doubled) == (2, (3,))


@pytest.mark.parametrize("number", [1010, 1999])
def test_an_arrival_that_nobody_sent_stands_for_no_other(number: int) -> None:
    sent = SentEvents((1500, 10))
    arrivals = np.zeros(sent.end, dtype=np.int64)
    arrivals[:1009] = arrivals[2000:2500] = arrivals[number] = 1
    assert check_arrivals(arrivals, sent).missing == (1009,)

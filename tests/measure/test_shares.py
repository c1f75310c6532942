"""What part of the events comes to each output, and messages that follow the wanted parts."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tuner.engine.delivery import Expectation
from tuner.flood.messages import route_of
from tuner.measure.shares import in_order, missed, order_for, shares_of

POOL = 2000
NAMES = ("json", "plain")
# A quarter of the messages comes to the first output, half to the second, the rest to none.
MADE_UP = Expectation(
    (
        tuple(int(at % 4 == 0) for at in range(POOL)),
        tuple(int(at % 4 in {1, 2}) for at in range(POOL)),
    )
)
ONE_WAY = [0] * POOL


def shares_after(wanted: dict[str, float], made: Expectation = MADE_UP) -> dict[str, float]:
    order = order_for(made, NAMES, wanted, ONE_WAY)
    assert len(order) == POOL
    return shares_of(in_order(made, order), (0.0, 0.0), NAMES)


def test_parts_are_documents_for_each_event() -> None:
    assert shares_of(MADE_UP, (0.0, 0.0), NAMES) == {"json": 0.25, "plain": 0.5}
    unsure = Expectation(((2, -1, -1, 0), (1, 1, 1, 1)))
    assert shares_of(unsure, (1.5, 0.0), NAMES) == {"json": 1.25, "plain": 1.0}


@pytest.mark.parametrize(
    "wanted",
    [{"json": 0.01, "plain": 0.99}, {"json": 0.2, "plain": 0.8}, {"json": 0.1, "plain": 0.2}],
)
def test_messages_come_as_often_as_the_parts_ask_for(wanted: dict[str, float]) -> None:
    assert shares_after(wanted) == pytest.approx(wanted, abs=0.002)


def test_a_part_that_is_not_asked_for_stays_about_as_it_is() -> None:
    found = shares_after({"json": 0.4})
    assert found["json"] == pytest.approx(0.4, abs=0.002)
    assert found["plain"] == pytest.approx(0.425, abs=0.002)


def test_what_no_message_can_give_is_said() -> None:
    both = Expectation(((1,) * POOL, (1,) * POOL))
    wanted = {"json": 0.2, "plain": 1.0}
    (said,) = missed(wanted, shares_after(wanted, both))
    assert said == "json gets 100.0% of the events, workload.shares says 20.0%"
    assert missed(wanted, wanted) == ()


def test_every_message_keeps_its_way_in_and_those_of_a_way_stay_together() -> None:
    routes = [route_of(at, 2) for at in range(POOL)]
    order = order_for(MADE_UP, NAMES, {"json": 0.3, "plain": 0.3}, routes)
    for start in range(0, POOL, 1000):
        ways = [routes[place] for place in order[start : start + 1000]]
        assert sum(a != b for a, b in pairwise(ways)) == 1

"""How the clock of another machine stands to ours, from questions and answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.cluster.loads import PeerClock

WAYS = st.lists(
    st.tuples(st.floats(0, 1e6), st.floats(1e-6, 1), st.floats(1e-6, 1)), min_size=1, max_size=20
)


@given(st.floats(-1e6, 1e6), WAYS)
def test_the_error_covers_every_way_there_and_back(
    ahead_s: float, ways: list[tuple[float, float, float]]
) -> None:
    clock = PeerClock()
    for asked_s, there_s, back_s in ways:
        clock.add(asked_s, asked_s + there_s + ahead_s, asked_s + there_s + back_s)
    found = clock.offset()
    assert abs(found.offset_s + ahead_s) <= found.error_s + 1e-6
    fastest_s = min(there_s + back_s for _, there_s, back_s in ways)
    assert found.error_s == pytest.approx(fastest_s / 2, abs=1e-6)


def test_what_was_heard_long_ago_does_not_count() -> None:
    clock = PeerClock()
    clock.add(0.0, 50.0, 0.001)
    for second in range(1, 100):
        clock.add(second, second + 60.0, second + 0.010)
    assert clock.offset().offset_s == pytest.approx(-59.995)

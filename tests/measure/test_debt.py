"""Work put off past a window lowers the rate only as far as no core was idle to do it."""

from __future__ import annotations

import pytest

from tuner.measure.summary import paid


def test_cores_that_idled_do_the_work_for_nothing() -> None:
    assert paid(50_000, 10.0, used=1.4, idle=0.6) == 50_000


def test_without_idle_cores_an_event_costs_what_it_costs_later_as_well() -> None:
    """Two cores at 25 us an event, and 5 us later: 30 us an event."""
    assert paid(80_000, 5.0, used=2.0, idle=0.0) == pytest.approx(2e6 / 30)


def test_idle_cores_pay_first() -> None:
    """1.8 cores at 20 us an event, and 10 us later, of which 0.2 cores do their part."""
    assert paid(90_000, 10.0, used=1.8, idle=0.2) == pytest.approx(2e6 / 30)

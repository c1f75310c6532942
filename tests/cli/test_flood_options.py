"""Which pace the options of `flood` ask for."""

from __future__ import annotations

import pytest

from tuner.cli.traffic import PacePlan, plan_pace
from tuner.cli.usage.traffic import FloodArguments
from tuner.errors import BadUsage
from tuner.flood.pace import Runs, bursts, fixed, ramp, runs


def plan(
    count: int | None = None,
    rate: str = "max",
    ramp: str | None = None,
    burst: str | None = None,
    runs: str | None = None,
) -> PacePlan:
    return plan_pace(FloodArguments(count=count, rate=rate, ramp=ramp, burst=burst, runs=runs))


def test_each_pace_is_understood() -> None:
    assert plan(5) == PacePlan(5)
    assert plan(5, "2.5") == PacePlan(5, fixed(2.5))
    assert plan(ramp="0:1000:10") == PacePlan(5000, ramp(0, 1000, 10))
    assert plan(9000, ramp="0:1000:10") == PacePlan(9000, ramp(0, 1000, 10))
    assert plan(9000, ramp="1000:0:10") == PacePlan(5000, ramp(1000, 0, 10))
    assert plan(5000, burst="1000:0.5") == PacePlan(5000, bursts(1000, 0.5))
    assert plan(10_000, runs="10:1") == PacePlan(100_000, runs=Runs(10_000, 10, 1.0))
    assert plan(10_000, "9860", runs="10:1") == PacePlan(100_000, runs(10_000, 9860, 10, 1))


@pytest.mark.parametrize(
    ("count", "options", "said"),
    [
        (None, {}, "--count is missing"),
        (5, {"rate": "fast"}, "--rate fast"),
        (5, {"rate": "inf"}, "--rate inf"),
        (5, {"rate": "10", "burst": "5:1"}, "remove --rate"),
        (5, {"ramp": "1:2:3", "burst": "5:1"}, "cannot be combined"),
        (5, {"ramp": "1:2"}, "--ramp 1:2: use A:B:SECONDS"),
        (5, {"ramp": "1:-2:3"}, "--ramp 1:-2:3: use A:B:SECONDS"),
        (5, {"burst": "0:1"}, "--burst: 0 is not a whole number above 0"),
        (5, {"burst": "5:0"}, "longer than 0 seconds"),
        (5, {"runs": "2.5:1"}, "--runs: 2.5 is not a whole number above 0"),
        (5, {"runs": "ten:1"}, "--runs ten:1: use N:PAUSE"),
    ],
)
def test_a_pace_that_makes_no_sense_is_refused(
    count: int | None, options: dict[str, str], said: str
) -> None:
    with pytest.raises(BadUsage, match=said):
        plan(count, **options)

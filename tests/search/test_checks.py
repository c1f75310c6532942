"""How long a run at a fixed rate judges freshness, and what is set aside for it."""

from __future__ import annotations

import pytest

from tests.search.simulated import TEXT
from tuner.lint.load import parse_profile
from tuner.profile.model import Profile
from tuner.search.budget import NODE_PACE, SINK_PACE, check_plan, check_rate, checks_s
from tuner.space.knobs import knobs


def refreshing(interval: str) -> Profile:
    written = TEXT.replace("number_of_replicas: 0", f"refresh_interval: {interval}")
    return parse_profile(written, "p.yaml").profile


@pytest.mark.parametrize(("interval", "judged_s"), [("1s", 10.0), ("30s", 30.0), ("-1", 10.0)])
def test_a_whole_refresh_interval_is_judged(interval: str, judged_s: float) -> None:
    assert check_plan(refreshing(interval)).window_s == judged_s


def test_the_longest_refresh_that_is_tried_is_paid_for() -> None:
    written = refreshing("1s")
    few = [knob for knob in knobs(written) if not knob.path.endswith("refresh_interval")]
    short_s, long_s = (checks_s(written, some, NODE_PACE) for some in (few, knobs(written)))
    assert short_s == pytest.approx(2 * (2 + 10 + 1 + NODE_PACE.overhead_s))
    assert long_s >= short_s + 30


def test_the_sink_has_nothing_to_search() -> None:
    assert checks_s(refreshing("1s"), knobs(refreshing("1s")), SINK_PACE) == 0


def test_the_rate_is_below_what_the_slower_side_carries() -> None:
    assert check_rate([100.0, 60.0]) == pytest.approx(42.0)

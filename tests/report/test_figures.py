"""What a trial changed, in a few words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.search.simulated import PROFILE
from tuner.measure.contrast import BySpeed, Counts, Estimate
from tuner.measure.paired import compare
from tuner.report.figures import Levels, SettingChange, move, raw_and_adjusted, steps_text
from tuner.search.study import BASELINE
from tuner.space.knobs import knobs


@pytest.mark.parametrize(
    ("counts", "high", "said"),
    [
        (Counts.ADJUSTED, 1.2, ""),
        (Counts.ADJUSTED, 1.3, "; the interval is widened to the raw direction"),
        (Counts.BOTH, 1.3, "; the interval is widened to hold both"),
        (Counts.MOVED, 1.4, ""),
    ],
)
def test_an_interval_that_is_neither_the_raw_nor_the_adjusted_one_is_explained(
    counts: Counts, high: float, said: str
) -> None:
    raw = Estimate((1.0, 1.2), 1.2, 1.0, 1.4, 0.01, 0.1, 0.05)
    adjusted = replace(raw, ratio=1.15, low=1.1, high=1.2)
    found = compare([1.0, 1.1], [1.2, 1.3])
    found = replace(found, low=1.0 if high == raw.high else 1.1, high=high,
                    by_speed=BySpeed(raw, adjusted, 1.0, 1.0, counts))  # fmt: skip
    assert raw_and_adjusted(found).endswith(f"speed; {counts.value}{said}")


def test_a_few_steps_are_named_and_the_others_counted() -> None:
    found = [SettingChange(f"a_{at}", 1, 2) for at in range(6)]
    names = {step.path: step.path for step in found}
    assert steps_text(found, names) == "a_0 1 -> 2, a_1 1 -> 2, a_2 1 -> 2, 3 more"
    assert steps_text(found[:2], names) == "a_0 1 -> 2, a_1 1 -> 2"


def test_the_shorter_way_is_told_and_from_the_profile_where_both_are_as_long() -> None:
    every: Levels = {str(knob.path): knob.current for knob in knobs(PROFILE)}
    best = (("main_queue.size", 200_000), ("outputs[logs].queue.size", 100_000))
    near = (("main_queue.size", 200_000), ("outputs[logs].queue.size", 200_000))
    assert move(best, near, every).from_best
    assert not move(best, best[:1], every).from_best
    assert move(best, best, every).steps == ()
    assert not move(BASELINE, best, every).from_best

"""What a trial changed, in a few words."""

from __future__ import annotations

from tests.search.simulated import PROFILE
from tuner.report.figures import Levels, SettingChange, move, steps_text
from tuner.search.study import BASELINE
from tuner.space.knobs import knobs


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

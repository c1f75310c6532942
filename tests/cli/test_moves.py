"""What a trial changed, in a few words."""

from __future__ import annotations

from tests.search.simulated import PROFILE
from tuner.cli.moves import SettingChange, move, steps_text
from tuner.search.study import BASELINE
from tuner.space.knobs import knobs


def test_as_many_steps_are_named_as_there_is_room_for() -> None:
    found = [SettingChange(f"a_{at}", 1, 2) for at in range(6)]
    names = {step.path: step.path for step in found}
    assert steps_text(found, names) == "a_0 1 -> 2, a_1 1 -> 2, a_2 1 -> 2, 3 more"
    assert steps_text(found, names, room=30) == "a_0 1 -> 2, a_1 1 -> 2, 4 more"
    assert steps_text(found, names, room=3) == "a_0 1 -> 2, 5 more"
    assert steps_text(found[:2], names) == "a_0 1 -> 2, a_1 1 -> 2"


def test_long_levels_are_cut_and_missing_ones_named() -> None:
    step = SettingChange("filter_path", None, ("errors", "items.*.status"))
    assert steps_text([step], {"filter_path": "f"}) == "f not set -> errors,it..."


def test_the_shorter_way_is_told_and_from_the_profile_where_both_are_as_long() -> None:
    every = knobs(PROFILE)
    best = (("main_queue.size", 200_000), ("outputs[logs].queue.size", 100_000))
    near = (("main_queue.size", 200_000), ("outputs[logs].queue.size", 200_000))
    assert move(best, near, every).from_best
    assert not move(best, best[:1], every).from_best
    assert move(best, best, every).steps == ()
    assert not move(BASELINE, best, every).from_best

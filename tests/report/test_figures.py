"""What a trial changed, in a few words."""

from __future__ import annotations

from tests.search.simulated import PROFILE
from tuner.report.figures import Levels, SettingChange, move, steps_lines, steps_text
from tuner.search.study import BASELINE
from tuner.space.knobs import knobs


def test_as_many_steps_are_named_as_there_is_room_for() -> None:
    found = [SettingChange(f"a_{at}", 1, 2) for at in range(6)]
    names = {step.path: step.path for step in found}
    assert steps_text(found, names) == "a_0 1 -> 2, a_1 1 -> 2, a_2 1 -> 2, 3 more"
    assert steps_text(found, names, room=30) == "a_0 1 -> 2, a_1 1 -> 2, 4 more"
    assert steps_text(found, names, room=3) == "a_0 -> 2, 5 more"
    assert steps_text(found[:2], names) == "a_0 1 -> 2, a_1 1 -> 2"


FILTER = SettingChange("filter_path", None, ("errors", "items.*.status", "items.*.error"))
VALUE = "errors,items.*.status,items.*.error"


def test_names_and_what_was_before_give_way_and_values_stay_whole() -> None:
    named = {"filter_path": "filter_path", "b": "queue.dequeueBatchSize"}
    batch = SettingChange("b", 1000, 5000)
    assert steps_text([FILTER], named) == f"filter_path not set -> {VALUE}"
    assert steps_text([FILTER], named, room=50) == f"filter_path -> {VALUE}"
    assert steps_text([FILTER], named, room=47) == f"filter.. -> {VALUE}"
    assert steps_text([FILTER, batch], named, room=55) == f"filter.. -> {VALUE}, 1 more"
    assert steps_text([batch], named, room=20) == "queue.dequ.. -> 5000"


def test_steps_are_spread_over_lines_each_of_them_whole() -> None:
    found = [FILTER, *(SettingChange(f"a_{at}", 1, 2) for at in range(8))]
    names = {step.path: step.path for step in found}
    assert steps_lines(found, names, 60, 3) == [
        f"filter_path not set -> {VALUE},",
        "a_0 1 -> 2, a_1 1 -> 2, a_2 1 -> 2, a_3 1 -> 2, a_4 1 -> 2,",
        "a_5 1 -> 2, a_6 1 -> 2, a_7 1 -> 2",
    ]
    assert (
        steps_lines(found, names, 60, 2)[-1]
        == "a_0 1 -> 2, a_1 1 -> 2, a_2 1 -> 2, a_3 1 -> 2, 4 more"
    )
    assert steps_lines(found[1:3], names, 60, 3) == ["a_0 1 -> 2, a_1 1 -> 2"]
    assert steps_lines([], names, 60, 3) == []


def test_the_shorter_way_is_told_and_from_the_profile_where_both_are_as_long() -> None:
    every: Levels = {str(knob.path): knob.current for knob in knobs(PROFILE)}
    best = (("main_queue.size", 200_000), ("outputs[logs].queue.size", 100_000))
    near = (("main_queue.size", 200_000), ("outputs[logs].queue.size", 200_000))
    assert move(best, near, every).from_best
    assert not move(best, best[:1], every).from_best
    assert move(best, best, every).steps == ()
    assert not move(BASELINE, best, every).from_best

"""What an earlier search ended with, as the first points of the next."""

from __future__ import annotations

from dataclasses import replace

from tests.measure.factory import measured
from tests.search.simulated import ASKED, WORKERS
from tests.search.test_search import calm, loaded, run
from tuner.measure.measurement import TrialPlan
from tuner.search.study import BASELINE, RECIPE, Asked, Axis, Changes, Ending, Phase, Study, Trial
from tuner.search.verdict import earlier_points, judge, recipe_of
from tuner.space.knobs import knobs


def with_space(study: Study) -> Study:
    axes = tuple(Axis(one.path, one.levels, one.current) for one in knobs(loaded().profile))
    return replace(study, header=replace(study.header, space=axes))


def test_the_recommended_point_comes_first_and_at_most_three() -> None:
    study = with_space(run(calm(0.15), 600.0, name="default"))
    found = earlier_points("runs/a", study, knobs(loaded().profile))
    assert found[0].changes == judge(study).changes
    assert found[0].run == "runs/a"
    assert 1 <= len(found) <= 3
    assert len({one.changes for one in found}) == len(found)


def test_it_is_a_change_of_the_profile_that_is_searched_now() -> None:
    """The profile of today has what was recommended then, but for the workers."""
    study = with_space(run(calm(0.15), 600.0, name="default"))
    wanted = dict(judge(study).changes)
    today = tuple(
        replace(one, current=wanted.get(one.path, one.current)) if one.path != WORKERS else one
        for one in knobs(loaded().profile)
    )
    first = earlier_points("runs/a", study, today)[0]
    assert first.changes == ((WORKERS, wanted[WORKERS]),)


def test_settings_that_no_knob_has_now_are_left_out() -> None:
    study = with_space(run(calm(0.15), 600.0, name="default"))
    others = tuple(one for one in knobs(loaded().profile) if one.path != WORKERS)
    for one in earlier_points("runs/a", study, others):
        assert WORKERS not in dict(one.changes)


def test_a_search_measures_them_before_its_recipes() -> None:
    study = with_space(run(calm(0.15), 600.0, name="default"))
    earlier = earlier_points("runs/a", study, knobs(loaded().profile))
    searched = run(calm(0.15), 600.0, earlier=earlier).of(Phase.SEARCH)
    assert [trial.changes for trial in searched[: len(earlier)]] == [one.changes for one in earlier]
    assert searched[0].why == "found by runs/a"


def test_a_point_is_no_better_for_the_machine_that_it_ran_on() -> None:
    """By the rate over that of the profile as written there, for a recipe too."""
    slow_machine: Changes = ((WORKERS, 4),)
    fast_machine: Changes = ((WORKERS, 6),)
    runs = [
        (Phase.CALIBRATE, "slow", BASELINE, 50_000), (Phase.CALIBRATE, "fast", BASELINE, 100_000),
        (Phase.SEARCH, "slow", slow_machine, 60_000), (Phase.SEARCH, "fast", fast_machine, 110_000),
        (Phase.FINAL, "slow", slow_machine, 60_000), (Phase.FINAL, "fast", fast_machine, 110_000),
    ]  # fmt: skip
    trials = tuple(
        Trial.of(
            Asked(number, phase, changes, f"{RECIPE}one", TrialPlan(2.0, 4.0), machine=machine),
            measured(rate), 0.0, 10.0,
        )
        for number, (phase, machine, changes, rate) in enumerate(runs)
    )  # fmt: skip
    found = earlier_points("runs/a", Study(ASKED, trials, Ending.FINISHED), knobs(loaded().profile))
    assert [one.changes for one in found] == [slow_machine, fast_machine]
    recipe = recipe_of(trials, (("another", 1),))
    assert recipe is not None
    assert recipe.changes == slow_machine

"""What time trials take and leave; and what a search says of itself on its way: who leads, and how
many trials there will be.

A trial of the search takes 2 s of warm-up, 4 s of window and 4 s beside, as the pace says; an
engine starts in 5 s and is warm in 10; 5 s are for the end.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.measure.factory import failed, measured
from tests.search.simulated import (
    BUDGET_S,
    PACE,
    START_S,
    WORKERS,
    Rack,
    World,
    rack,
    search,
    waves,
)
from tests.search.test_runner import BEST, HEAP, PLAN, runner, trial
from tuner.measure.measurement import Spent
from tuner.search.budget import FEWEST_SEARCH_TRIALS, spend
from tuner.search.climb import Leader
from tuner.search.forecast import Forecast
from tuner.search.search import Search
from tuner.search.study import BASELINE, Asked, Changes, Phase, Step, Study, Trial
from tuner.search.verdict import judge


@pytest.fixture(autouse=True)
def no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


RESTART_S, TRIAL_S, END_S = 15.0, 10.0, 5.0

Said = list[tuple[Trial, int, Leader | None]]


def heard(
    folder: Path, name: str = "random", world: World | Rack | None = None
) -> tuple[Study, Said]:
    """A search, and what it said after each trial."""
    said: Said = []

    def hear(searching: Search, step: Step) -> None:
        if isinstance(step, Trial):
            leader = searching.leader()
            said.append((step, searching.runner.forecast.planned_trials, leader))

    return search(folder, world or World(START_S), name=name, hear=hear), said


def test_about_as_many_trials_are_planned_as_there_will_be(tmp_path: Path) -> None:
    study, said = heard(tmp_path)
    last = study.of(Phase.CONFIRM)[-1].number
    planned = [count for made, count, _ in said if made.phase in (Phase.SEARCH, Phase.FINAL)]
    assert planned[0] == planned[-1]
    assert abs(planned[0] - last) <= 0.2 * last


@pytest.mark.parametrize("name", ["random", "default"])
def test_who_leads_is_chosen_and_the_estimate_covers_what_it_gives(
    tmp_path: Path, name: str
) -> None:
    study, said = heard(tmp_path, name)
    before = [leader for trial, _, leader in said if trial.phase is Phase.FINAL]
    leader = before[-1]
    assert leader is not None
    assert leader.changes == judge(study).chosen
    assert leader.believed.low < leader.believed.ratio < leader.believed.high
    true_ratio = waves(dict(leader.changes)) / waves({})
    assert leader.believed.low < true_ratio < leader.believed.high
    assert all(leader is None for trial, _, leader in said if trial.phase is Phase.CALIBRATE)


def test_to_ask_who_leads_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    study, _ = heard(tmp_path / "a")
    assert study.trials == search(tmp_path / "b", World(START_S)).trials


def test_several_machines_are_expected_to_make_as_many_trials_as_they_do(tmp_path: Path) -> None:
    study, said = heard(tmp_path, world=rack(3))
    last = max(one.number for one in study.trials)
    for made, expected, _ in said:
        if made.phase in (Phase.SEARCH, Phase.FINAL):
            assert abs(expected - last) <= 0.15 * last
        if made.phase is Phase.CONFIRM:
            assert abs(expected - last) <= 8


def forecast(*known: Trial, at_s: float = 100.0, labs: int = 1, **more: object) -> Forecast:
    """Of a search that knows these trials, so many seconds after its beginning."""
    return runner(*known, at_s=at_s, labs=labs, **more).forecast


def test_a_trial_takes_what_the_last_five_took() -> None:
    assert forecast().takes_s(PLAN) == TRIAL_S
    lately = [trial(number, beside_s=number) for number in range(9)]
    assert forecast(*lately).takes_s(PLAN) == pytest.approx(6.0 + 6.0)
    # What failed or was cut short tells nothing, and nothing takes less than its window.
    could_be_cut = replace(PLAN, loses_below=9.0)
    cut = trial(7, outcome=replace(measured(50_000, total_s=9.0), window_s=1.0), plan=could_be_cut)
    quick = trial(9, beside_s=-3.0, plan=could_be_cut)
    others = [trial(8, outcome=failed()), cut, quick]
    assert forecast(trial(1, beside_s=2.0), *others).takes_s(PLAN) == pytest.approx(6.0 + 1.0)


def test_a_warm_up_tells_what_trials_take_until_there_are_others() -> None:
    """In it the engine is slow, and leaves more to settle."""
    slow = trial(-1, Phase.WARM_UP, BASELINE, beside_s=12.0)
    assert forecast(slow).takes_s(PLAN) == 6.0 + 12.0
    calibrated = forecast(slow, trial(0, Phase.CALIBRATE, BASELINE, beside_s=5.0))
    assert calibrated.takes_s(PLAN) == 6.0 + 5.0


def test_the_budget_is_divided_by_what_the_calibration_took() -> None:
    slow = trial(-1, Phase.WARM_UP, BASELINE, beside_s=20.0)
    quick = trial(0, Phase.CALIBRATE, BASELINE, beside_s=2.0)
    before, after = forecast(slow), forecast(slow, quick)
    for one in (before, after):
        one.fix_plans()
    assert after.plans.searching > before.plans.searching
    assert after.plans.search == before.plans.search


def test_a_restart_takes_what_restarts_took() -> None:
    assert forecast().restart_s() == RESTART_S
    known = [
        trial(-1, Phase.WARM_UP, HEAP, restart_s=100.0),
        trial(0, changes=BASELINE, restart_s=20.0),
        # No restart, though it says so; and one that failed.
        trial(1, restart_s=500.0),
        trial(2, changes=HEAP, outcome=replace(failed(), spent=Spent(restart_s=700.0))),
        trial(3, changes=BASELINE, restart_s=30.0),
    ]
    assert forecast(*known).restart_s() == 25.0


def test_the_next_trial_takes_a_restart_where_its_machine_ran_with_other_node_settings() -> None:
    heap = trial(0, changes=HEAP, machine="lab1", restart_s=RESTART_S)
    known = [heap, trial(1, machine="lab2")]
    two = forecast(*known, labs=2)
    assert two.next_s(HEAP, PLAN, "lab1") == TRIAL_S
    assert two.next_s(BEST, PLAN, "lab1") == TRIAL_S + RESTART_S
    assert two.next_s((*BEST, *HEAP), PLAN, "lab1") == TRIAL_S
    assert two.next_s(BEST, PLAN, "lab2") == TRIAL_S
    assert two.next_s(HEAP, PLAN, "lab3") == TRIAL_S + RESTART_S


@pytest.mark.parametrize(
    ("at_s", "budget_s", "labs", "restart_s", "waits_s"),
    [
        # Three times its length, and ten minutes or a quarter of the budget.
        (100.0, 3600.0, 3, 0.0, 3 * TRIAL_S + 600),
        (100.0, 3600.0, 3, RESTART_S, 3 * (TRIAL_S + RESTART_S) + 600),
        (100.0, 600.0, 3, 0.0, 3 * TRIAL_S + 150),
        # Not beyond what the budget promises, but for its length.
        (500.0, 600.0, 3, 0.0, 130.0),
        (620.0, 600.0, 3, 0.0, 3 * TRIAL_S),
        # The only machine keeps nobody waiting.
        (500.0, 600.0, 1, 0.0, 3 * TRIAL_S + 600),
    ],
)
def test_a_trial_is_waited_for_as_long_as_one_may_take_and_others_can_wait(
    at_s: float, budget_s: float, labs: int, restart_s: float, waits_s: float
) -> None:
    asked = Asked(1, Phase.SEARCH, HEAP if restart_s else BEST, "", PLAN)
    assert forecast(at_s=at_s, labs=labs, budget_s=budget_s).longest_s(asked) == waits_s


def test_what_is_left_is_of_the_budget_and_pairs_may_go_a_little_beyond_it() -> None:
    """By a twentieth of it."""
    late = forecast(at_s=900.0)
    assert late.left_s() == 100.0
    assert late.has_time(145.0)
    assert not late.has_time(145.1)


@pytest.mark.parametrize(
    ("winner", "pairs", "pair_s"), [(BEST, 6, 2 * TRIAL_S), (HEAP, 8, 2 * TRIAL_S + RESTART_S)]
)
def test_the_fewest_pairs_take_the_shortest_windows(
    winner: Changes, pairs: int, pair_s: float
) -> None:
    assert forecast().fewest_pairs(winner) == pairs
    assert forecast().least_pairs_s(winner) == pairs * pair_s
    exact_s = BUDGET_S - pairs * pair_s - END_S
    for at_s, fits in ((exact_s, True), (exact_s + 1, False)):
        assert forecast(at_s=at_s).leaves_pairs(0.0, winner) is fits
        assert forecast(at_s=at_s - 30).leaves_pairs(30.0, winner) is fits
        assert forecast(at_s=at_s + 50).fits(winner) is fits


def test_runs_of_a_pair_take_the_mean_of_what_both_sides_take() -> None:
    """However many runs of each there were."""
    known = [trial(0, changes=BASELINE, beside_s=8.0)]
    known += [trial(number, beside_s=2.0) for number in range(1, 7)]
    assert forecast(*known).pair_s(PLAN, BEST) == 2 * (6.0 + 5.0)


def test_several_machines_share_pairs_and_where_the_engine_restarts_one_measures_them() -> None:
    of = runner(labs=3)
    assert of.pairing(BEST) == ("lab1", "lab2", "lab3")
    assert of.pairing(HEAP) == ("lab1",)
    three = of.forecast
    assert three.least_pairs_s(BEST) == 2 * 2 * TRIAL_S
    assert three.least_pairs_s(HEAP) == 8 * (2 * TRIAL_S + RESTART_S)


WARM_UP = trial(-1, Phase.WARM_UP, BASELINE, beside_s=3.0)


def test_the_budget_is_divided_once_by_what_the_first_warm_up_took() -> None:
    """In whatever session that was, from its end on."""
    checks_s = 2 * (2 + 10 + 4) + 120
    later = trial(7, Phase.WARM_UP, BASELINE, beside_s=90.0)
    of = runner(WARM_UP, later, at_s=700.0)
    found = of.forecast
    expected = spend(BUDGET_S - WARM_UP.ended_s, 3.0, PACE, found.plans.checks_s)
    assert found.plans == expected
    assert 0 < found.plans.checks_s < checks_s
    assert forecast(at_s=700.0).plans == spend(300.0, 4.0, PACE, 0.0)
    found.fix_plans()
    of.trials.append(replace(WARM_UP, number=-2, ended_s=500.0))
    assert found.plans == expected
    two = forecast(replace(WARM_UP, machine="lab1"), labs=2)
    assert two.plans == spend(BUDGET_S, 3.0, PACE, found.plans.checks_s, 2)


def spare_s(of: Forecast) -> float:
    """What is left when pairs, with a tenth to spare, and runs at a fixed rate are set aside."""
    plans = of.plans
    pairs_s = 1.1 * plans.pairs * of.pair_s(plans.confirm, BEST)
    return of.left_s() - pairs_s - plans.checks_s - END_S


def test_what_follows_the_choice_is_set_aside() -> None:
    of = forecast(WARM_UP)
    assert of.spare_s(BEST) == pytest.approx(spare_s(of))
    # Two restarts for the runs at a fixed rate, and one in each pair and before the first.
    restarts_s = (2 + 8 + 1) * RESTART_S
    assert of.plans.pairs == of.planned_pairs(BEST)
    assert of.planned_pairs(HEAP) == 8
    assert of.spare_s(HEAP) == pytest.approx(spare_s(of) - restarts_s)
    checked = forecast(WARM_UP, trial(1, Phase.CHECK, beside_s=3.0))
    assert checked.spare_s(BEST) == pytest.approx(spare_s(checked) + checked.plans.checks_s)
    assert checked.spare_s(HEAP) == pytest.approx(checked.spare_s(BEST) - 9 * RESTART_S)
    # The engine must go back for the first run.
    turned = forecast(WARM_UP, trial(1, changes=HEAP, beside_s=3.0, restart_s=RESTART_S))
    assert turned.spare_s(BEST) == pytest.approx(spare_s(turned) - RESTART_S)


def test_blocks_that_take_the_winner_apart_are_set_aside_until_they_are_done() -> None:
    of = forecast(WARM_UP)
    assert of.plans.blocks == of.blocks_left() == 8
    assert of.blocks_s(8, BEST) == 16 * 9.0
    assert of.free_s(BEST) == pytest.approx(of.spare_s(BEST) - 16 * 9.0)
    tried = [trial(number, Phase.EFFECTS, pair=number) for number in range(4)]
    assert forecast(WARM_UP, *tried[:-1]).blocks_left() == 7
    assert forecast(WARM_UP, *tried).blocks_left() == 6
    assert forecast(WARM_UP, *tried * 5).blocks_left() == 0
    assert forecast(WARM_UP, effects=False).blocks_left() == 0
    several = forecast(replace(WARM_UP, machine="lab1"), labs=3)
    assert several.blocks_s(8, BEST) == 2 * 3 * 9.0


def test_blocks_give_way_to_the_climb_by_what_runs_of_the_winner_take() -> None:
    """Those of others may be shorter.  Half of the climb and the finals come first; then half of
    the blocks fit, or all."""
    other: Changes = ((WORKERS, 2),)
    tried = [
        trial(at, changes=(other, BEST)[at % 2], beside_s=(1.0, 9.0)[at % 2]) for at in range(12)
    ]
    of = forecast(WARM_UP, *tried, at_s=0.0)
    missing = of.plans.searching // 2 - len(tried)
    assert missing > 0
    climb_s = missing * of.takes_s(of.plans.search)
    room_s = of.spare_s(BEST) - climb_s - of.plans.finals * of.takes_s(of.plans.final)
    fewest, most = of.blocks_s(4, BEST), of.blocks_s(8, BEST)
    assert of.blocks_s(8, other) < most - 1
    for at_s, kept_s in (
        (room_s - most - 0.1, most), (room_s - most + 0.1, fewest),
        (room_s - fewest - 0.1, fewest), (room_s - fewest + 0.1, 0.0),
    ):  # fmt: skip
        later = forecast(WARM_UP, *tried, at_s=at_s)
        assert later.spare_s(BEST) - later.free_s(BEST) == pytest.approx(kept_s)


def test_blocks_of_another_winner_are_none_of_a_design() -> None:
    """As many as still fit, however many took apart what failed afterwards."""
    of_another = [
        trial(number, Phase.EFFECTS, (HEAP, BEST)[number % 2], pair=number // 2, beside_s=3.0)
        for number in range(48)
    ]
    alone, after = (forecast(WARM_UP, *known, at_s=500.0) for known in ((), of_another))
    assert after.blocks_of((*HEAP, *BEST)) == 24
    assert after.blocks_of(BEST) == alone.blocks_of(BEST) > 0


def test_the_last_block_of_a_design_may_take_time_from_the_pairs() -> None:
    """But for the fewest."""
    of = forecast(WARM_UP)
    late_s = 100.0 + of.spare_s(BEST)
    assert of.has_room_for_block(BEST, 2)
    assert not of.has_room_for_block(BEST, 0)
    late = forecast(WARM_UP, at_s=late_s)
    assert late.has_room_for_block(BEST, 1)
    assert not late.has_room_for_block(BEST, 2)
    latest_s = BUDGET_S - of.least_pairs_s(BEST) - of.blocks_s(1, BEST) - END_S
    assert forecast(WARM_UP, at_s=latest_s - 1).has_room_for_block(BEST, 1)
    assert not forecast(WARM_UP, at_s=latest_s + 1).has_room_for_block(BEST, 1)


def test_the_search_goes_on_until_what_follows_needs_the_time() -> None:
    """The finals too, once there are points enough to choose among.  What takes the winner apart
    and then the finals give way to the first half of the climb; the first points may take time
    from the windows of the pairs, and the very first from the time beyond the budget."""
    planned = forecast(WARM_UP).plans.searching
    tried = [trial(number, beside_s=3.0) for number in range(planned // 2)]
    assert len(tried) > FEWEST_SEARCH_TRIALS

    def ends_at(at_s: float, *known: Trial) -> bool:
        """Whether there is room until then, and none after it."""
        has = [forecast(WARM_UP, *known, at_s=at_s + more).has_room(BEST) for more in (-0.1, 0.1)]
        return has == [True, False]

    of = forecast(WARM_UP, *tried, at_s=0.0)
    finals_s = of.plans.finals * of.takes_s(of.plans.final)
    assert ends_at(of.free_s(BEST) - finals_s - 9.0, *tried)
    assert ends_at(of.spare_s(BEST) - 9.0, *tried[:-1])
    latest_s = BUDGET_S - 9.0 - forecast(WARM_UP).least_pairs_s(BEST) - END_S
    assert ends_at(latest_s, *tried[:3])
    assert ends_at(latest_s + 50)


def test_windows_of_the_pairs_get_shorter_where_time_ran_short() -> None:
    of = forecast(WARM_UP)
    plan = of.plans.confirm
    assert of.confirm_plan(plan, BEST, 6) == plan
    late = forecast(WARM_UP, at_s=800.0)
    windows = [late.confirm_plan(plan, winner, 8).window_s for winner in (BEST, HEAP)]
    assert windows[1] < windows[0] < plan.window_s
    # Eight pairs and the end fit exactly.
    shorter = late.confirm_plan(plan, BEST, 8)
    assert 8 * late.pair_s(shorter, BEST) + END_S == pytest.approx(200.0)
    two = forecast(replace(WARM_UP, machine="lab1"), at_s=800.0, labs=2)
    assert two.confirm_plan(plan, BEST, 8).window_s > windows[0]

from __future__ import annotations

from dataclasses import replace

import pytest

from tuner.measure.enough import FEWEST_PAIRS, FEWEST_RESTARTING
from tuner.measure.measurement import TrialPlan
from tuner.search.budget import (
    NODE_PACE,
    SINK_PACE,
    Pace,
    Spending,
    fitted,
    smallest_budget_s,
    spend,
    trial_seconds,
)

CHECKS_S = 80.0


def test_the_issue_s_budgets_are_large_enough() -> None:
    assert smallest_budget_s(SINK_PACE) <= 60
    assert smallest_budget_s(NODE_PACE) <= 300


def pairs_s(plan: TrialPlan, pairs: int, overhead_s: float = 2.0, pace: Pace = NODE_PACE) -> float:
    return 2 * pairs * trial_seconds(plan, overhead_s, pace)


def reserved_s(plans: Spending, overhead_s: float, pace: Pace) -> float:
    """What is set aside for what follows the choice."""
    apart_s = 2 * plans.blocks * trial_seconds(plans.search, overhead_s, pace)
    confirming_s = pairs_s(plans.confirm, plans.pairs, overhead_s, pace)
    return confirming_s + apart_s + plans.checks_s + pace.end_s


def test_the_smallest_budget_holds_six_pairs_and_a_search() -> None:
    for pace in (NODE_PACE, SINK_PACE):
        left_s = smallest_budget_s(pace) - pace.start_s - pace.engine_warm_up_s
        plans = spend(left_s, pace.overhead_s, pace, CHECKS_S)
        trial_s = trial_seconds(plans.search, pace.overhead_s, pace)
        trials = plans.calibrating + plans.searching + plans.finals
        assert plans.searching >= 4
        assert plans.calibrating >= 4
        assert reserved_s(plans, pace.overhead_s, pace) + trials * trial_s <= left_s


def test_a_longer_budget_gives_longer_windows_and_a_smaller_share_to_the_confirmation() -> None:
    short, long = (spend(left, 2.0, NODE_PACE, CHECKS_S) for left in (270, 1770))
    assert long.confirm.window_s > short.confirm.window_s
    assert reserved_s(long, 2.0, NODE_PACE) / 1770 < reserved_s(short, 2.0, NODE_PACE) / 270


def test_a_longer_budget_gives_more_pairs_and_blocks_that_take_the_winner_apart() -> None:
    short, long = (spend(left, 4.0, NODE_PACE, CHECKS_S) for left in (270, 1770))
    assert (short.pairs, short.blocks) == (FEWEST_PAIRS, 3)
    assert 8 <= long.pairs <= 10
    assert long.blocks == 16


@pytest.mark.parametrize("overhead_s", [2.0, 4.0, 5.5, 7.0, 9.0])
def test_a_plan_that_gets_tight_gives_up_effects_then_repeats_then_the_climb(
    overhead_s: float,
) -> None:
    """The runs that tell the noise come before them, and one point to compare with before those."""
    plans = spend(255, overhead_s, NODE_PACE, CHECKS_S)
    assert plans.pairs == 6
    assert plans.searching >= 1
    assert plans.searching >= 4 or plans.blocks == plans.finals == 0
    assert plans.calibrating >= 4 or plans.searching == 1
    assert plans.needs_pairs_for_effects is (plans.blocks in {1, 3})


def test_slower_trials_leave_fewer_blocks_and_repeats() -> None:
    each = [spend(360, overhead_s, NODE_PACE, CHECKS_S) for overhead_s in (2.0, 4.0, 8.0, 16.0)]
    assert [one.blocks for one in each] == sorted((one.blocks for one in each), reverse=True)
    assert (each[0].blocks, each[-1].blocks, each[-1].finals) == (4, 0, 0)


def test_trials_of_the_search_stay_short() -> None:
    assert spend(7000, 2.0, NODE_PACE, CHECKS_S).search.window_s <= NODE_PACE.longest_search_s
    assert spend(7000, 2.0, NODE_PACE, CHECKS_S).confirm.window_s <= NODE_PACE.longest_window_s


def test_the_time_of_the_runs_at_a_fixed_rate_is_set_aside() -> None:
    with_checks = spend(900, 2.0, NODE_PACE, CHECKS_S)
    free = replace(with_checks, checks_s=0.0)
    aside_s = reserved_s(with_checks, 2.0, NODE_PACE) - reserved_s(free, 2.0, NODE_PACE)
    assert aside_s == CHECKS_S


def test_pairs_are_made_shorter_where_less_time_is_left_and_never_longer() -> None:
    plans = spend(1770, 2.0, NODE_PACE, CHECKS_S)
    planned_s = pairs_s(plans.confirm, 6) + NODE_PACE.end_s
    assert fitted(plans.confirm, planned_s + 100, 2.0, NODE_PACE, 6) == plans.confirm
    late = fitted(plans.confirm, planned_s - 60, 2.0, NODE_PACE, 6)
    assert pairs_s(late, 6) + NODE_PACE.end_s == pytest.approx(planned_s - 60)
    more = fitted(plans.confirm, planned_s, 2.0, NODE_PACE, FEWEST_RESTARTING)
    assert pairs_s(more, FEWEST_RESTARTING) + NODE_PACE.end_s == pytest.approx(planned_s)
    assert fitted(plans.confirm, 5.0, 2.0, NODE_PACE, 6).window_s == NODE_PACE.window_s


def test_few_trials_suffice_for_few_knobs() -> None:
    short, long = (spend(left, 2.0, NODE_PACE, CHECKS_S) for left in (240, 3600))
    assert short.knobs_kept(24) < 10
    assert long.knobs_kept(24) == 24
    assert short.knobs_kept(3) == 3

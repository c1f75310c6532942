from __future__ import annotations

from tuner.search.budget import (
    NODE_PACE,
    SINK_PACE,
    reserve_s,
    smallest_budget_s,
    spend,
    trial_seconds,
)


def test_the_issue_s_budgets_are_large_enough() -> None:
    assert smallest_budget_s(SINK_PACE) <= 60
    assert smallest_budget_s(NODE_PACE) <= 300


def test_the_smallest_budget_holds_six_pairs_and_a_search() -> None:
    for pace in (NODE_PACE, SINK_PACE):
        left_s = smallest_budget_s(pace) - pace.start_s - pace.engine_warm_up_s
        plans = spend(left_s, pace.overhead_s, pace)
        baseline_s = trial_seconds(plans.search, pace.overhead_s, pace)
        assert reserve_s(plans.confirm, pace.overhead_s, pace) + 4 * baseline_s <= left_s


def test_a_longer_budget_gives_longer_windows_and_a_smaller_share_to_the_confirmation() -> None:
    short, long = (spend(left, 2.0, NODE_PACE) for left in (270, 1770))
    assert long.confirm.window_s > short.confirm.window_s
    assert (
        reserve_s(long.confirm, 2.0, NODE_PACE) / 1770
        < reserve_s(short.confirm, 2.0, NODE_PACE) / 270
    )


def test_trials_of_the_search_stay_short() -> None:
    assert spend(7000, 2.0, NODE_PACE).search.window_s <= 12
    assert spend(7000, 2.0, NODE_PACE).confirm.window_s <= NODE_PACE.longest_window_s

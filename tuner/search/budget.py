"""How a budget of wall-clock time is spent: the confirmation's share is set aside first."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tuner.measure.measurement import TrialPlan
from tuner.search.verdict import MINIMUM_PAIRS


@dataclass(frozen=True)
class Pace:
    """What an engine needs, in seconds: to start, to get warm, for one trial at the least, and
    beyond that for the merges of a finalist to end (0: it has none).

    A JVM compiles its hot code while it is under load, so the first events after a start are slow
    and are never measured.
    """

    start_s: float
    engine_warm_up_s: float
    warm_up_s: float
    window_s: float
    overhead_s: float
    longest_window_s: float
    settle_s: float

    @property
    def shortest_trial_s(self) -> float:
        """One trial with the shortest window."""
        return self.warm_up_s + self.window_s + self.overhead_s


NODE_PACE = Pace(
    start_s=15,
    engine_warm_up_s=10,
    warm_up_s=2,
    window_s=4,
    overhead_s=2,
    longest_window_s=60,
    settle_s=2.5,
)
SINK_PACE = Pace(
    start_s=1,
    engine_warm_up_s=1,
    warm_up_s=0.6,
    window_s=1.5,
    overhead_s=0.8,
    longest_window_s=10,
    settle_s=0,
)

_FEWEST_SEARCH_TRIALS = 4
_REPORT_S = 2.0
_LONGEST_SEARCH_WINDOW_S = 12.0


@dataclass(frozen=True)
class Spending:
    """The plans of both kinds of trial."""

    search: TrialPlan
    confirm: TrialPlan


def smallest_budget_s(pace: Pace) -> float:
    """The smallest budget that leaves room for a search and six pairs, in whole tens of seconds."""
    trials = 2 * MINIMUM_PAIRS + 1 + _FEWEST_SEARCH_TRIALS
    settling_s = 2 * MINIMUM_PAIRS * pace.settle_s
    trials_s = trials * pace.shortest_trial_s + settling_s
    needed = pace.start_s + pace.engine_warm_up_s + trials_s + _REPORT_S
    return math.ceil(needed / 10) * 10


def engine_warm_up(budget_s: float, pace: Pace) -> TrialPlan:
    """The first trial, which gets the engine warm: longer where the budget has room for it.

    The CPU that Elasticsearch 8.19 spends on an event went on falling for the first minute of load
    (24.7, 21.0, 20.3, 19.9, 19.3 us in five runs of 12 s, `bench profiles/default.yaml`).
    """
    shortest = pace.engine_warm_up_s
    return TrialPlan(pace.warm_up_s, min(4 * shortest, max(shortest, 0.05 * budget_s)))


def spend(left_s: float, overhead_s: float, pace: Pace) -> Spending:
    """Divide the seconds left among search and confirmation.

    The share of the confirmation falls from 45 % of ten minutes and less to 20 % of half an hour
    and more: its length is set by the interval it must reach, not by the size of the search.
    """
    share = min(0.45, max(0.20, 0.45 - 0.25 * (left_s - 600) / 1200))
    trial_s = share * left_s / (2 * MINIMUM_PAIRS)
    window_s = trial_s - pace.warm_up_s - overhead_s - pace.settle_s
    confirm = min(max(window_s, pace.window_s), pace.longest_window_s)
    search = min(confirm, _LONGEST_SEARCH_WINDOW_S)
    finalists = TrialPlan(pace.warm_up_s, confirm, settles=pace.settle_s > 0)
    return Spending(TrialPlan(pace.warm_up_s, search), finalists)


def reserve_s(confirm: TrialPlan, overhead_s: float, pace: Pace) -> float:
    """The seconds to set aside for six pairs and the report."""
    return 2 * MINIMUM_PAIRS * trial_seconds(confirm, overhead_s, pace) + _REPORT_S


def trial_seconds(plan: TrialPlan, overhead_s: float, pace: Pace) -> float:
    """What a trial of this plan takes, with `overhead_s` for starting, draining and removing."""
    return plan.warm_up_s + plan.window_s + overhead_s + (pace.settle_s if plan.settles else 0)

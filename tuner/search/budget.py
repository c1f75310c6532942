"""How a budget of wall-clock time is spent: the confirmation's share is set aside first."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tuner.measure.measurement import TrialPlan
from tuner.search.verdict import MINIMUM_PAIRS


@dataclass(frozen=True)
class Pace:
    """What an engine needs, in seconds: to start, to get warm, for one trial at the least, and
    beyond that for the merges of a finalist to end (0: it has none).

    A JVM compiles its hot code while it is under load, so the first events after a start are slow
    and are never measured.  With `checks` both sides run at a fixed rate as well, for freshness.
    """

    start_s: float
    engine_warm_up_s: float
    warm_up_s: float
    window_s: float
    overhead_s: float
    longest_search_s: float
    longest_window_s: float
    settle_s: float
    checks: bool

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
    longest_search_s=4,
    longest_window_s=60,
    settle_s=2.5,
    checks=True,
)
SINK_PACE = Pace(
    start_s=1,
    engine_warm_up_s=1,
    warm_up_s=0.6,
    window_s=1.2,
    overhead_s=0.8,
    longest_search_s=3,
    longest_window_s=10,
    settle_s=0,
    checks=False,
)

_FEWEST_CALIBRATING, _MOST_CALIBRATING = 3, 6
_FEWEST_SEARCH_TRIALS = 4
_FEWEST_FINALS, _MOST_FINALS = 2, 16
_FINALS_SHARE = 0.2
_CALIBRATION_SHARE = 0.08
_CHECK_FROM_S = 600.0
_REPORT_S = 2.0
# With less than three trials for a knob, the least promising ones stay as they are.
_TRIALS_PER_KNOB = 3
_FEWEST_KNOBS = 5


@dataclass(frozen=True)
class Spending:
    """What the seconds left buy.

    `calibrating` runs of the profile as written, the first that is scored included; then
    `searching` trials and `finals` repetitions of good points, all by the plan `search`; at least
    six pairs by the plan `confirm`.  `checks_s` is set aside for a run at a fixed rate for each
    side, 0 where there is none.
    """

    calibrating: int
    searching: int
    finals: int
    search: TrialPlan
    confirm: TrialPlan
    checks_s: float

    def knobs_kept(self, knobs: int) -> int:
        """How many of so many knobs the trials suffice for."""
        return min(knobs, max(_FEWEST_KNOBS, (self.searching + self.finals) // _TRIALS_PER_KNOB))


def smallest_budget_s(pace: Pace) -> float:
    """The smallest budget that leaves room for a search and six pairs, in whole tens of seconds."""
    trials = 2 * MINIMUM_PAIRS + _FEWEST_CALIBRATING + _FEWEST_SEARCH_TRIALS + _FEWEST_FINALS
    settling_s = 2 * MINIMUM_PAIRS * pace.settle_s
    trials_s = trials * pace.shortest_trial_s + settling_s
    needed = pace.start_s + pace.engine_warm_up_s + trials_s + _REPORT_S
    return math.ceil(needed / 10) * 10


def engine_warm_up(budget_s: float, pace: Pace) -> TrialPlan:
    """The first trial, which gets the engine warm: longer where the budget has room for it.

    The CPU that Elasticsearch 8.19 spends on an event went on falling for the first minute of load
    (24.7, 21.0, 20.3, 19.9, 19.3 us in five runs of 12 s, `bench profiles/default.yaml`), and after
    40 s of it the rate rose by another 24 % in the next minute (2 cores, a profile that maps
    dynamically).
    """
    shortest = pace.engine_warm_up_s
    return TrialPlan(pace.warm_up_s, min(8 * shortest, max(shortest, 0.05 * budget_s)))


def spend(left_s: float, overhead_s: float, pace: Pace, checks_s: float) -> Spending:
    """Divide the seconds left after the warm-up; runs at a fixed rate would take `checks_s`.

    The share of the confirmation falls from 40 % of five minutes and less to 20 % of twenty and
    more: its length is set by the interval it must reach, not by the size of the search.
    """
    share = min(0.40, max(0.20, 0.40 - 0.20 * (left_s - 300) / 900))
    trial_s = share * left_s / (2 * MINIMUM_PAIRS)
    window_s = trial_s - pace.warm_up_s - overhead_s - pace.settle_s
    confirm_s = min(max(window_s, pace.window_s), pace.longest_window_s)
    confirm = TrialPlan(pace.warm_up_s, confirm_s, settles=pace.settle_s > 0)
    search = TrialPlan(pace.warm_up_s, min(confirm_s, pace.longest_search_s))
    checks_s = checks_s if left_s >= _CHECK_FROM_S else 0.0
    free_s = left_s - reserve_s(confirm, overhead_s, pace, checks_s)
    trials = max(0, int(free_s / trial_seconds(search, overhead_s, pace)))
    calibrating = _between(_FEWEST_CALIBRATING, _CALIBRATION_SHARE * trials, _MOST_CALIBRATING)
    finals = _between(_FEWEST_FINALS, _FINALS_SHARE * trials, _MOST_FINALS)
    searching = max(0, trials - calibrating - finals)
    return Spending(calibrating, searching, finals, search, confirm, checks_s)


def reserve_s(confirm: TrialPlan, overhead_s: float, pace: Pace, checks_s: float) -> float:
    """The seconds to set aside for six pairs, the runs at a fixed rate and the report."""
    pairs_s = 2 * MINIMUM_PAIRS * trial_seconds(confirm, overhead_s, pace)
    return pairs_s + checks_s + _REPORT_S


def fitted(confirm: TrialPlan, left_s: float, overhead_s: float, pace: Pace) -> TrialPlan:
    """The plan of the pairs, with windows so much shorter that six pairs fit into the seconds left:
    what a session that resumed late, or a candidate that was refused, left less time for."""
    without_s = trial_seconds(replace(confirm, window_s=0.0), overhead_s, pace)
    window_s = (left_s - _REPORT_S) / (2 * MINIMUM_PAIRS) - without_s
    return replace(confirm, window_s=min(confirm.window_s, max(pace.window_s, window_s)))


def trial_seconds(plan: TrialPlan, overhead_s: float, pace: Pace) -> float:
    """What a trial of this plan takes, with `overhead_s` for starting, draining and removing."""
    return plan.warm_up_s + plan.window_s + overhead_s + (pace.settle_s if plan.settles else 0)


def _between(least: int, wanted: float, most: int) -> int:
    return max(least, min(most, round(wanted)))

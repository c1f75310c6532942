"""How a budget of wall-clock time is spent: the confirmation's share is set aside first, then that
of the runs at a fixed rate that show how fresh a profile keeps what it indexes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tuner.measure.enough import FEWEST_PAIRS, FEWEST_RESTARTING
from tuner.measure.measurement import TrialPlan
from tuner.profile.model import Profile
from tuner.schema.units import seconds
from tuner.space.knob import Knob
from tuner.space.knobs import without_node


@dataclass(frozen=True)
class Pace:
    """What an engine needs, in seconds: to start, to warm up, for the shortest trial, and to end
    with the reports written.

    Merges continue after a trial: `merging` seconds for each second that a window is longer than
    those of the search.

    A JVM compiles its hot code while it is under load, so the first events after a start are slow
    and are never measured.  With `checks` both sides run at a fixed rate as well, for freshness.
    """

    start_s: float
    end_s: float
    engine_warm_up_s: float
    warm_up_s: float
    window_s: float
    overhead_s: float
    longest_search_s: float
    longest_final_s: float
    longest_window_s: float
    merging: float
    checks: bool

    @property
    def shortest_trial_s(self) -> float:
        """One trial with the shortest window."""
        return self.warm_up_s + self.window_s + self.overhead_s


NODE_PACE = Pace(
    start_s=15,
    end_s=5,
    engine_warm_up_s=10,
    warm_up_s=2,
    window_s=4,
    overhead_s=4,
    longest_search_s=4,
    longest_final_s=12,
    longest_window_s=60,
    merging=0.1,
    checks=True,
)
SINK_PACE = Pace(
    start_s=1,
    end_s=3,
    engine_warm_up_s=1,
    warm_up_s=0.6,
    window_s=1.2,
    overhead_s=0.8,
    longest_search_s=3,
    longest_final_s=3,
    longest_window_s=10,
    merging=0,
    checks=False,
)

FEWEST_CALIBRATING = 4
"""Runs of the profile as written: fewer tell too little of the noise (`contrast.unsure`)."""
_MOST_CALIBRATING = 6
FEWEST_SEARCH_TRIALS = 4
"""With fewer points tried there is nothing to choose from."""
_FEWEST_FINALS, _MOST_FINALS = 1, 16
MOST_PAIRS = 16
"""Pairs of a confirmation; on more machines than that, one each."""
MOST_BLOCKS = 24
"""More tell little that a reader would act on."""
FEWEST_BLOCKS = 4
"""Of fewer blocks that take a winner apart the pairs of the confirmation are one more."""
_BLOCKS = (MOST_BLOCKS, 16, 8, FEWEST_BLOCKS)
_BLOCKS_BESIDE_PAIRS = (3, 1)
_MOST_PLANNED = 10
_LEAST_BEYOND_S, _BEYOND_SHARE = 15.0, 0.05
_FINALS_SHARE = 0.2
_CALIBRATION_SHARE = 0.08
_CHECK_FROM_S, _BEYOND_FROM_S = 600.0, 1200.0
_RESTARTS_SHARE = 0.25
# With less than three trials for a knob, the least promising ones stay as they are.
_TRIALS_PER_KNOB = 3
_FEWEST_KNOBS = 5


@dataclass(frozen=True)
class Spending:
    """What the seconds left buy.

    `calibrating` runs of the profile as written on each machine, the first that is scored included;
    then `searching` trials by the same plan `search`; `finals` repetitions of good points by the
    plan `final`, whose windows are longer, because merges begin only after some seconds of traffic;
    `blocks` of two runs that take the winner apart, as an experiment of which the pairs are one
    more row where it `needs_pairs_for_effects`; `pairs` by the plan `confirm`.  `beyond` says
    whether they pay for the fewest pairs of the winner with the recipe that it goes beyond, too.
    `checks_s` is set aside for a run at a fixed rate for each side; 0 without such runs.
    """

    calibrating: int
    searching: int
    finals: int
    blocks: int
    needs_pairs_for_effects: bool
    pairs: int
    beyond: bool
    search: TrialPlan
    final: TrialPlan
    confirm: TrialPlan
    checks_s: float

    def knobs_kept(self, knobs: int) -> int:
        """How many of these knobs the trials are enough for."""
        return min(knobs, max(_FEWEST_KNOBS, (self.searching + self.finals) // _TRIALS_PER_KNOB))


MOST_BESIDE = 4
"""Points of a front that get pairs of their own, beside the winner."""
_FRONT_SHARE = 0.3


def aside_s(budget_s: float, *, has_front: bool) -> float:
    """What of a budget is set aside for the pairs of a front."""
    return _FRONT_SHARE * budget_s if has_front else 0.0


def smallest_budget_s(pace: Pace, *, has_front: bool = False) -> float:
    """The smallest budget that leaves room for a search and six pairs, in whole tens of seconds."""
    trials = 2 * FEWEST_PAIRS + FEWEST_CALIBRATING + FEWEST_SEARCH_TRIALS + _FEWEST_FINALS
    trials_s = trials * pace.shortest_trial_s
    needed = pace.start_s + pace.engine_warm_up_s + trials_s + pace.end_s
    return math.ceil(needed / (1 - has_front * _FRONT_SHARE) / 10) * 10


def engine_warm_up(left_s: float, pace: Pace) -> TrialPlan:
    """The first trial of a session, which warms the engine up until it is warm, or what is left of
    the budget has no more room for it.

    The CPU that Elasticsearch 8.19 spends on an event kept falling for the first minute of load
    (24.7, 21.0, 20.3, 19.9, 19.3 us in five runs of 12 s, `bench profiles/default.yaml`), and after
    40 s of it the rate rose by another 24 % in the next minute (2 cores, a profile that maps
    dynamically).
    """
    shortest = pace.engine_warm_up_s
    longest_s = min(24 * shortest, max(shortest, 0.08 * left_s))
    return TrialPlan(pace.warm_up_s, longest_s, until_flat=True)


def spend(
    left_s: float, overhead_s: float, pace: Pace, checks_s: float, machines: int = 1
) -> Spending:
    """Divide the seconds left after the warm-up; runs at a fixed rate would take `checks_s`.  Of
    several machines each calibrates for itself, and all share the rest.

    The share of the confirmation falls from 40 % of five minutes and less to 20 % of twenty and
    more: its length is set by the interval it must reach, not by the size of the search.  Where its
    windows are as long as those of the finals, more pairs tell more than longer ones.  What each
    change gave takes 35 to 20 % likewise, where at least four blocks fit into that beside a search.
    Where they do not, three or one that the pairs complete come before further repetitions.
    """
    confirm_s = _falling(0.40, 0.20, left_s) * left_s
    full = TrialPlan(pace.warm_up_s, pace.longest_final_s)
    full_pair_s = 2 * trial_seconds(full, overhead_s, pace)
    most = max(_MOST_PLANNED, machines)
    pairs = int(min(most, max(FEWEST_PAIRS, machines * confirm_s / full_pair_s)))
    pairs_by_each = math.ceil(pairs / machines)
    window_s = _window_s(confirm_s / (2 * pairs_by_each) - pace.warm_up_s - overhead_s, pace)
    window_s = min(max(window_s, pace.window_s), pace.longest_window_s)
    # Runs on the sink are short, and a round of rsyslog's counters would take as long again.
    awaits = pace.merging > 0
    confirm = TrialPlan(pace.warm_up_s, window_s, awaits_counters=awaits)
    search = TrialPlan(pace.warm_up_s, min(window_s, pace.longest_search_s))
    final = TrialPlan(pace.warm_up_s, min(window_s, pace.longest_final_s))
    search_s, final_s = (trial_seconds(plan, overhead_s, pace) for plan in (search, final))
    checks_s = checks_s if left_s >= _CHECK_FROM_S else 0.0
    pairs_s = 2 * pairs_by_each * trial_seconds(confirm, overhead_s, pace)
    beyond = left_s >= _BEYOND_FROM_S
    pairs_s += 2 * math.ceil(FEWEST_PAIRS / machines) * final_s if beyond else 0.0
    free_s = left_s - pairs_s - checks_s - pace.end_s
    fewest = FEWEST_CALIBRATING + FEWEST_SEARCH_TRIALS + _FEWEST_FINALS
    apart_s = min(_falling(0.35, 0.20, left_s) * left_s, free_s - fewest * search_s)
    blocks = _most(_BLOCKS, machines * int(apart_s / (2 * search_s)))
    needs_pairs = False
    if not blocks:
        apart_s = free_s - (FEWEST_CALIBRATING + FEWEST_SEARCH_TRIALS) * search_s
        blocks = _most(_BLOCKS_BESIDE_PAIRS, machines * int(apart_s / (2 * search_s)))
        needs_pairs = blocks > 0
    free_s -= 2 * math.ceil(blocks / machines) * search_s
    trials = max(0, int(free_s / search_s))
    calibrating = _between(
        FEWEST_CALIBRATING, _CALIBRATION_SHARE * free_s / search_s, _MOST_CALIBRATING
    )
    # Without a point to compare with it the noise tells nothing.
    calibrating = max(1, min(calibrating, trials - 1))
    shared = machines * _FINALS_SHARE * free_s / final_s
    most_finals = machines * max(0, trials - calibrating - FEWEST_SEARCH_TRIALS)
    finals = min(_between(_FEWEST_FINALS, shared, max(_MOST_FINALS, machines)), most_finals)
    finals = 0 if needs_pairs else finals
    finals_s = math.ceil(finals / machines) * final_s
    searching = machines * max(0, int((free_s - finals_s) / search_s) - calibrating)
    return Spending(
        calibrating, searching, finals, blocks, needs_pairs, pairs, beyond, search, final, confirm,
        checks_s,
    )  # fmt: skip


def _most(counts: Sequence[int], affordable: int) -> int:
    """The largest of these counts, in falling order, that is affordable; 0 where none is."""
    return next((count for count in counts if count <= affordable), 0)


def counts(planned: int) -> tuple[int, ...]:
    """How many blocks there may be where so many were planned, in falling order."""
    return tuple(dict.fromkeys([planned, *(count for count in _BLOCKS if count < planned)]))


def _falling(most: float, least: float, left_s: float) -> float:
    """A share that falls from one of five minutes to another of twenty."""
    return min(most, max(least, most - (most - least) * (left_s - 300) / 900))


def grace_s(budget_s: float) -> float:
    """How far the pairs may go beyond the budget where trials took longer than they had before;
    what is promised is 15 s or 5 %, whichever is more."""
    return max(_LEAST_BEYOND_S, _BEYOND_SHARE * budget_s)


def affordable(knobs: Sequence[Knob], budget_s: float, pace: Pace) -> tuple[Knob, ...]:
    """The knobs without those that the engine restarts for, where the restarts of a confirmation
    and of the runs at a fixed rate would take more than a quarter of the budget; all, where there
    are no others."""
    restarts_s = (3 + FEWEST_RESTARTING) * (pace.start_s + pace.engine_warm_up_s)
    if restarts_s <= _RESTARTS_SHARE * budget_s:
        return tuple(knobs)
    return without_node(knobs) or tuple(knobs)


def fitted(
    confirm: TrialPlan, left_s: float, overhead_s: float, pace: Pace, pairs: int
) -> TrialPlan:
    """The plan of the pairs, with windows short enough for this many to fit into the seconds left:
    what restarts, a session that resumed late, slow runs or a refused candidate left less time."""
    each_s = (left_s - pace.end_s) / (2 * pairs)
    window_s = _window_s(each_s - confirm.warm_up_s - overhead_s, pace)
    return replace(confirm, window_s=min(confirm.window_s, max(pace.window_s, window_s)))


def trial_seconds(plan: TrialPlan, overhead_s: float, pace: Pace) -> float:
    """What a trial of this plan takes, with `overhead_s` for starting, draining and removing."""
    merging_s = pace.merging * max(0.0, plan.window_s - pace.longest_search_s)
    return plan.warm_up_s + plan.window_s + overhead_s + merging_s


def _window_s(length_s: float, pace: Pace) -> float:
    """The window that fits into these seconds with the merges after it."""
    short_s = pace.longest_search_s
    return min(length_s, short_s + max(0.0, length_s - short_s) / (1 + pace.merging))


def _between(least: int, count: float, most: int) -> int:
    return max(least, min(most, round(count)))


# Freshness is judged where a pipeline should run, not where it is full.
_CHECK_SHARE = 0.7
LEAD_S = 2.0
_SHORTEST_CHECK_S = 10.0
_REFRESH = "refresh_interval"


def check_rate(rates: Sequence[float]) -> float:
    """The fixed rate, in events per second: well below what either side carries."""
    return _CHECK_SHARE * min(rates)


def check_plan(profile: Profile) -> TrialPlan:
    """How long a run at a fixed rate lasts: a whole refresh interval at least, because an event
    waits for the next refresh however fast everything before it is."""
    return TrialPlan(LEAD_S, max(_SHORTEST_CHECK_S, interval_s(profile)))


def checks_s(profile: Profile, knobs: Sequence[Knob], pace: Pace) -> float:
    """What the runs of the profile as written and of the best found take at most, in seconds; 0
    where nothing is to be seen of freshness.  The last event waits for one more refresh."""
    if not pace.checks:
        return 0.0
    levels = [level for knob in knobs if knob.path.ends_with(_REFRESH) for level in knob.levels]
    written_s = interval_s(profile)
    longest_s = max([written_s, *(seconds(x) or 0.0 for x in levels if isinstance(x, str))])
    return sum(
        LEAD_S + max(_SHORTEST_CHECK_S, interval_s) + interval_s + pace.overhead_s
        for interval_s in (written_s, longest_s)
    )


def interval_s(profile: Profile) -> float:
    """How long the last event of a run waits to be found, at most, in seconds."""
    return seconds(profile.measured.index.settings.refresh_interval) or 0.0

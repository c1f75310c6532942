"""Runs at a fixed rate, which show how fresh a profile keeps what it indexes."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.measure.measurement import TrialPlan
from tuner.profile.model import Profile
from tuner.schema.units import seconds
from tuner.search.budget import Pace
from tuner.space.knob import Knob

# Freshness is judged where a pipeline should run, not where it is full.
_SHARE = 0.7
_LEAD_S = 2.0
_SHORTEST_S = 10.0
_REFRESH = "refresh_interval"


def check_plan(profile: Profile) -> TrialPlan:
    """How long a profile is judged: a whole refresh interval at least, because an event waits for
    the next refresh however fast everything before it is."""
    return TrialPlan(_LEAD_S, _judged_s(interval_s(profile)))


def checks_s(profile: Profile, knobs: Sequence[Knob], pace: Pace) -> float:
    """What the runs of the profile as written and of the best found take at most, in seconds; 0
    where nothing is to be seen of freshness."""
    if not pace.checks:
        return 0.0
    levels = [level for knob in knobs if knob.path.ends_with(_REFRESH) for level in knob.levels]
    intervals = [seconds(level) or 0.0 for level in levels if isinstance(level, str)]
    written_s = interval_s(profile)
    return _takes_s(written_s, pace) + _takes_s(max([written_s, *intervals]), pace)


def check_rate(rates: Sequence[float]) -> float:
    """The fixed rate, in events per second: well below what either side carries."""
    return _SHARE * min(rates)


def interval_s(profile: Profile) -> float:
    """How long the last event of a run waits to be found, at most, in seconds."""
    return seconds(profile.measured.index.settings.refresh_interval) or 0.0


def _judged_s(interval_s: float) -> float:
    return max(_SHORTEST_S, interval_s)


def _takes_s(interval_s: float, pace: Pace) -> float:
    """The last event waits for one more refresh."""
    return _LEAD_S + _judged_s(interval_s) + interval_s + pace.overhead_s

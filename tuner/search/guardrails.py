"""The guardrails with a number, beside delivery: how far trials keep from them, and the runs at a
fixed rate that show how fresh a profile keeps what it indexes; pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tuner.measure.measurement import Outcome, PacedMeasurement, TrialPlan
from tuner.profile.model import Guardrails, Profile
from tuner.schema.units import seconds, size_bytes
from tuner.search.budget import Pace
from tuner.space.knob import Knob


@dataclass(frozen=True)
class Limits:
    """What a recommendation keeps: `freshness_p99_s` from when an event was due until a search
    finds it, judged at a fixed rate, and the memory of rsyslogd in bytes (None: what it likes).

    A trial that needs more memory fails; freshness is judged here.
    """

    freshness_p99_s: float
    rss_bytes: int | None = None

    @classmethod
    def of(cls, guardrails: Guardrails) -> Limits:
        """The limits that a profile sets."""
        rss = guardrails.rss_bytes
        return cls(guardrails.freshness_p99_s, None if rss is None else size_bytes(rss))

    def margins(self, outcome: Outcome) -> tuple[tuple[str, float], ...]:
        """Logarithms of limit over value, by the name of the guardrail, of what a trial tells of;
        negative where it is breached."""
        used = outcome.shipper_rss_bytes
        if self.rss_bytes is None or used is None:
            return ()
        return (("rss_bytes", math.log(self.rss_bytes / max(1, used))),)

    def breach(self, measurement: PacedMeasurement) -> str | None:
        """Why a run at a fixed rate is not fresh enough; None when it is, or cannot be seen."""
        if measurement.freshness_s is None or measurement.freshness_s.p99 <= self.freshness_p99_s:
            return None
        return (
            f"freshness: p99 {measurement.freshness_s.p99:.3g} s, freshness_p99_s allows "
            f"{self.freshness_p99_s:g} s"
        )


# Freshness is judged where a pipeline should run, not where it is full.
_SHARE = 0.7
LEAD_S = 2.0
_SHORTEST_S = 10.0
_REFRESH = "refresh_interval"


def check_plan(profile: Profile) -> TrialPlan:
    """How long a profile is judged: a whole refresh interval at least, because an event waits for
    the next refresh however fast everything before it is."""
    return TrialPlan(LEAD_S, _judged_s(interval_s(profile)))


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
    return LEAD_S + _judged_s(interval_s) + interval_s + pace.overhead_s

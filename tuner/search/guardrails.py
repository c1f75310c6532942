"""The guardrails with a number, beside delivery: how far trials keep from them; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tuner.measure.measurement import Outcome
from tuner.measure.paced_summary import PacedMeasurement
from tuner.profile.model import Guardrails
from tuner.schema.units import size_bytes


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

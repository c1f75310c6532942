"""What a recommendation must not breach, beside delivery: how far a trial kept from it; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tuner.measure.measurement import Measurement, Outcome
from tuner.measure.paced_summary import PacedMeasurement
from tuner.profile.model import Guardrails
from tuner.profile.units import size_bytes

_MIB = 1024**2


@dataclass(frozen=True)
class Limits:
    """The guardrails with a number: `freshness_p99_s` from when an event was due until a search
    finds it, judged at a fixed rate, and the memory of rsyslogd (None: as much as it likes)."""

    freshness_p99_s: float
    rss_bytes: int | None = None

    @classmethod
    def of(cls, guardrails: Guardrails) -> Limits:
        """The limits that a profile sets."""
        rss = guardrails.rss_bytes
        return cls(guardrails.freshness_p99_s, None if rss is None else size_bytes(rss))

    def margins(self, result: Outcome | PacedMeasurement) -> tuple[tuple[str, float], ...]:
        """Logarithms of limit over value, by the name of the guardrail, of those that the trial
        judges; negative where one is breached."""
        return tuple((name, math.log(limit / value)) for name, limit, value in self._seen(result))

    def breach(self, result: Outcome | PacedMeasurement) -> str | None:
        """Which guardrail the trial breaches, with the figures; None when it keeps them."""
        for name, limit, value in self._seen(result):
            if value > limit:
                return _TEXTS[name].format(limit=_figure(name, limit), value=_figure(name, value))
        return None

    def _seen(self, result: Outcome | PacedMeasurement) -> list[tuple[str, float, float]]:
        """Names, limits and values of what the trial shows; values above zero."""
        found = []
        if self.rss_bytes is not None and isinstance(result, Measurement | PacedMeasurement):
            found.append(("rss_bytes", float(self.rss_bytes), max(1.0, result.shipper_rss_bytes)))
        if isinstance(result, PacedMeasurement) and result.freshness_s is not None:
            p99_s = max(1e-3, result.freshness_s.p99)
            found.append(("freshness_p99_s", self.freshness_p99_s, p99_s))
        return found


_TEXTS = {
    "rss_bytes": "memory: rsyslogd used {value}, rss_bytes allows {limit}",
    "freshness_p99_s": "freshness: p99 {value}, freshness_p99_s allows {limit}",
}


def _figure(name: str, value: float) -> str:
    return f"{value / _MIB:.0f} MiB" if name == "rss_bytes" else f"{value:.3g} s"

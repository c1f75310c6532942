"""How long events take until a search finds them: what a flood shows of that on its way."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tuner.engine.status import SILENCE_S
from tuner.flood.pace import Timeline
from tuner.flood.spec import FloodProgress
from tuner.measure.measurement import Percentiles
from tuner.measure.pipeline import Pipeline
from tuner.measure.watch import POLL_S, Watch
from tuner.measure.window import Poll

BLOCK_S = 0.1
_REFRESH_GRACE_S = 3.0


class Arrivals:
    """Collects when blocks of events were found, in monotonic seconds."""

    def __init__(self) -> None:
        self._found: dict[int, int] = {}
        self._times: list[tuple[int, int, float]] = []

    @property
    def found(self) -> int:
        """Events found so far."""
        return sum(self._found.values())

    def add(self, at_s: float, blocks: Mapping[int, int]) -> None:
        """Note what a search that was over at `at_s` found: events by the first number of their
        block."""
        for first, count in blocks.items():
            new = count - self._found.get(first, 0)
            if new > 0:
                self._times.append((first, new, at_s))
                self._found[first] = count

    def freshness_s(self, intended_s: Mapping[int, float]) -> Percentiles | None:
        """Percentiles over the events of the blocks in `intended_s`, which says when the first of
        each block was due: the smallest delay that at least that share of them does not exceed.
        None when none of them was found."""
        late = [
            (at_s - intended_s[first], count)
            for first, count, at_s in self._times
            if first in intended_s
        ]
        if not late:
            return None
        figures, counts = np.array(late).T
        shares = (0.50, 0.95, 0.99, 1.0)
        return Percentiles(
            *np.quantile(figures, shares, weights=counts, method="inverted_cdf").tolist()
        )


class Freshness:
    """What searches find of a flood of so many events a second, in the documents of the first
    output of which each event is known to give some."""

    def __init__(self, pipe: Pipeline, per_second: float) -> None:
        engine = pipe.lab.engine
        self._pipe = pipe
        self._width = max(1, round(BLOCK_S * per_second / max(1, len(pipe.lab.loads()))))
        self._arrivals = Arrivals()
        self._refreshes: int | None = None
        self._output = pipe.expectation.first_sure
        self._interval_s = engine.refresh_s(pipe.profile.measured)
        tells_apart = self._output is not None and engine.tells_apart(pipe.profile)
        self.is_seen = tells_apart and self._interval_s is not None

    @property
    def interval_s(self) -> float:
        """How long an event waits for a refresh at most, in seconds; 0 where there is none."""
        return self._interval_s or 0.0

    def look(self) -> None:
        """Note what is searchable now, if there was a refresh."""
        if not self.is_seen:
            return
        engine, pattern = self._pipe.lab.engine, self._pipe.pattern
        refreshes = engine.refreshes(pattern, SILENCE_S)
        if refreshes is None or refreshes != self._refreshes:
            self._refreshes = refreshes
            run = self._pipe.spec.stamped_run
            blocks = engine.searchable(pattern, run, self._output or 0, self._width)
            self._arrivals.add(time.monotonic(), blocks)

    def await_all(self, watch: Watch, final: FloodProgress) -> None:
        """Look on until everything is found, or nothing more is to be expected."""
        patience_s = watch.stall_s + self.interval_s + _REFRESH_GRACE_S
        moved_at, state, limit = time.monotonic(), (-1, -1), watch.limit()
        expected = 0
        if self.is_seen and self._output is not None:
            expected = int(self._pipe.expectation.of_events(self._output, final.events).sum())
        while self._arrivals.found < expected:
            missing = expected - self._arrivals.found
            limit.require_time(f"{missing} of {expected} documents are still not found")
            watch.pipe.rsyslogd.check()
            self.look()
            latest = (watch.indexed(), self._arrivals.found)
            if latest != state:
                moved_at, state = time.monotonic(), latest
            if time.monotonic() - moved_at > patience_s:
                return
            time.sleep(POLL_S)

    def between(
        self, samples: Sequence[Poll], timeline: Timeline | None, final: FloodProgress
    ) -> Percentiles | None:
        """How long the events took that were due between the first and the last of these polls, by
        when the first event of each block was due; None where that is not seen."""
        if timeline is None:
            return None
        ends = (poll.at_s - timeline.start_s for poll in (samples[0], samples[-1]))
        first, last = (min(final.sent, timeline.schedule.due(at_s)) for at_s in ends)
        begin = -(-first // self._width) * self._width
        numbers = range(begin, last, self._width)
        freshness = self._arrivals.freshness_s(
            {number: timeline.intended_s(number) for number in numbers}
        )
        return freshness and replace(freshness, error_s=timeline.error_s)

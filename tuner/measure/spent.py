"""Where the time of a trial goes, part by part."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from enum import Enum


@dataclass(frozen=True)
class Spent:
    """The seconds of one trial, by what they went into.

    `start_s` until traffic flows: the index created, rsyslogd started, an idle engine awaited.
    `drain_s` goes from the end of the window until everything sent is indexed, `settle_s` is
    refresh, flush, merges and the account, `stop_s` ends rsyslogd and removes what there was.
    Before all that, `restart_s` restarts an engine with other node settings and makes it warm.
    """

    restart_s: float = 0.0
    start_s: float = 0.0
    warm_up_s: float = 0.0
    window_s: float = 0.0
    drain_s: float = 0.0
    settle_s: float = 0.0
    stop_s: float = 0.0

    @property
    def total_s(self) -> float:
        """All of it."""
        return float(sum(getattr(self, one.name) for one in fields(self)))

    @property
    def overhead_s(self) -> float:
        """What the trial took beside its window, without a restart of the engine."""
        return self.total_s - self.window_s - self.restart_s

    @property
    def by_name(self) -> dict[str, float]:
        """The seconds of each part of a run itself, by what it is called."""
        return {
            one.value.removesuffix("_s").replace("_", "-"): getattr(self, one.value)
            for one in TrialPart
        }


class TrialPart(Enum):
    """A part of a trial, by the field of `Spent` that holds its seconds."""

    START = "start_s"
    WARM_UP = "warm_up_s"
    WINDOW = "window_s"
    DRAIN = "drain_s"
    SETTLE = "settle_s"
    STOP = "stop_s"


class StageClock:
    """The stages of a trial that begins now: each is told of, and its seconds are counted."""

    def __init__(
        self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tell = tell
        self._clock = clock
        self._part = TrialPart.START
        self._since_s = clock()
        self._seconds = dict.fromkeys(TrialPart, 0.0)

    def begin(self, part: TrialPart, told: str | None = None, *, at_s: float | None = None) -> None:
        """The part before ends, now or as the clock said at `at_s`; `told` is shown."""
        now_s = self._clock() if at_s is None else at_s
        self._seconds[self._part] += now_s - self._since_s
        self._part, self._since_s = part, now_s
        if told is not None:
            self._tell(told)

    @contextlib.contextmanager
    def stopping(self) -> Iterator[None]:
        """What follows the end of this, however it comes, is part of stopping."""
        try:
            yield
        finally:
            self.begin(TrialPart.STOP)

    def spent(self) -> Spent:
        """The seconds up to now."""
        self.begin(self._part)
        return Spent(**{part.value: seconds for part, seconds in self._seconds.items()})

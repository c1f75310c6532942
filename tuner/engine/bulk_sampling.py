"""How long bulk requests take on an engine without a histogram: estimated from those under way.

A request that is seen for the last time at the age of `r` took longer than `r` and less than `r`
plus the time to the next sample.  Which age is its last is chance, and so is whether a request
shorter than the time between two samples is seen at all: the long ones are seen more often.
Taking the middle for the duration would make 20 ms, sampled ten times a second, three times as
long, so the distribution is estimated as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.engine.bulk_times import BulkLatency
from tuner.engine.client import EngineClient, at, number_at, object_at

Floats = NDArray[np.float64]

_ROUNDS = 30
# Durations that are told apart: at most 5 % and a fifth of the time between two looks apart, and
# none below a tenth of it, where one request in ten is seen and a single one outweighs the others.
_RATIO = 0.05
_STEP = 0.2
_SHORTEST = 0.1


class BulkWatch:
    """Collects looks at the bulk requests under way; about ten a second resolve 20 ms."""

    def __init__(self) -> None:
        self._looks: list[float] = []
        self._last: dict[str, tuple[int, float]] = {}

    def see(self, at_s: float, tasks: Iterable[BulkTask]) -> None:
        """Note what was under way at `at_s` on a monotonic clock."""
        for task in tasks:
            self._last[task.task_id] = (len(self._looks), task.running_s)
        self._looks.append(at_s)

    def latency(self) -> BulkLatency | None:
        """The percentiles of the requests that ended between the first look and the last, None
        when none was seen."""
        gaps = np.diff(np.array(self._looks))
        ended = [(age, gaps[look]) for look, age in self._last.values() if look < len(gaps)]
        if not ended:
            return None
        ages, rests = np.array(ended).T
        durations, shares = durations_of(ages, rests, gaps)
        grown = np.cumsum(shares)
        p50, p95, p99 = (
            float(1000 * durations[np.searchsorted(grown, share * grown[-1])])
            for share in (0.50, 0.95, 0.99)
        )
        longest_ms = float(1000 * (ages + rests).max())
        return BulkLatency(p50, p95, p99, longest_ms, len(ages), None, "sampled")


def durations_of(ages: Floats, rests: Floats, gaps: Floats) -> tuple[Floats, Floats]:
    """Durations in seconds and the share of each among all requests, those never seen included.

    `ages` are the last seen ones, `rests` the time from there to the next look, `gaps` the times
    between looks.  Expectation and maximisation for intervals around what is seen with a known
    probability (Vardi, Biometrika 76, 1989; Turnbull, JRSS B 38, 1976); what was seen then counts
    by the inverse of that probability (Horvitz and Thompson, JASA 47, 1952).
    """
    durations = _candidates(float(np.mean(gaps)), float(np.max(ages + rests)))
    chance_seen = np.minimum(gaps[:, None], durations).sum(axis=0) / gaps.sum()
    first = np.searchsorted(durations, ages)
    last = np.maximum(first, np.searchsorted(durations, ages + rests, side="right") - 1)
    places = np.arange(len(durations))
    fits = ((first[:, None] <= places) & (places <= last[:, None])) / chance_seen
    weights = np.full(len(durations), 1 / len(durations))
    for _ in range(_ROUNDS):
        likely = fits * weights
        weights = (likely / likely.sum(axis=1, keepdims=True)).mean(axis=0)
    shares = weights / chance_seen
    return durations, shares / shares.sum()


def _candidates(gap_s: float, longest_s: float) -> Floats:
    """The durations to tell apart, in seconds."""
    durations = [_SHORTEST * gap_s]
    while durations[-1] < longest_s:
        durations.append(durations[-1] + min(_RATIO * durations[-1], _STEP * gap_s))
    return np.array(durations)


_ACTION = "indices:data/write/bulk"
_FIELDS = "nodes.*.tasks.*.action,nodes.*.tasks.*.running_time_in_nanos"


@dataclass(frozen=True)
class BulkTask:
    """One bulk request under way, and for how many seconds."""

    task_id: str
    running_s: float


def bulk_tasks(client: EngineClient, timeout_s: float | None = None) -> tuple[BulkTask, ...]:
    """The bulk requests that all nodes work on, each once: of its tasks only the one that
    coordinates it, not those of its shards."""
    # This may be asked during a window: a node answers from the list of its tasks in memory and
    # opens no shard, so it is no search, and the refresh of a shard that is idle stays off.
    path = f"/_tasks?actions={_ACTION}&detailed=false&filter_path={_FIELDS}"
    return tasks_of(client.get(path, timeout_s))


def tasks_of(answer: object) -> tuple[BulkTask, ...]:
    """Read an answer to `_tasks`."""
    return tuple(
        BulkTask(task_id, number_at(task, "running_time_in_nanos") / 1e9)
        for node in object_at(answer, "nodes").values()
        for task_id, task in object_at(node, "tasks").items()
        if at(task, "action") == _ACTION
    )

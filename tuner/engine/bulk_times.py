"""How long the engine takes to handle bulk requests: out of its own histogram, or where it has none
estimated from those under way; and percentiles."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tuner.engine.client import EngineClient, at, list_at, number_at, object_at
from tuner.errors import JobFailed

_BULK = "nodes.*.http.routes.*_bulk"
# Every look is a request to a route of the nodes: where routes are counted it counts itself, and
# tells an engine that had no bulk request yet from one that keeps no histogram.
_WANTED = ",".join(
    (
        f"{_BULK}.requests.count",
        f"{_BULK}.requests.total_size_in_bytes",
        f"{_BULK}.responses.handling_time_histogram",
        "nodes.*.http.routes.*_nodes*.requests.count",
    )
)


Edges = tuple[float, float]
"""From how many milliseconds on to less than how many; infinite where there is no end."""


@dataclass(frozen=True)
class BulkTimes:
    """Bulk requests that came in and the bytes of their bodies, None where the engine does not
    count them, and how many of those that were answered took how long; a request under way is in
    `requests` and in no bucket."""

    requests: int
    body_bytes: int | None
    buckets: Mapping[Edges, int]


@dataclass(frozen=True)
class BulkLatency:
    """How long bulk requests took, in milliseconds; `max_ms` is an upper bound.

    `requests` is how many the percentiles stand on: all of them in a histogram, those that were
    seen in a sample, which tells no sizes.
    """

    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    requests: int
    mean_bytes: float | None
    source: Literal["histogram", "sampled"]


def bulk_times(
    client: EngineClient, pattern: str, timeout_s: float | None = None
) -> BulkTimes | None:
    """The bulk requests of all nodes since they started, whoever sent them; None when the engine
    keeps no such histogram.

    Elasticsearch has it from 8.12 on (pull request 99852), our sink too; OpenSearch does not.
    Elasticsearch 9, which reads requests in pieces, counts no bytes there: they are those of the
    documents that went into `pattern` (`_stats/bulk`), without the line before each.
    """
    answer = client.get(f"/_nodes/stats/http?filter_path={_WANTED}", timeout_s)
    times = times_of(answer)
    if times is None or times.body_bytes is not None:
        return times
    size = ("_all", "primaries", "bulk", "total_size_in_bytes")
    answer = client.get(f"/{pattern}/_stats/bulk?filter_path={'.'.join(size)}", timeout_s)
    return replace(times, body_bytes=number_at(answer, *size))


def times_of(answer: object) -> BulkTimes | None:
    """Read an answer to `_nodes/stats/http`; None when it counts no routes."""
    nodes = object_at(answer, "nodes").values()
    routes = [route for node in nodes for route in object_at(node, "http", "routes").items()]
    if not routes:
        return None
    bulks = [route for name, route in routes if name.endswith("_bulk")]
    counts: Counter[Edges] = Counter()
    for route in bulks:
        counts.update(_histogram(route))
    requests = sum(number_at(route, "requests", "count") for route in bulks)
    body_bytes = sum(number_at(route, "requests", "total_size_in_bytes") for route in bulks)
    return BulkTimes(
        requests=requests,
        body_bytes=None if requests and not body_bytes else body_bytes,
        buckets=+counts,
    )


def between(before: BulkTimes, after: BulkTimes) -> BulkTimes:
    """What came in and was answered between two looks.

    Raises JobFailed when a count ran backwards, because an engine that restarted in between makes
    the difference wrong.
    """
    counts = Counter(after.buckets)
    counts.subtract(before.buckets)
    requests = after.requests - before.requests
    if requests < 0 or any(count < 0 for count in counts.values()):
        raise JobFailed(
            f"the engine's count of bulk requests ran backwards from {before.requests} to "
            f"{after.requests}: a node restarted; measure again"
        )
    body_bytes = None
    if before.body_bytes is not None and after.body_bytes is not None:
        body_bytes = after.body_bytes - before.body_bytes
    return BulkTimes(requests, body_bytes, +counts)


def latency_of(times: BulkTimes) -> BulkLatency | None:
    """The percentiles of the answered requests, None when there is none.

    Buckets double in width, so inside one a percentile is interpolated geometrically, in the first,
    which begins at zero, linearly: it is off by less than a factor of two.  The last bucket, from
    65.5 s on, has no end and counts as one that doubles too.
    """
    answered = sum(times.buckets.values())
    if answered == 0:
        return None
    p50_ms, p95_ms, p99_ms = (
        _percentile(times.buckets, share * answered) for share in (0.50, 0.95, 0.99)
    )
    return BulkLatency(
        p50_ms,
        p95_ms,
        p99_ms,
        max_ms=_end_ms(max(times.buckets)),
        requests=answered,
        # Requests that came before may be answered while no other comes.
        mean_bytes=times.body_bytes / times.requests
        if times.body_bytes and times.requests
        else None,
        source="histogram",
    )


def _histogram(route: object) -> dict[Edges, int]:
    """The counts by the edges of their bucket; the engine leaves out an edge that there is not."""
    return {
        (
            float(number_at(bucket, "ge_millis")),
            math.inf if at(bucket, "lt_millis") is None else float(number_at(bucket, "lt_millis")),
        ): number_at(bucket, "count")
        for bucket in list_at(route, "responses", "handling_time_histogram")
    }


def _percentile(buckets: Mapping[Edges, int], wanted: float) -> float:
    """The milliseconds that `wanted` of the requests did not exceed."""
    for edges, count in sorted(buckets.items()):
        if wanted <= count:
            share, begin_ms = wanted / count, edges[0]
            if begin_ms == 0:
                return share * _end_ms(edges)
            return float(begin_ms * (_end_ms(edges) / begin_ms) ** share)
        wanted -= count
    return _end_ms(max(buckets))


def _end_ms(edges: Edges) -> float:
    """Where a bucket ends, in milliseconds."""
    begin_ms, end_ms = edges
    return 2 * begin_ms if math.isinf(end_ms) else end_ms


Floats = NDArray[np.float64]

_ROUNDS = 30
# Durations that are told apart: at most 5 % and a fifth of the time between two looks apart, and
# none below a tenth of it, where one request in ten is seen and a single one outweighs the others.
_RATIO = 0.05
_STEP = 0.2
_SHORTEST = 0.1


class BulkWatch:
    """Collects looks at the bulk requests under way; about ten a second resolve 20 ms.

    A request that is seen for the last time at the age of `r` took longer than `r` and less than
    `r` plus the time to the next look.  Which age is its last is chance, and so is whether a
    request shorter than the time between two looks is seen at all: the long ones are seen more
    often.  Taking the middle for the duration would make 20 ms, looked at ten times a second, three
    times as long, so the distribution is estimated as a whole.
    """

    def __init__(self) -> None:
        self._looks: list[float] = []
        self._last: dict[str, tuple[int, float]] = {}

    def see(self, at_s: float, tasks: Mapping[str, float]) -> None:
        """Note what was under way at `at_s` on a monotonic clock, by the names of tasks, and for
        how many seconds."""
        for name, running_s in tasks.items():
            self._last[name] = (len(self._looks), running_s)
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


def bulk_tasks(client: EngineClient, timeout_s: float | None = None) -> dict[str, float]:
    """The bulk requests that all nodes work on by the names of their tasks, and for how many
    seconds; each once: of its tasks only the one that coordinates it, not those of its shards."""
    # This may be asked during a window: a node answers from the list of its tasks in memory and
    # opens no shard, so it is no search, and the refresh of a shard that is idle stays off.
    path = f"/_tasks?actions={_ACTION}&detailed=false&filter_path={_FIELDS}"
    return tasks_of(client.get(path, timeout_s))


def tasks_of(answer: object) -> dict[str, float]:
    """Read an answer to `_tasks`."""
    return {
        name: number_at(task, "running_time_in_nanos") / 1e9
        for node in object_at(answer, "nodes").values()
        for name, task in object_at(node, "tasks").items()
        if at(task, "action") == _ACTION
    }

"""How long the engine takes to handle bulk requests: percentiles from its own histogram, or
estimated from samples of its running tasks where it keeps no histogram."""

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
# An engine that counts requests by route counts this request too, on the route `_nodes`.  So an
# answer without any route means that it keeps no histogram, not that it had no bulk request yet.
_FILTER_PATH = ",".join(
    (
        f"{_BULK}.requests.count",
        f"{_BULK}.requests.total_size_in_bytes",
        f"{_BULK}.responses.handling_time_histogram",
        "nodes.*.http.routes.*_nodes*.requests.count",
    )
)


Edges = tuple[float, float]
"""The lower and the upper edge of a bucket in milliseconds; the last one's upper edge is infinite.
"""


@dataclass(frozen=True)
class BulkTimes:
    """Counts of bulk requests: those received, the bytes of their bodies (None if the engine does
    not count them), and the answered ones by handling time.

    A request in flight is in `requests` and in no bucket.
    """

    requests: int
    body_bytes: int | None
    buckets: Mapping[Edges, int]


@dataclass(frozen=True)
class BulkLatency:
    """How long bulk requests took, in milliseconds; `max_ms` is an upper bound.

    `requests` is the number behind the percentiles: all answered requests of a histogram, or those
    that were seen by sampling, which has no `mean_bytes`.
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
    """Bulk requests of all clients to all nodes since these started; None if the engine keeps no
    histogram.

    Elasticsearch has one since 8.12 (pull request 99852), and so has our sink; OpenSearch has none.
    Elasticsearch 9, which reads requests in pieces, counts no bytes there.  Their bytes are taken
    from `_stats/bulk` of `pattern`: those of the documents, without the action lines.
    """
    answer = client.get(f"/_nodes/stats/http?filter_path={_FILTER_PATH}", timeout_s)
    times = times_of(answer)
    if times is None or times.body_bytes is not None:
        return times
    size = ("_all", "primaries", "bulk", "total_size_in_bytes")
    answer = client.get(f"/{pattern}/_stats/bulk?filter_path={'.'.join(size)}", timeout_s)
    return replace(times, body_bytes=number_at(answer, *size))


def times_of(answer: object) -> BulkTimes | None:
    """Read an answer to `_nodes/stats/http`; None if it has no counts by route."""
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
    """The requests received and answered between two samples.

    Raises JobFailed if a count ran backwards: after a restart of a node the difference is wrong.
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
    """The percentiles of the answered requests, None if no request was answered.

    Each bucket is twice as wide as the one before.  A percentile is interpolated geometrically, or
    linearly in the first bucket, which begins at zero, so its error is less than a factor of two.
    The last bucket begins at 65.5 s and has no end; it counts as if it ended at twice that.
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
        # Earlier requests can be answered in a time in which no new one is received.
        mean_bytes=times.body_bytes / times.requests
        if times.body_bytes and times.requests
        else None,
        source="histogram",
    )


def _histogram(route: object) -> dict[Edges, int]:
    """The count of each bucket; the engine leaves out the lower edge of the first and the upper
    edge of the last."""
    return {
        (
            float(number_at(bucket, "ge_millis")),
            math.inf if at(bucket, "lt_millis") is None else float(number_at(bucket, "lt_millis")),
        ): number_at(bucket, "count")
        for bucket in list_at(route, "responses", "handling_time_histogram")
    }


def _percentile(buckets: Mapping[Edges, int], rank: float) -> float:
    """The time in milliseconds that `rank` of the requests did not exceed."""
    for edges, count in sorted(buckets.items()):
        if rank <= count:
            share, begin_ms = rank / count, edges[0]
            if begin_ms == 0:
                return share * _end_ms(edges)
            return float(begin_ms * (_end_ms(edges) / begin_ms) ** share)
        rank -= count
    return _end_ms(max(buckets))


def _end_ms(edges: Edges) -> float:
    """The upper edge of a bucket, in milliseconds; twice the lower edge for the last bucket."""
    begin_ms, end_ms = edges
    return 2 * begin_ms if math.isinf(end_ms) else end_ms


Floats = NDArray[np.float64]

_ROUNDS = 30
# Candidate durations differ by at most 5 %, and by at most a fifth of the sampling interval.  The
# shortest is a tenth of the interval: sampling sees one in ten such requests, so a single shorter
# one would outweigh all others.
_RATIO = 0.05
_STEP = 0.2
_SHORTEST = 0.1


class BulkWatch:
    """Collects samples of the bulk requests in flight; about ten samples a second resolve 20 ms.

    A request that is last seen at age `r` took longer than `r`, and less than `r` plus the time to
    the next sample.  Its last seen age is random, and a request shorter than the interval may not
    be seen at all, so long ones are seen more often.  With the middle of these bounds as the
    duration, 20 ms would become 60 ms at ten samples a second.  So the distribution is estimated as
    a whole.
    """

    def __init__(self) -> None:
        self._sampled_at_s: list[float] = []
        self._last_seen: dict[str, tuple[int, float]] = {}

    def add(self, at_s: float, tasks: Mapping[str, float]) -> None:
        """Add a sample taken at `at_s` (monotonic): for each running task, how many seconds it has
        run."""
        for name, running_s in tasks.items():
            self._last_seen[name] = (len(self._sampled_at_s), running_s)
        self._sampled_at_s.append(at_s)

    def latency(self) -> BulkLatency | None:
        """The percentiles of the requests that ended between the first and the last sample, None
        if none was seen."""
        gaps = np.diff(np.array(self._sampled_at_s))
        ended = [(age, gaps[place]) for place, age in self._last_seen.values() if place < len(gaps)]
        if not ended:
            return None
        ages, rests = np.array(ended).T
        durations, shares = durations_of(ages, rests, gaps)
        cumulative = np.cumsum(shares)
        p50, p95, p99 = (
            float(1000 * durations[np.searchsorted(cumulative, share * cumulative[-1])])
            for share in (0.50, 0.95, 0.99)
        )
        longest_ms = float(1000 * (ages + rests).max())
        return BulkLatency(p50, p95, p99, longest_ms, len(ages), None, "sampled")


def durations_of(ages: Floats, rests: Floats, gaps: Floats) -> tuple[Floats, Floats]:
    """Durations in seconds, and the share of each among all requests, unseen ones included.

    `ages` are the last seen ages, `rests` the times from there to the next sample, `gaps` the times
    between samples.  The shares are estimated by expectation maximisation over intervals that are
    seen with a known probability (Vardi, Biometrika 76, 1989; Turnbull, JRSS B 38, 1976), and then
    weighted by the inverse of that probability (Horvitz and Thompson, JASA 47, 1952).
    """
    durations = _candidates(float(np.mean(gaps)), float(np.max(ages + rests)))
    chance_seen = np.minimum(gaps[:, None], durations).sum(axis=0) / gaps.sum()
    first = np.searchsorted(durations, ages)
    last = np.maximum(first, np.searchsorted(durations, ages + rests, side="right") - 1)
    candidates = np.arange(len(durations))
    fits = ((first[:, None] <= candidates) & (candidates <= last[:, None])) / chance_seen
    weights = np.full(len(durations), 1 / len(durations))
    for _ in range(_ROUNDS):
        likelihoods = fits * weights
        weights = (likelihoods / likelihoods.sum(axis=1, keepdims=True)).mean(axis=0)
    shares = weights / chance_seen
    return durations, shares / shares.sum()


def _candidates(gap_s: float, longest_s: float) -> Floats:
    """The candidate durations in seconds, for a sampling interval of `gap_s`."""
    durations = [_SHORTEST * gap_s]
    while durations[-1] < longest_s:
        durations.append(durations[-1] + min(_RATIO * durations[-1], _STEP * gap_s))
    return np.array(durations)


_ACTION = "indices:data/write/bulk"
_FIELDS = "nodes.*.tasks.*.action,nodes.*.tasks.*.running_time_in_nanos"


def bulk_tasks(client: EngineClient, timeout_s: float | None = None) -> dict[str, float]:
    """The coordinating task of each running bulk request, by name, with the seconds that it has
    run; tasks of its shards are left out."""
    # This is safe in a measurement window.  A node answers from its task list in memory and opens
    # no shard: it is not a search, which would start the refresh of an idle shard again.
    path = f"/_tasks?actions={_ACTION}&detailed=false&filter_path={_FIELDS}"
    return tasks_of(client.get(path, timeout_s))


def tasks_of(answer: object) -> dict[str, float]:
    """Read an answer to `_tasks`, with the actions and fields that `bulk_tasks` asks for."""
    return {
        name: number_at(task, "running_time_in_nanos") / 1e9
        for node in object_at(answer, "nodes").values()
        for name, task in object_at(node, "tasks").items()
        if at(task, "action") == _ACTION
    }

"""How long bulk requests took: read from the engine's histogram, or estimated from looks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from tuner.engine.bulk_times import (
    BulkTimes,
    BulkWatch,
    between,
    latency_of,
    tasks_of,
    times_of,
)
from tuner.errors import JobFailed

Floats = NDArray[np.float64]

OWN_REQUESTS = {"/_nodes/stats/{metric}": {"requests": {"count": 2}}}


def route(requests: int, size: int, *buckets: dict[str, int]) -> dict[str, object]:
    return {
        "requests": {"count": requests, "total_size_in_bytes": size},
        "responses": {"handling_time_histogram": list(buckets)},
    }


def answer(*nodes: Mapping[str, object]) -> dict[str, object]:
    return {"nodes": {f"n{place}": {"http": {"routes": one}} for place, one in enumerate(nodes)}}


def bulks(*counts: tuple[float, float, int]) -> BulkTimes:
    total = sum(count for _, _, count in counts)
    return BulkTimes(total, 1000 * total, {(begin, end): count for begin, end, count in counts})


def test_all_bulk_routes_of_all_nodes_are_added_up() -> None:
    short = {"lt_millis": 1, "count": 4}
    middle = {"ge_millis": 8, "lt_millis": 16, "count": 3}
    endless = {"ge_millis": 65536, "count": 1}
    first = {"/_bulk": route(5, 500, short, endless), "/{index}/_bulk": route(3, 30, middle)}
    second = {"/_bulk": route(4, 1, middle), "/{index}/_search": route(9, 9, middle)}
    assert times_of(answer(first, second)) == BulkTimes(
        12, 531, {(0.0, 1.0): 4, (8.0, 16.0): 6, (65536.0, math.inf): 1}
    )


def test_an_engine_without_the_histogram_is_told_from_one_without_bulks() -> None:
    """Elasticsearch 7.17 and OpenSearch answer the question with nothing at all."""
    assert times_of({}) is None
    assert times_of(answer(OWN_REQUESTS)) == BulkTimes(0, 0, {})


def test_bytes_that_the_engine_does_not_count_are_unknown_and_not_none() -> None:
    """Elasticsearch 9 has 0 there."""
    found = times_of(answer({"/_bulk": route(5, 0, {"lt_millis": 1, "count": 5})}))
    assert found is not None
    assert found.body_bytes is None
    latency = latency_of(between(BulkTimes(0, 0, {}), found))
    assert latency is not None
    assert (latency.requests, latency.mean_bytes) == (5, None)


def test_only_what_lies_between_two_looks_counts() -> None:
    before = bulks((8.0, 16.0, 3), (16.0, 32.0, 7))
    after = bulks((4.0, 8.0, 2), (8.0, 16.0, 3), (16.0, 32.0, 9))
    assert between(before, after) == bulks((4.0, 8.0, 2), (16.0, 32.0, 2))
    assert latency_of(between(before, before)) is None


def test_a_request_under_way_is_counted_and_has_no_time_yet() -> None:
    latency = latency_of(BulkTimes(3, 600, {(8.0, 16.0): 2}))
    assert latency is not None
    assert (latency.requests, latency.mean_bytes) == (2, 200.0)


@pytest.mark.parametrize(
    "after",
    [
        bulks((8.0, 16.0, 2)),
        bulks((16.0, 32.0, 9)),
        BulkTimes(2, 2000, {(8.0, 16.0): 3}),
        BulkTimes(0, 0, {}),
    ],
)
def test_a_count_that_ran_backwards_gives_no_difference(after: BulkTimes) -> None:
    with pytest.raises(JobFailed, match="restarted"):
        between(bulks((8.0, 16.0, 3)), after)


def test_percentiles_are_interpolated_inside_their_bucket() -> None:
    latency = latency_of(bulks((16.0, 32.0, 100)))
    assert latency is not None
    assert latency.p50_ms == pytest.approx(16 * math.sqrt(2))
    assert latency.p95_ms == pytest.approx(16 * 2**0.95)
    assert latency.max_ms == 32.0
    assert (latency.requests, latency.mean_bytes, latency.source) == (100, 1000.0, "histogram")


def test_percentiles_fall_into_the_bucket_that_holds_them() -> None:
    latency = latency_of(bulks((0.0, 1.0, 50), (8.0, 16.0, 45), (128.0, 256.0, 5)))
    assert latency is not None
    assert latency.p50_ms == pytest.approx(1.0)
    assert latency.p95_ms == pytest.approx(16.0)
    assert latency.p99_ms == pytest.approx(128 * 2**0.8)
    assert latency.max_ms == 256.0


def test_the_first_bucket_is_linear_and_the_last_one_ends() -> None:
    quick = latency_of(bulks((0.0, 1.0, 100)))
    assert quick is not None
    assert (quick.p50_ms, quick.p99_ms) == pytest.approx((0.5, 0.99))
    slow = latency_of(bulks((65536.0, math.inf, 100)))
    assert slow is not None
    assert 65536 < slow.p50_ms < slow.p99_ms < slow.max_ms == 131072


@pytest.mark.parametrize(("spread", "ratio"), [(0.2, 2.0), (0.6, 1.25)])
@pytest.mark.parametrize("typical_ms", [3.0, 30.0, 800.0])
def test_percentiles_of_a_histogram_are_near_the_true_ones(
    typical_ms: float, spread: float, ratio: float
) -> None:
    took_ms = typical_ms * np.exp(spread * np.random.default_rng(7).normal(size=20_000))
    edges = [0.0, *(2.0**power for power in range(17))]
    counts, _ = np.histogram(took_ms, edges)
    filled = zip(edges, edges[1:], counts, strict=False)
    latency = latency_of(bulks(*((low, high, int(n)) for low, high, n in filled if n)))
    assert latency is not None
    told = np.array([latency.p50_ms, latency.p95_ms, latency.p99_ms])
    off = told / np.percentile(took_ms, [50, 95, 99])
    assert np.all((off < ratio) & (off > 1 / ratio)), off
    assert latency.max_ms >= np.max(took_ms)


def test_only_the_task_that_coordinates_a_bulk_is_taken() -> None:
    found = {
        "a:1": {"action": "indices:data/write/bulk", "running_time_in_nanos": 96_786_477},
        "a:2": {"action": "indices:data/write/bulk[s]", "running_time_in_nanos": 90_000_000},
        "a:3": {"action": "indices:data/write/bulk[s][p]", "running_time_in_nanos": 80_000_000},
    }
    other = {"b:1": {"action": "indices:data/write/bulk", "running_time_in_nanos": 5_000_000}}
    assert tasks_of({"nodes": {"a": {"tasks": found}, "b": {"tasks": other}}}) == {
        "a:1": 0.096_786_477,
        "b:1": 0.005,
    }
    assert tasks_of({}) == {}


def watched(took_s: Floats, over_s: float, pause_s: Callable[[int], Floats]) -> BulkWatch:
    """A watch over requests that begin at random within `over_s`, until the last has ended."""
    begun = np.random.default_rng(3).uniform(0.0, over_s, len(took_s))
    ended = begun + took_s
    pauses = pause_s(int((np.max(ended) + 1) / 0.09))
    watch = BulkWatch()
    for now in np.cumsum(pauses):
        under_way = np.flatnonzero((begun < now) & (now < ended))
        watch.add(float(now), {f"n:{i}": float(now - begun[i]) for i in under_way})
    return watch


def even(looks: int) -> Floats:
    return np.full(looks, 0.1)


def uneven(looks: int) -> Floats:
    """A busy machine: every look is late by up to as much again."""
    return np.random.default_rng(5).uniform(0.1, 0.2, looks)


@pytest.mark.parametrize("pause_s", [even, uneven])
@pytest.mark.parametrize(
    ("typical_s", "spread"),
    [(0.02, 0.0), (0.03, 0.4), (0.06, 0.5), (0.12, 0.5), (0.4, 0.5), (1.0, 0.3), (2.0, 0.0)],
)
def test_sampled_percentiles_are_near_the_true_ones(
    typical_s: float, spread: float, pause_s: Callable[[int], Floats]
) -> None:
    took_s = typical_s * np.exp(spread * np.random.default_rng(11).normal(size=3000))
    assert_near(watched(took_s, 120.0, pause_s), took_s)


def test_most_are_quick_and_some_are_slow() -> None:
    random = np.random.default_rng(13)
    slow = random.uniform(size=3000) < 0.1
    took_s = np.where(slow, 0.8, 0.03) * np.exp(0.3 * random.normal(size=3000))
    assert_near(watched(took_s, 120.0, even), took_s)


def assert_near(watch: BulkWatch, took_s: Floats) -> None:
    latency = watch.latency()
    assert latency is not None
    true_ms = np.percentile(1000 * took_s, [50, 95, 99])
    assert [latency.p50_ms, latency.p95_ms, latency.p99_ms] == pytest.approx(true_ms, rel=0.15)
    assert latency.max_ms <= 1000 * np.max(took_s) + 200
    assert latency.requests <= len(took_s)
    assert (latency.mean_bytes, latency.source) == (None, "sampled")


def seen(*looks: tuple[float, Mapping[str, float]]) -> BulkWatch:
    watch = BulkWatch()
    for at_s, tasks in looks:
        watch.add(at_s, tasks)
    return watch


def test_where_nothing_was_seen_to_end_there_is_no_latency() -> None:
    under_way = {"n:1": 0.05}
    assert BulkWatch().latency() is None
    assert seen((0.0, under_way)).latency() is None
    assert seen((0.0, {}), (0.1, under_way)).latency() is None
    assert seen((0.0, {}), (0.1, {})).latency() is None


def test_a_request_that_is_not_over_is_left_out() -> None:
    latency = seen(
        (0.0, {"n:1": 0.25, "n:2": 0.02}),
        (0.1, {"n:2": 0.12}),
        (0.2, {"n:2": 0.22}),
    ).latency()
    assert latency is not None
    assert latency.requests == 1
    assert 250 < latency.p50_ms <= latency.max_ms == pytest.approx(350)


def test_two_looks_close_together_bound_a_duration_narrowly() -> None:
    looks = [(0.0, {"n:1": 1.0}), (0.1, {"n:1": 1.1})]
    latency = seen(*looks, (0.101, {}), (0.2, {})).latency()
    assert latency is not None
    assert latency.p50_ms == pytest.approx(1100, rel=0.02)

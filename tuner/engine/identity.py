"""Accounting by identity in a real engine: every document carries the number of its event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from tuner.engine.account import DeliveryCheck
from tuner.engine.client import EngineClient
from tuner.engine.path import at, number_at

FIELD = "rsyslog_tune_seq"
"""The field that documents carry while they are measured."""

MAPPING = {"type": "long", "index": False}
"""Its mapping: doc values only, the least that can be aggregated and sorted."""

_PARTITION = 10_000
_NAMED = 10


def check_by_identity(client: EngineClient, pattern: str, sent: int, shards: int) -> DeliveryCheck:
    """What became of the events 0..sent-1, after a refresh.

    In one shard a single aggregation proves that all is well: as many documents as events, no
    number twice, none outside the range; then each number is there once.  Otherwise, and where a
    number could be in two shards, every number is read.
    """
    if shards == 1 and _is_complete(client, pattern, sent):
        return DeliveryCheck(0, 0, (), ())
    return _tally(_counts(client, pattern, sent), sent)


def _is_complete(client: EngineClient, pattern: str, sent: int) -> bool:
    most = {"field": FIELD, "size": 1, "order": {"_count": "desc"}}
    body: dict[str, object] = {
        "size": 0,
        "track_total_hits": True,
        "aggs": {
            "most": {"terms": most},
            "first": {"min": {"field": FIELD}},
            "last": {"max": {"field": FIELD}},
        },
    }
    answer = client.request("POST", f"/{pattern}/_search?request_cache=false", body)
    buckets = at(answer, "aggregations", "most", "buckets")
    repeated = isinstance(buckets, list) and any(number_at(b, "doc_count") > 1 for b in buckets)
    return (
        not repeated
        and number_at(answer, "hits", "total", "value") == sent
        and number_at(answer, "aggregations", "first", "value") == 0
        and number_at(answer, "aggregations", "last", "value") == sent - 1
    )


def _counts(client: EngineClient, pattern: str, sent: int) -> Iterator[tuple[int, int]]:
    """Every number in the engine with how often it is there.

    In partitions small enough that no shard leaves a number out, so that the counts are exact
    ("Filtering values with partitions", terms aggregation).
    """
    partitions = sent // _PARTITION + 1
    for partition in range(partitions):
        part = {"partition": partition, "num_partitions": partitions}
        terms = {"field": FIELD, "size": 4 * _PARTITION, "include": part}
        body: dict[str, object] = {"size": 0, "aggs": {"numbers": {"terms": terms}}}
        answer = client.request("POST", f"/{pattern}/_search?request_cache=false", body)
        buckets = at(answer, "aggregations", "numbers", "buckets")
        for bucket in buckets if isinstance(buckets, list) else []:
            yield number_at(bucket, "key"), number_at(bucket, "doc_count")


def _tally(counts: Iterable[tuple[int, int]], sent: int) -> DeliveryCheck:
    seen = np.zeros(sent, dtype=np.int64)
    for number, times in counts:
        if 0 <= number < sent:
            seen[number] = times
    missing, doubled = np.flatnonzero(seen == 0), np.flatnonzero(seen > 1)
    return DeliveryCheck(
        lost=len(missing),
        duplicated=int((seen[doubled] - 1).sum()),
        missing=tuple(int(number) for number in missing[:_NAMED]),
        doubled=tuple(int(number) for number in doubled[:_NAMED]),
    )

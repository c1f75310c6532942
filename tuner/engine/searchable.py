"""What a search finds already, while events still come in.

A search switches on the refresh of a shard that was idle, so this belongs into a phase of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from tuner.engine.client import EngineClient, list_at, number_at
from tuner.engine.numbering import FIELD


def refreshes(client: EngineClient, pattern: str, timeout_s: float | None = None) -> int:
    """How often what is indexed was made searchable so far."""
    path = f"/{pattern}/_stats/refresh?filter_path=_all.primaries.refresh.external_total"
    answer = client.get(path, timeout_s)
    return number_at(answer, "_all", "primaries", "refresh", "external_total")


def searchable(client: EngineClient, pattern: str, width: int) -> dict[int, int]:
    """Documents that a search finds, by the number of their event: how many there are of `width`
    numbers each, under the first of these."""
    histogram = {"field": FIELD, "interval": width, "min_doc_count": 1}
    body: dict[str, object] = {"size": 0, "aggs": {"numbers": {"histogram": histogram}}}
    answer = client.request("POST", f"/{pattern}/_search?request_cache=false", body)
    return _by_key(list_at(answer, "aggregations", "numbers", "buckets"))


def counted(client: EngineClient, pattern: str, width: int) -> dict[int, int]:
    """The same of our sink, whose documents can be found the moment they arrive."""
    return _by_key(list_at(client.get(f"/_sink/{pattern}/numbers?width={width}"), "buckets"))


def _by_key(buckets: list[object]) -> dict[int, int]:
    return {number_at(one, "key"): number_at(one, "doc_count") for one in buckets}


@contextlib.contextmanager
def refreshing(client: EngineClient, pattern: str) -> Iterator[Callable[[], bool]]:
    """Refresh the indices of `pattern` from another thread; gives whether that has ended.

    The end waits for it, and raises what `EngineClient.request` does.
    """
    twin = client.twin()
    try:
        with ThreadPoolExecutor(max_workers=1) as thread:
            under_way = thread.submit(twin.request, "POST", f"/{pattern}/_refresh")
            yield under_way.done
            under_way.result()
    finally:
        twin.close()

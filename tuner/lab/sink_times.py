"""How long the sink takes for its bulk requests, counted the way Elasticsearch counts."""

from __future__ import annotations

import threading

# The routes as Elasticsearch names them.
_ROUTES = ("/_bulk", "/{index}/_bulk")
# Where the buckets end, from 1 to 65536 ms; one more has no end (its HandlingTimeTracker).
_ENDS_MS = tuple(1 << power for power in range(17))


class ReplyTimes:
    """Bulk requests by route and by how long they took; may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = {route: [0] * (len(_ENDS_MS) + 1) for route in _ROUTES}
        self._body_bytes = dict.fromkeys(_ROUTES, 0)

    def add(self, path: str, body_bytes: int, took_s: float) -> None:
        """Count a request that was answered; `took_s` is from its last byte read to its reply
        handed over to the socket."""
        route = path if path in self._counts else _ROUTES[1]
        # The bits of the whole milliseconds number the buckets: 0 | 1 | 2, 3 | 4 to 7 | ...
        bucket = min(int(1000 * took_s).bit_length(), len(_ENDS_MS))
        with self._lock:
            self._counts[route][bucket] += 1
            self._body_bytes[route] += body_bytes

    def routes(self) -> dict[str, object]:
        """What `_nodes/stats/http` says of the routes."""
        with self._lock:
            return {
                route: {
                    "requests": {
                        "count": sum(self._counts[route]),
                        "total_size_in_bytes": self._body_bytes[route],
                    },
                    "responses": {
                        "count": sum(self._counts[route]),
                        "handling_time_histogram": _histogram(self._counts[route]),
                    },
                }
                for route in _ROUTES
            }


def _histogram(counts: list[int]) -> list[dict[str, int]]:
    """The buckets; the first has no lower edge and the last no upper."""
    buckets = []
    for place, count in enumerate(counts):
        lower = {"ge_millis": _ENDS_MS[place - 1]} if place > 0 else {}
        upper = {"lt_millis": _ENDS_MS[place]} if place < len(_ENDS_MS) else {}
        buckets.append({**lower, **upper, "count": count})
    return buckets

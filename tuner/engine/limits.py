"""How large a request may be: what the nodes of a cluster say of themselves."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.engine.client import EngineClient
from tuner.engine.path import at, number_at


@dataclass(frozen=True)
class EngineLimits:
    """The smallest of each over all nodes, in bytes; None where none tells.

    `request` is `http.max_content_length`, above which a node answers 413.  `pressure` is
    `indexing_pressure.memory.limit`, the bytes of all bulks under way above which it answers 429.
    """

    request: int | None
    pressure: int | None


def limits(client: EngineClient) -> EngineLimits:
    """What every node of the cluster can take; the defaults are worked out by the nodes."""
    return EngineLimits(
        request=_least(client, "/_nodes/http", ("http", "max_content_length_in_bytes")),
        pressure=_least(
            client,
            "/_nodes/stats/indexing_pressure",
            ("indexing_pressure", "memory", "limit_in_bytes"),
        ),
    )


def _least(client: EngineClient, path: str, keys: tuple[str, ...]) -> int | None:
    answer = client.get(f"{path}?filter_path=nodes.*.{'.'.join(keys)}").get("nodes")
    nodes = answer.values() if isinstance(answer, dict) else ()
    told = [number_at(node, *keys) for node in nodes if at(node, *keys) is not None]
    return min((one for one in told if one > 0), default=None)

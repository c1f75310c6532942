"""What an engine says of itself: name, version, nodes, and how large a request may be."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from tuner.engine.client import EngineClient, EngineRefused, at, number_at, object_at
from tuner.errors import JobFailed, Unreachable

_POLL_S = 0.25
_VERSION = re.compile(r"[0-9]{1,4}\.[0-9]{1,4}[0-9A-Za-z.+_-]{0,30}")
_LONGEST_NAME = 40
SILENCE_S = 3.0
"""So long may an engine at work take to answer a short question."""


@dataclass(frozen=True)
class EngineFacts:
    """What the engine says of itself; `processors` are those that its nodes together may use, by
    their CPU affinity, their control group or `node.processors`."""

    distribution: str
    version: str
    data_nodes: int
    processors: int


def facts(client: EngineClient) -> EngineFacts:
    """Distribution, version and data nodes.

    Elasticsearch's minimal distributions answer `GET /` with 405 from 8.17 on, so the version
    comes from `_nodes/_local`; only OpenSearch names itself under `GET /`.
    """
    nodes = object_at(client.get("/_nodes/_local?filter_path=nodes.*.version"), "nodes")
    version = str(at(next(iter(nodes.values()), None), "version"))
    if _VERSION.fullmatch(version) is None:
        raise JobFailed(f"{client.url} answers, but not like Elasticsearch or OpenSearch")
    try:
        distribution = at(client.get("/"), "version", "distribution")
    except EngineRefused:
        distribution = None
    health = client.get("/_cluster/health?filter_path=number_of_data_nodes")
    answer = client.get("/_nodes/os?filter_path=nodes.*.os.allocated_processors")
    machines = object_at(answer, "nodes").values()
    return EngineFacts(
        distribution=str(distribution or "elasticsearch")[:_LONGEST_NAME],
        version=version,
        data_nodes=number_at(health, "number_of_data_nodes"),
        processors=sum(number_at(node, "os", "allocated_processors") for node in machines),
    )


def answers(client: EngineClient) -> bool:
    """Whether the engine answers the version probe."""
    try:
        client.get("/_nodes/_local?filter_path=nodes.*.version", SILENCE_S)
    except (Unreachable, EngineRefused):
        return False
    return True


def node_count(client: EngineClient) -> int:
    """How many nodes belong to the cluster, as the node asked knows; 0 when it does not answer."""
    try:
        return len(object_at(client.get("/_nodes?filter_path=nodes.*.name", SILENCE_S), "nodes"))
    except (Unreachable, EngineRefused):
        return 0


@dataclass(frozen=True)
class LostShards:
    """How many shards of some indices have no copy left, of how many."""

    lost: int
    shards: int

    def __str__(self) -> str:
        return f"the index is red: no copy is left of {self.lost} of its {self.shards} shards"


def lost_shards(client: EngineClient, pattern: str, patience_s: float) -> LostShards | None:
    """What the indices of `pattern` lost, where a copy of each shard is not found again within
    `patience_s`; None where each has one."""
    path = f"/_cluster/health/{pattern}?level=indices"
    deadline = time.monotonic() + patience_s
    while True:
        health = client.get(path)
        indices = object_at(health, "indices").values()
        shards = sum(number_at(index, "number_of_shards") for index in indices)
        lost = shards - number_at(health, "active_primary_shards")
        if lost == 0 or time.monotonic() > deadline:
            return LostShards(lost, shards) if lost else None
        time.sleep(_POLL_S)


def has(client: EngineClient, path: str) -> bool:
    """Whether the engine has what answers at `path`: an engine without it, as minimal
    distributions have no policies, answers 400, 404 or 405."""
    try:
        client.request("GET", path)
    except EngineRefused as error:
        if error.status in {400, 404, 405}:
            return False
        raise
    return True


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
    answer = client.get(f"{path}?filter_path=nodes.*.{'.'.join(keys)}")
    values = (number_at(node, *keys) for node in object_at(answer, "nodes").values())
    return min((value for value in values if value > 0), default=None)

"""Which engine answers at an address."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.engine.client import EngineClient, EngineRefused
from tuner.engine.path import at, number_at
from tuner.errors import JobFailed, Unreachable


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
    nodes = client.get("/_nodes/_local?filter_path=nodes.*.version").get("nodes")
    if not isinstance(nodes, dict) or not nodes:
        raise JobFailed(f"{client.url} answers, but not like Elasticsearch or OpenSearch")
    version = str(at(next(iter(nodes.values())), "version"))
    try:
        distribution = at(client.get("/"), "version", "distribution")
    except EngineRefused:
        distribution = None
    health = client.get("/_cluster/health?filter_path=number_of_data_nodes")
    return EngineFacts(
        distribution=str(distribution or "elasticsearch"),
        version=version,
        data_nodes=number_at(health, "number_of_data_nodes"),
        processors=_processors(client),
    )


def _processors(client: EngineClient) -> int:
    answer = client.get("/_nodes/os?filter_path=nodes.*.os.allocated_processors")
    nodes = answer.get("nodes")
    each = nodes.values() if isinstance(nodes, dict) else ()
    return sum(number_at(node, "os", "allocated_processors") for node in each)


def answers(client: EngineClient, timeout_s: float | None = None) -> bool:
    """Whether the engine answers the version probe."""
    try:
        client.get("/_nodes/_local?filter_path=nodes.*.version", timeout_s)
    except (Unreachable, EngineRefused):
        return False
    return True


def has(client: EngineClient, path: str) -> bool:
    """Whether the engine has what answers at `path`: where it has not, as minimal distributions
    have no policies, it says so with 400, 404 or 405."""
    try:
        client.request("GET", path)
    except EngineRefused as error:
        if error.status in {400, 404, 405}:
            return False
        raise
    return True

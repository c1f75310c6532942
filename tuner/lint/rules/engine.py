"""Lint for what reaches the engine: durability, settings, documents."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.engines.heap import heap_bytes
from tuner.lint.rules.settings import SETTINGS, setting_path
from tuner.lint.rules.transport import REMOTE, remote_servers
from tuner.profile.model import Profile, Tier
from tuner.rule import Complaint, advice, error, loss, warning
from tuner.schema.units import seconds

_LARGEST_HEAP = "31g"


@error(
    "RT301",
    why="async acknowledges before anything is on disk: a crash of the engine, or a kill, loses "
    "acknowledged events since the last synchronisation.",
    source="Elasticsearch, index modules: translog",
    bad={f"{SETTINGS}.translog.durability": "async"},
    good={f"{SETTINGS}.translog.durability": "request"},
)
def _async_translog(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        durability = output.index.settings.translog_durability
        if durability == "async" and profile.guardrails.tier is Tier.DURABLE:
            yield Complaint(
                setting_path(number, "translog.durability"),
                "async loses acknowledged events when the engine crashes, which the durable tier "
                "forbids: use request, or set guardrails.tier to relaxed",
            )


@loss(
    "RT302",
    why="A shard without a replica is lost with its disk.",
    source="Elasticsearch, reliability",
    bad={**REMOTE, f"{SETTINGS}.number_of_replicas": 0},
    good={f"{SETTINGS}.number_of_replicas": 1},
)
def _no_replicas(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        none = output.index.settings.number_of_replicas == 0
        if none and profile.guardrails.tier is Tier.DURABLE and remote_servers(output):
            yield Complaint(
                setting_path(number, "number_of_replicas"),
                "without a replica a lost disk loses its events, which the durable tier forbids: "
                "use 1",
            )


@warning(
    "RT307",
    why="A search finds an event only after a refresh, so a long interval breaks the promised "
    "freshness.",
    source="Elasticsearch, index.refresh_interval",
    bad={"guardrails.freshness_p99_s": 45, f"{SETTINGS}.refresh_interval": "45s"},
    good={f"{SETTINGS}.refresh_interval": "44s"},
)
def _refresh_beyond_freshness(profile: Profile) -> Iterator[Complaint]:
    bound_s = profile.guardrails.freshness_p99_s
    for number, output in profile.enumerated:
        interval = output.index.settings.refresh_interval
        waits_s = seconds(interval)
        if interval == "-1" or (waits_s is not None and waits_s >= bound_s):
            yield Complaint(
                setting_path(number, "refresh_interval"),
                f"{interval} hides events from searches for longer than guardrails.freshness_p99_s "
                f"allows ({bound_s:g} s): use less, or allow more",
            )


@advice(
    "RT308",
    why="Near 32 GB Java stops compressing object pointers, and every reference takes 8 bytes "
    "instead of 4.",
    source="Elasticsearch, heap size settings",
    bad={"node.heap": "31745m"},
    good={"node.heap": _LARGEST_HEAP},
)
def _large_heap(profile: Profile) -> Iterator[Complaint]:
    """Elasticsearch sizes its own heap to 31 GB at most."""
    heap = profile.node.heap
    if heap_bytes(heap) > heap_bytes(_LARGEST_HEAP):
        yield Complaint(
            ("node", "heap"),
            f"a heap of {heap} loses Java's compressed object pointers and holds less than one of "
            f"{_LARGEST_HEAP}: use at most {_LARGEST_HEAP}, the rest of the memory serves as page "
            "cache",
        )


@warning(
    "RT338",
    why="No node holds two copies of a shard, so the lab measures with fewer replicas.",
    source="Elasticsearch, SameShardAllocationDecider",
    bad={f"{SETTINGS}.number_of_replicas": 2, "lab.nodes": 2},
    good={"lab.nodes": 3},
)
def _too_few_lab_nodes(profile: Profile) -> Iterator[Complaint]:
    nodes = profile.lab.nodes
    copies = 1 + max((one.index.settings.number_of_replicas for one in profile.indexed), default=0)
    if 1 < nodes < copies:
        yield Complaint(
            ("lab", "nodes"),
            f"{nodes} nodes hold {nodes} copies of a shard, number_of_replicas asks for {copies}: "
            f"the lab measures with {nodes - 1} replicas; use {copies} nodes",
        )


@error(
    "RT334",
    why="The node does not start.",
    source="Elasticsearch, thread pools: write has at most the number of processors + 1",
    bad={"node.node.processors": 4, "node.thread_pool.write.size": 6},
    good={"node.thread_pool.write.size": 5},
)
def _too_many_threads(profile: Profile) -> Iterator[Complaint]:
    node = profile.node
    if node.node_processors is None or node.thread_pool_write_size is None:
        return
    most = node.node_processors + 1
    if node.thread_pool_write_size > most:
        yield Complaint(
            ("node", "thread_pool.write.size"),
            f"a node with {node.node_processors} processors does not start with more than {most} "
            f"write threads: use at most {most}",
        )

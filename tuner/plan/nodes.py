"""How many data nodes hold and index what arrives, and how an index is split over them."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.plan.collectors import SPARE, whole
from tuner.plan.inputs import SHARD_DOCUMENTS, Inputs
from tuner.plan.scaling import Split, split

# 15 % under the low disk watermark of 85 % and 10 % for errors and background work such as merges:
# Elastic, "Benchmarking and sizing your Elasticsearch cluster for logs and metrics".
DISK_ROOM = 0.25
# cluster.max_shards_per_node of both engines; 25 shards per GiB of heap: AWS, OpenSearch lens,
# AOSPERF01-BP01, with 31 GiB of heap.
_SHARDS_PER_NODE = min(1000, 25 * 31)


@dataclass(frozen=True)
class Processing:
    """Data nodes that index the peak with headroom: in all, and in each of so many clusters; more
    than one where the law of scaling lets no number of nodes carry it."""

    nodes: int
    clusters: int
    cores_busy: float | None


@dataclass(frozen=True)
class DataNodes:
    """`count` is one more than the largest of what processing, disks and shards need, so that one
    may fail; `decided_by` names that one.

    `disk_bytes` is space on all nodes together, with what must stay free; `stored_bytes` what the
    indices take of it, replicas included.
    """

    count: int
    decided_by: str
    by_processing: int
    by_disk: int
    by_shards: int
    by_replicas: int
    stored_bytes: float
    disk_bytes: float
    clusters: int
    cores_busy: float | None


def processing(inputs: Inputs, peak_eps: float) -> Processing:
    """Every copy of an event is indexed anew, so replicas multiply the work."""
    writes = peak_eps * (1 + inputs.replicas.value)
    wanted = writes / (1 - inputs.headroom.value)
    law = None if inputs.scaling is None else inputs.scaling.law
    parts = split(law, wanted) if law else Split(1, whole(wanted / inputs.node.eps.value))
    cpu = inputs.node.cpu_us
    busy = None if cpu is None else writes * cpu.value / 1e6
    return Processing(parts.groups * parts.machines, parts.groups, busy)


def data_nodes(
    inputs: Inputs, work: Processing, stored_bytes: float, kept_shards: int
) -> DataNodes:
    """As many as processing, disks, shards and replicas need, and one more."""
    disk = stored_bytes * (1 + DISK_ROOM)
    needs = {
        "processing": work.nodes,
        "disk": whole(disk / inputs.node_disk_bytes.value),
        "shards": whole(kept_shards / _SHARDS_PER_NODE),
        "replicas": int(inputs.replicas.value) + 1,
    }
    decides = max(needs, key=lambda name: needs[name])
    return DataNodes(
        count=needs[decides] + SPARE * work.clusters,
        decided_by=decides,
        by_processing=needs["processing"],
        by_disk=needs["disk"],
        by_shards=needs["shards"],
        by_replicas=needs["replicas"],
        stored_bytes=stored_bytes,
        disk_bytes=disk,
        clusters=work.clusters,
        cores_busy=work.cores_busy,
    )


# ILM looks every 10 minutes (indices.lifecycle.poll_interval), so what fills much faster than this
# is rolled over late.
_LEAST_S = 7200.0
# An index is deleted whole: with one that lasts a tenth of the retention, a tenth more is kept.
_LONGEST_SHARE = 0.1


@dataclass(frozen=True)
class Shards:
    """`primaries` is what an index has, so that every node that the peak needs writes, and an index
    lasts two hours.  It rolls over after `rollover_s`, when each of its shards holds
    `documents_each`, for `limit`: size, documents or age.

    `kept_s` of events are kept, because an index goes as a whole; `kept` counts all shards of that
    time, replicas included.
    """

    primaries: int
    documents_each: float
    bytes_each: float
    limit: str
    rollover_s: float
    kept_s: float
    kept: int


def shards(inputs: Inputs, work: Processing, mean_eps: float) -> Shards:
    """Shards for `mean_eps` events per second."""
    copies = 1 + inputs.replicas.value
    by_size = inputs.shard_bytes.value / inputs.store_bytes.value
    full = min(by_size, float(SHARD_DOCUMENTS))
    limit = "size" if by_size < SHARD_DOCUMENTS else "documents"
    longest_s = inputs.retention_s.value * _LONGEST_SHARE
    fills = mean_eps * min(_LEAST_S, longest_s) / full
    primaries = max(whole(work.nodes / copies), whole(fills))
    rollover_s = primaries * full / mean_eps
    if rollover_s > longest_s:
        rollover_s, limit = longest_s, "age"
    kept_s = inputs.retention_s.value + rollover_s
    documents = mean_eps * rollover_s / primaries
    return Shards(
        primaries=primaries,
        documents_each=documents,
        bytes_each=documents * inputs.store_bytes.value,
        limit=limit,
        rollover_s=rollover_s,
        kept_s=kept_s,
        kept=int(whole(kept_s / rollover_s) * primaries * copies),
    )

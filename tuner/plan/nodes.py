"""How many data nodes the engine needs, and which of their limits decides."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.plan import reference
from tuner.plan.collectors import whole
from tuner.plan.inputs import Inputs
from tuner.plan.scaling import Split, split

SPARE = 1


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
    disk = stored_bytes * (1 + reference.DISK_ROOM)
    least = min(reference.SHARDS_PER_NODE, reference.SHARDS_BY_HEAP)
    needs = {
        "processing": work.nodes,
        "disk": whole(disk / inputs.node_disk_bytes.value),
        "shards": whole(kept_shards / least),
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

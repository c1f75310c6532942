"""A plan: machines, shards, queues, space and network for a stream of events."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.plan.collectors import Collectors, Outage, collectors, outage
from tuner.plan.inputs import Inputs
from tuner.plan.network import Network, network
from tuner.plan.nodes import DataNodes, data_nodes, processing
from tuner.plan.shards import Shards, shards
from tuner.plan.space import Sizes, Space, over_time


@dataclass(frozen=True)
class Plan:
    """What a stream needs that has `mean_eps` events per second and `peak_eps` when it is busiest,
    growth included."""

    mean_eps: float
    peak_eps: float
    collectors: Collectors
    outage: Outage
    data_nodes: DataNodes
    shards: Shards
    network: Network
    space: tuple[Space, ...]


def plan(inputs: Inputs) -> Plan:
    """Everything that follows from the inputs."""
    mean = inputs.rate.value * (1 + inputs.growth.value)
    peak = mean * inputs.peak.value
    copies = 1 + inputs.replicas.value
    store = inputs.store_bytes.value
    hosts = collectors(inputs, peak)
    work = processing(inputs, peak)
    split = shards(inputs, work, mean)
    nodes = data_nodes(inputs, work, mean * split.kept_s * store * copies, split.kept)
    message = inputs.message_bytes.value
    each = Sizes(message, store, store * copies, message / inputs.gzip_ratio.value)
    return Plan(
        mean_eps=mean,
        peak_eps=peak,
        collectors=hosts,
        outage=outage(inputs, hosts),
        data_nodes=nodes,
        shards=split,
        network=network(inputs, peak, hosts, nodes.by_processing),
        space=over_time(mean, each),
    )

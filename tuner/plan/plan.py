"""Capacity on paper: all that a stream needs, and the space that it takes over time; pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tuner.plan.collectors import (
    Collectors,
    Network,
    Outage,
    collectors,
    load_hosts,
    network,
    outage,
)
from tuner.plan.inputs import Inputs, Request, inputs_of
from tuner.plan.measured import Measured, Sample
from tuner.plan.nodes import DataNodes, Shards, data_nodes, processing, shards

# Days have 24 hours, a month 30 days, a year 365.
#
# The table of 2012 that this one can be laid beside (ELMA appliance tests: 10,000 messages of 244
# bytes per second) is right up to the week, 6,048 million messages.  Its month, 181,440 million, is
# 30 weeks, and its year, 2,177,280 million, twelve of those.  Its gzip files, 822 GB a year, follow
# from 0.29 MB per 100,000 messages and a year of 336 days (twelve months of four weeks), its MB and
# GB being powers of 1024.  Its 96.9 TB a year for Elasticsearch need 35.0 MB per 100,000 messages
# in that year; the same tests measured 23.44 MB, 246 bytes an event.
PERIODS = (
    ("second", 1),
    ("minute", 60),
    ("hour", 3600),
    ("day", 86_400),
    ("week", 7 * 86_400),
    ("month", 30 * 86_400),
    ("year", 365 * 86_400),
)


@dataclass(frozen=True)
class DiskSpace:
    """Events of a period and their bytes: as messages, in the primaries of an engine, with its
    replicas, and in gzip files."""

    period: str
    seconds: int
    events: float
    message_bytes: float
    primary_bytes: float
    engine_bytes: float
    gzip_bytes: float


@dataclass(frozen=True)
class Sizes:
    """Bytes of one event, each as in Space."""

    message: float
    primary: float
    engine: float
    gzip: float


def space(rate: float, each: Sizes, period: str, seconds: int) -> DiskSpace:
    """What `rate` events per second come to in so many seconds."""
    events = rate * seconds
    return DiskSpace(
        period=period,
        seconds=seconds,
        events=events,
        message_bytes=events * each.message,
        primary_bytes=events * each.primary,
        engine_bytes=events * each.engine,
        gzip_bytes=events * each.gzip,
    )


def over_time(rate: float, each: Sizes) -> tuple[DiskSpace, ...]:
    """A second, minute, hour, day, week, month and year of `rate` events per second."""
    return tuple(space(rate, each, name, seconds) for name, seconds in PERIODS)


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
    space: tuple[DiskSpace, ...]
    load_hosts: int | None = None


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
        load_hosts=load_hosts(inputs, peak),
    )


@dataclass(frozen=True)
class PlanRange:
    """The plan with the least and with the most CPU per event that one of several machines
    measured."""

    low: Plan
    high: Plan


def plan_range(request: Request, found: Measured, sample: Sample | None) -> PlanRange | None:
    """How far what machines measured leaves the plan open; None where less than two did: nothing
    then tells how much machines differ."""
    if not found.machines:
        return None
    low, high = (
        plan(inputs_of(request, _with_costs(found, choose), sample)) for choose in (min, max)
    )
    return PlanRange(low, high)


def _with_costs(found: Measured, choose: Callable[[list[float]], float]) -> Measured:
    """What was measured, with the cost that `choose` takes of those of the machines."""
    shipper = [one.shipper_us for one in found.machines if one.shipper_us is not None]
    engine = [one.engine_us for one in found.machines if one.engine_us is not None]
    return replace(
        found,
        shipper_us=choose(shipper) if shipper else None,
        engine_us=choose(engine) if engine else None,
    )

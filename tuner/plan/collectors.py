"""How many hosts run rsyslog, what each of them holds and connects to, and what the network
carries."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tuner.plan.inputs import Inputs

SPARE = 1


@dataclass(frozen=True)
class Collectors:
    """`needed` carry the peak, `count` has one more, so that one may fail.

    What is told of each is for the time when one has failed: events per second, the share of its
    capacity, HTTP connections to the engine, and sessions of senders (None when their number was
    not given).  `cores_busy` is CPU of all together at the peak, None where it is not known.
    """

    needed: int
    count: int
    eps_each: float
    utilisation: float
    connections_each: int
    connections: int
    sessions_each: int | None
    cores_busy: float | None


def collectors(inputs: Inputs, peak_eps: float) -> Collectors:
    """As many as carry `peak_eps` events per second with headroom, and one more."""
    carried = inputs.collector.eps.value
    needed = whole(peak_eps / (carried * (1 - inputs.headroom.value)))
    each = peak_eps / needed
    connections = whole(each * inputs.connection_us.value / 1e6)
    senders = inputs.senders
    cpu = inputs.collector.cpu_us
    return Collectors(
        needed=needed,
        count=needed + SPARE,
        eps_each=each,
        utilisation=each / carried,
        connections_each=connections,
        connections=connections * (needed + SPARE),
        sessions_each=None if senders is None else whole(senders.value / needed),
        cores_busy=None if cpu is None else peak_eps * cpu.value / 1e6,
    )


@dataclass(frozen=True)
class Outage:
    """What the queues of one collector must hold while the engine takes nothing, when one
    collector has failed and the rate is at its peak: events, their bytes in memory or in queue
    files, and bytes per second written to those.  `files_bytes` is the files of all.

    `catch_up_s` is how long the backlog then takes, at the peak rate, with the headroom.
    """

    events_each: float
    memory_bytes_each: float
    file_bytes_each: float
    file_bytes_per_second_each: float
    files_bytes: float
    catch_up_s: float


def outage(inputs: Inputs, found: Collectors) -> Outage:
    """What an outage of the engine leaves with the collectors."""
    events = found.eps_each * inputs.outage_s.value
    file_bytes = inputs.queue_file_bytes.value
    spare = inputs.headroom.value
    return Outage(
        events_each=events,
        memory_bytes_each=events * inputs.queue_memory_bytes.value,
        file_bytes_each=events * file_bytes,
        file_bytes_per_second_each=found.eps_each * file_bytes,
        files_bytes=events * file_bytes * found.count,
        catch_up_s=inputs.outage_s.value * (1 - spare) / spare,
    )


def whole(value: float) -> int:
    """The next whole number, at least 1; what is above one by rounding alone counts as that one."""
    return max(1, math.ceil(value - 1e-9))


def load_hosts(inputs: Inputs, peak_eps: float) -> int | None:
    """How many hosts send the peak to try it: a sender is one process and uses one core at most,
    of which the headroom stays free; None where what an event costs it was not measured."""
    if inputs.load_us is None:
        return None
    return whole(peak_eps * inputs.load_us.value / 1e6 / (1 - inputs.headroom.value))


# The line feed, or about as much for a count of octets.
_FRAMING_BYTES = 1


@dataclass(frozen=True)
class Network:
    """Payload bits per second, without the headers of TCP and IP and without compression: from
    senders to all collectors and to one when another has failed, from those to the engine, and
    what each data node that indexes takes in of bulks, of events for its primaries and of their
    replicas."""

    senders_bits: float
    collector_in_bits: float
    collector_out_bits: float
    engine_bits: float
    node_in_bits: float


def network(inputs: Inputs, peak_eps: float, found: Collectors, nodes: int) -> Network:
    """The bits of `peak_eps` events per second, which any node may receive and must pass on to the
    one with their primary and from there to the replicas."""
    received = (inputs.message_bytes.value + _FRAMING_BYTES) * 8
    sent = inputs.bulk_bytes.value * 8
    passed_on = (nodes - 1) / nodes
    return Network(
        senders_bits=peak_eps * received,
        collector_in_bits=found.eps_each * received,
        collector_out_bits=found.eps_each * sent,
        engine_bits=peak_eps * sent,
        node_in_bits=peak_eps * sent * (1 + passed_on + inputs.replicas.value) / nodes,
    )

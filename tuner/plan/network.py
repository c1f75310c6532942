"""What crosses the network at the peak."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.plan.collectors import Collectors
from tuner.plan.inputs import Inputs

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

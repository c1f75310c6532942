"""How an index is split and how often a new one begins."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.plan import reference
from tuner.plan.collectors import whole
from tuner.plan.inputs import Inputs
from tuner.plan.nodes import Processing

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
    full = min(by_size, float(reference.SHARD_DOCUMENTS))
    limit = "size" if by_size < reference.SHARD_DOCUMENTS else "documents"
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

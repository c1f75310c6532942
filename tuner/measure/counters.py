"""What rsyslogd, engine, sender and machine counted at one time, and how much that grew."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tuner.engine.bulk_times import BulkLatency, BulkTimes, between, bulk_times, latency_of
from tuner.engine.status import index_counters, node_counters
from tuner.errors import JobFailed
from tuner.flood.flood import Flood
from tuner.host.usage import CoreTime, Load, Threads, core_time, growth, thread_cpu, thread_loads
from tuner.lab.loads import LoadCounts
from tuner.lab.probe import Pieces
from tuner.measure.pipeline import Pipeline
from tuner.measure.window import Poll
from tuner.modules.pstats import Snapshot


@dataclass(frozen=True, kw_only=True)
class _Counted:
    """What only ever grows.

    Throttle times are milliseconds of the primaries (`merges.total_throttled_time_in_millis`,
    `indexing.throttle_time_in_millis`), `rejected` what the engine turned away of bulk requests,
    `probe` the fixed work that was done meanwhile, None where there is no probe; `receiver_cpu_s`
    is of what takes the messages that a base forwards; `load_hosts` are those that the senders are
    on, by name, where they are not on this machine.
    """

    machine: CoreTime
    shipper_cpu_s: float
    sender_cpu_s: float
    sender_blocked_s: float
    engine_cpu_s: float
    receiver_cpu_s: float = 0.0
    rejected: int
    index_throttled_ms: int
    merge_throttled_ms: int
    refreshes: int
    bulk: BulkTimes | None
    probe: Pieces | None = None
    load_hosts: Mapping[str, LoadCounts] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Counters(_Counted):
    """Everything that was counted up to one time: `at_s` is monotonic, `epoch_s` the same time in
    seconds since 1970, which impstats writes.

    What is polled ten times a second (Poll) and what rsyslogd writes by itself once a second
    (Snapshot) are types of their own: they are read at times of their own, and lie between two of
    these.
    """

    at_s: float
    epoch_s: float
    threads: Threads

    def since(self, before: Counters) -> Growth:
        """How much everything grew since `before`.  Raises JobFailed where a node of the engine
        restarted in between."""
        if self.engine_cpu_s < before.engine_cpu_s:
            raise JobFailed(
                f"the engine's CPU time ran backwards from {before.engine_cpu_s:.1f} to "
                f"{self.engine_cpu_s:.1f} s: a node restarted; measure again"
            )
        passed_s = self.at_s - before.at_s
        apart = {"at_s", "epoch_s", "threads", "bulk"}
        counts = {name: count for name, count in vars(self).items() if name not in apart}
        return Growth(
            passed_s=passed_s,
            clock_s=self.epoch_s - before.epoch_s,
            loads=thread_loads(before.threads, self.threads, passed_s),
            bulk=between(before.bulk, self.bulk) if before.bulk and self.bulk else None,
            **growth(counts, vars(before)),
        )


@dataclass(frozen=True, kw_only=True)
class Growth(_Counted):
    """By how much counters grew in `passed_s` seconds, in which the clock went `clock_s`; `loads`
    is in cores by the names of threads."""

    passed_s: float
    clock_s: float
    loads: Mapping[str, Load]


@dataclass(frozen=True)
class Window:
    """The part of a run that is judged: counters at both ends, and the polls in between: `samples`
    and, while the refresh that ends it went on, `paying`; and rsyslogd's own counters, which may
    reach beyond it.

    `sampled` is how long bulk requests took where the engine keeps no histogram of it.
    """

    before: Counters
    after: Counters
    samples: Sequence[Poll]
    paying: Sequence[Poll] = ()
    snapshots: Sequence[Snapshot] = ()
    sampled: BulkLatency | None = None

    @property
    def whole(self) -> Sequence[Poll]:
        """All polls, from end to end."""
        return (*self.samples, *self.paying)

    @property
    def growth(self) -> Growth:
        """How much the counters grew over it."""
        return self.after.since(self.before)

    @property
    def bulk(self) -> BulkLatency | None:
        """How long bulk requests took; None where nothing tells."""
        bulk = self.growth.bulk
        return self.sampled if bulk is None else latency_of(bulk)


def counters_now(pipe: Pipeline, flood: Flood, timeout_s: float) -> Counters:
    """Read everything now; an engine gets `timeout_s` to answer."""
    lab = pipe.lab
    shipper = pipe.rsyslogd.usage()
    engine = node_counters(lab.client, timeout_s)
    index = index_counters(lab.client, pipe.pattern)
    bulk = bulk_times(lab.client, pipe.pattern, timeout_s)
    progress = flood.progress()
    return Counters(
        at_s=time.monotonic(),
        epoch_s=time.time(),
        threads=thread_cpu(pipe.rsyslogd.pid),
        machine=core_time(),
        shipper_cpu_s=shipper.cpu_s,
        sender_cpu_s=progress.cpu_seconds,
        sender_blocked_s=progress.blocked_seconds,
        engine_cpu_s=engine.cpu_ms / 1000,
        receiver_cpu_s=0.0 if pipe.receiver is None else pipe.receiver.cpu_s,
        rejected=engine.rejected,
        index_throttled_ms=index.throttle_ms,
        merge_throttled_ms=index.merge_throttled_ms,
        refreshes=index.refreshes,
        bulk=bulk,
        probe=None if lab.probe is None else lab.probe.pieces(),
        load_hosts=flood.loads(),
    )

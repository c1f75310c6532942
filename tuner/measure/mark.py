"""What had been used at one edge of the window, and what lies between two edges."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from tuner.engine.bulk_times import BulkLatency, BulkTimes, between, bulk_times, latency_of
from tuner.engine.counters import IndexCounters, NodeCounters, index_counters, node_counters
from tuner.flood.flood import Flood, Progress
from tuner.host.machine import core_time
from tuner.host.threads import thread_cpu
from tuner.host.usage import Usage, cores
from tuner.lab.impstats import Snapshot
from tuner.lab.lab import Lab
from tuner.measure.bottleneck import Verdict, judge
from tuner.measure.debt import Load
from tuner.measure.effective import Effective, Glimpse, effective
from tuner.measure.pipeline import Pipeline
from tuner.measure.stages import Look, Machines, Sighting, stages_of
from tuner.measure.window import Sample
from tuner.profile.model import Profile
from tuner.space.knobs import knobs


@dataclass(frozen=True)
class Mark:
    """What rsyslogd, the engine, the sender and each stage had used at one moment."""

    shipper: Usage
    engine: NodeCounters
    index: IndexCounters
    bulk: BulkTimes | None
    flood: Progress
    look: Look


@dataclass(frozen=True)
class Between:
    """What happened between two marks: the samples of the window and, while the refresh that ends
    it went on, of `paying`; and rsyslogd's own counters.

    `sampled` is how long bulk requests took where the engine keeps no histogram of it.
    """

    before: Mark
    after: Mark
    samples: Sequence[Sample]
    paying: Sequence[Sample]
    snapshots: Sequence[Snapshot]
    sampled: BulkLatency | None = None

    @property
    def whole(self) -> Sequence[Sample]:
        """All samples, from mark to mark."""
        return (*self.samples, *self.paying)


def take_mark(lab: Lab, pipe: Pipeline, flood: Flood, timeout_s: float) -> Mark:
    """Look at everything at this moment; an engine gets `timeout_s` to answer."""
    shipper = pipe.rsyslogd.usage()
    engine = node_counters(lab.client, timeout_s)
    index = index_counters(lab.client, pipe.pattern)
    bulk = bulk_times(lab.client, timeout_s)
    progress = flood.progress()
    look = Look(
        at_s=time.monotonic(),
        epoch_s=time.time(),
        threads=thread_cpu(pipe.rsyslogd.pid),
        machine=core_time(),
        shipper_cpu_s=shipper.cpu_s,
        sender_cpu_s=progress.cpu_seconds,
        sender_blocked_s=progress.blocked_seconds,
        engine_cpu_s=engine.cpu_ms / 1000,
        rejected=engine.rejected,
        index_throttled_ms=index.throttle_ms,
        merge_throttled_ms=index.merge_throttled_ms,
    )
    return Mark(shipper, engine, index, bulk, progress, look)


def load_between(seen: Between, lab: Lab) -> Load:
    """What the pipeline used and nobody used between two marks: of this machine or, where the
    engine is on another one, of the processors that it has there."""
    before, after = seen.before.look, seen.after.look
    passed_s = after.at_s - before.at_s
    engine = (after.engine_cpu_s - before.engine_cpu_s) / passed_s
    if not lab.is_here:
        return Load(engine, max(0.0, lab.engine.facts.processors - engine))
    shipper = (after.shipper_cpu_s - before.shipper_cpu_s) / passed_s
    sender = (after.sender_cpu_s - before.sender_cpu_s) / passed_s
    busy = (after.machine.busy_s - before.machine.busy_s) / passed_s
    return Load(engine + shipper + sender, max(0.0, cores() - busy))


def verdict_between(seen: Between, lab: Lab, profile: Profile) -> Verdict | None:
    """What limited the pipeline; None for an engine on another machine, whose cores we cannot
    see."""
    if not lab.is_here:
        return None
    latency = _latency(seen)
    sighting = Sighting(
        seen.before.look,
        seen.after.look,
        seen.whole,
        seen.snapshots,
        latency.p50_ms if latency is not None else None,
    )
    dimensions = knobs(profile)
    stages = stages_of(
        sighting,
        profile,
        Machines(cores(), min(cores(), lab.engine.facts.processors), engine_is_here=True),
    )
    return judge(stages, lab.engine.turns(dimensions))


def effective_between(seen: Between, profile: Profile) -> Effective:
    """What was effective beside what `profile`, as bound, configures."""
    before, after = seen.before, seen.after
    return effective(
        profile,
        (before.look, after.look),
        (_glimpse(before), _glimpse(after)),
        seen.snapshots,
        _latency(seen),
        seen.whole[-1].indexed - seen.whole[0].indexed,
    )


def _latency(seen: Between) -> BulkLatency | None:
    if seen.before.bulk is None or seen.after.bulk is None:
        return seen.sampled
    return latency_of(between(seen.before.bulk, seen.after.bulk))


def _glimpse(mark: Mark) -> Glimpse:
    requests = None if mark.bulk is None else mark.bulk.requests
    return Glimpse(requests, mark.index.refreshes)

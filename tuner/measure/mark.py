"""What had been used at one edge of the window, and what limits the pipeline between two."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from tuner.engine.counters import NodeCounters, index_counters, node_counters
from tuner.flood.flood import Flood, Progress
from tuner.host.allow import is_loopback
from tuner.host.machine import core_time
from tuner.host.threads import thread_cpu
from tuner.host.usage import Usage, cores
from tuner.lab.impstats import read
from tuner.lab.lab import Lab
from tuner.measure.bottleneck import Verdict, judge
from tuner.measure.pipeline import Pipeline
from tuner.measure.stages import Look, Machines, Sighting, stages_of
from tuner.measure.window import Sample
from tuner.profile.model import Profile


@dataclass(frozen=True)
class Mark:
    """What rsyslogd, the engine, the sender and each stage had used at one moment."""

    shipper: Usage
    engine: NodeCounters
    flood: Progress
    look: Look


def take_mark(lab: Lab, pipe: Pipeline, flood: Flood, timeout_s: float) -> Mark:
    """Look at everything at this moment; an engine gets `timeout_s` to answer."""
    shipper = pipe.rsyslogd.usage()
    engine = node_counters(lab.client, timeout_s)
    index = index_counters(lab.client, pipe.pattern)
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
    return Mark(shipper, engine, progress, look)


def verdict_between(
    lab: Lab, pipe: Pipeline, profile: Profile, marks: tuple[Mark, Mark], samples: Sequence[Sample]
) -> Verdict | None:
    """What limited the pipeline between two marks; None for an engine on another machine, whose
    cores we cannot see."""
    if not is_loopback(urlsplit(lab.client.url).hostname or ""):
        return None
    before, after = marks
    seen = Sighting(before.look, after.look, samples, read(pipe.stats))
    return judge(stages_of(seen, profile, Machines(cores(), cores(), engine_is_here=True)))

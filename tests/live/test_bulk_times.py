"""Bulk requests between rsyslogd and an engine, as the engine counts and times them."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tuner.engine.bulk_times import (
    BulkLatency,
    BulkTimes,
    BulkWatch,
    between,
    bulk_tasks,
    bulk_times,
    latency_of,
)
from tuner.engine.client import EngineClient, number_at
from tuner.engine.delivery import fault_counts
from tuner.engine.status import indexed
from tuner.engines.release import Engine, Release
from tuner.flood.flood import Flood
from tuner.flood.workload import flood_spec
from tuner.lab.engine import SinkEngine
from tuner.lab.lab import Lab, attached_lab, lab_of, new_run_id
from tuner.lab.scratch import scratch
from tuner.lab.sink import Sink, parse_fault
from tuner.lint.load import load_profile
from tuner.measure.pipeline import pipeline
from tuner.measure.prepared import prepare

pytestmark = [pytest.mark.live, pytest.mark.full, pytest.mark.usefixtures("nothing_left_behind")]

PROFILE = load_profile(Path(__file__).parents[2] / "profiles" / "default.yaml").profile
POLL_S = 0.1


def has_histogram(release: Release) -> bool:
    """Elasticsearch has one from 8.12 on."""
    return release.engine is Engine.ELASTICSEARCH and release.engine_version >= (8, 12)


@dataclass(frozen=True)
class Flooded:
    """What one flood through rsyslogd showed; `shard_bulks` is the index's own count of bulks, 0
    where it keeps none."""

    times: BulkTimes | None
    sampled: BulkLatency | None
    shard_bulks: int


def flooded(lab: Lab, events: int) -> Flooded:
    """Send `events` through rsyslogd, looking at the bulks under way until all are indexed."""
    with pipeline(prepare(lab, PROFILE, "t1")) as pipe:
        spec = flood_spec(pipe.profile, secrets.token_hex(4), events)
        watch = BulkWatch()
        before = bulk_times(lab.client, pipe.pattern)
        with Flood(spec) as flood:
            flood.steer(events, None)
            deadline_s = time.monotonic() + 600
            while indexed(lab.client, pipe.pattern) < events and time.monotonic() < deadline_s:
                if lab.engine.stand_in is None:
                    watch.add(time.monotonic(), bulk_tasks(lab.client))
                time.sleep(POLL_S)
            assert flood.finish().sent == events
        assert indexed(lab.client, pipe.pattern) == events
        time.sleep(0.5)
        after = bulk_times(lab.client, pipe.pattern)
        wanted = "_all.primaries.bulk.total_operations"
        stats = lab.client.get(f"/{pipe.pattern}/_stats?filter_path={wanted}")
    return Flooded(
        times=None if before is None or after is None else between(before, after),
        sampled=watch.latency(),
        shard_bulks=number_at(stats, "_all", "primaries", "bulk", "total_operations"),
    )


def test_the_sink_counts_every_bulk_of_rsyslogd_and_its_time(tmp_path: Path) -> None:
    """A sink that delays every bulk lists every bulk."""
    delays = parse_fault("delay=0.05,after=1,times=100000")
    with Sink(faults=[delays]) as sink, scratch(tmp_path) as folder:
        lab = lab_of(SinkEngine(sink), folder, new_run_id())
        found = flooded(lab, 100_000).times
        struck = fault_counts(lab.client)
        lab.client.close()
    assert found is not None
    latency = latency_of(found)
    assert latency is not None
    assert found.requests == latency.requests == len(struck) >= 50
    assert sum(strike.documents for strike in struck) == 100_000
    assert 32 <= latency.p50_ms <= 256
    assert latency.mean_bytes is not None
    assert latency.mean_bytes * found.requests > 100_000 * 244


def test_every_engine_is_sampled_and_agrees_with_its_histogram_where_it_has_one(
    each_engine: tuple[Release, EngineClient], tmp_path: Path
) -> None:
    release, engine = each_engine
    client = EngineClient(engine.url)
    with (
        scratch(tmp_path) as folder,
        attached_lab(client, folder, new_run_id(), "512m") as lab,
    ):
        found = flooded(lab, 400_000 if has_histogram(release) else 200_000)
    assert found.sampled is not None
    assert found.sampled.requests > 20
    assert 0 < found.sampled.p50_ms <= found.sampled.p95_ms <= found.sampled.max_ms
    assert (found.times is not None) == has_histogram(release)
    if found.times is not None:
        check_histogram(found, found.times)


def check_histogram(found: Flooded, times: BulkTimes) -> None:
    """A hundred requests or so are sampled, and a bucket is up to a factor of two wide."""
    latency = latency_of(times)
    assert latency is not None
    assert found.sampled is not None
    assert times.requests == latency.requests == found.shard_bulks >= 200
    assert times.body_bytes is not None
    assert times.body_bytes > 400_000 * 244
    for exact, sampled, ratio in (
        (latency.p50_ms, found.sampled.p50_ms, 2),
        (latency.p95_ms, found.sampled.p95_ms, 3),
    ):
        assert exact / ratio < sampled < exact * ratio, (latency, found.sampled)

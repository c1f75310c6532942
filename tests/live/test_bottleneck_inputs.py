"""What a verdict is made of, from a real rsyslogd between a flood and the sink."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tuner.engine.status import indexed
from tuner.flood.flood import Flood
from tuner.flood.workload import flood_spec
from tuner.host.process import wait_until
from tuner.host.usage import Load, Threads, thread_cpu, thread_loads
from tuner.lab.entrances import entrances
from tuner.lab.lab import Lab, new_run_id, sink_lab
from tuner.lab.rsyslogd import Rsyslogd, impstats_section, read
from tuner.lab.scratch import scratch, subfolder
from tuner.lint.load import load_profile
from tuner.measure.pipeline import install
from tuner.modules.pstats import Snapshot, within
from tuner.profile.model import Profile
from tuner.script.counted import worker_thread
from tuner.script.printing import printed

pytestmark = pytest.mark.live

DEFAULT = Path(__file__).parents[2] / "profiles" / "default.yaml"
EVENTS = 50_000


@dataclass(frozen=True)
class Seen:
    """What was to be seen of one flood, from outside and in rsyslogd's own counters."""

    indexed: int
    before: Threads
    after: Threads
    passed_s: float
    cpu_s: float
    span: tuple[float, float]
    snapshots: tuple[Snapshot, ...]

    @property
    def loads(self) -> dict[str, Load]:
        return dict(thread_loads(self.before, self.after, self.passed_s))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    profile = load_profile(DEFAULT).profile
    with (
        scratch(tmp_path_factory.mktemp("bottleneck")) as folder,
        sink_lab(folder, new_run_id()) as lab,
    ):
        fitted = lab.bind(profile, "seen")
        bound = fitted.profile
        install(lab, fitted.copy)
        stats = subfolder(folder, "rsyslogd") / "impstats.log"
        config = printed(fitted.copy.block) + impstats_section(stats)
        rsyslogd = Rsyslogd(config, stats.parent, entrances(bound))
        try:
            yield watch(lab, bound, rsyslogd, stats)
        finally:
            rsyslogd.stop()


def watch(lab: Lab, bound: Profile, rsyslogd: Rsyslogd, stats: Path) -> Seen:
    pattern = f"{lab.owner.prefix}*"
    spec = flood_spec(bound, "0a1b2c3d", EVENTS)
    before, begun_s, first_s = thread_cpu(rsyslogd.pid), time.monotonic(), time.time()
    with Flood(spec) as flood:
        flood.steer(EVENTS, None)
        flood.wait_until_idle(20)
        flood.finish()
    wait_until(lambda: indexed(lab.client, pattern) >= EVENTS, 60)
    after, passed_s = thread_cpu(rsyslogd.pid), time.monotonic() - begun_s
    cpu_s = rsyslogd.usage().cpu_s
    wait_until(lambda: settled(read(stats)), 60)
    snapshots = read(stats)
    span = (first_s, time.time())
    arrived = indexed(lab.client, pattern)
    return Seen(arrived, dict(before), dict(after), passed_s, cpu_s, span, snapshots)


def settled(snapshots: tuple[Snapshot, ...]) -> bool:
    """Whether the last snapshot was written after the last event, and after its batch was taken
    off the queue: a worker does that only once the engine has answered."""
    last = snapshots[-1] if snapshots else None
    if last is None or last.omelasticsearch.submitted < EVENTS:
        return False
    return all(queue.size == 0 for queue in last.queues.values())


def test_the_last_snapshot_counts_every_event(seen: Seen) -> None:
    last = seen.snapshots[-1]
    assert seen.indexed == EVENTS
    assert last.queues["main Q"].enqueued == EVENTS
    assert last.queues["logs queue"].enqueued == EVENTS
    assert last.actions["logs"].processed == EVENTS
    assert last.actions["logs"].failed == 0
    assert last.omelasticsearch.submitted == EVENTS
    assert last.omelasticsearch.failed_http == last.omelasticsearch.failed_es == 0
    assert all(queue.discarded_full == 0 for queue in last.queues.values())


def test_the_queues_are_empty_again(seen: Seen) -> None:
    assert {queue.size for queue in seen.snapshots[-1].queues.values()} == {0}


def test_snapshots_carry_the_time_at_which_they_were_written(seen: Seen) -> None:
    first_s, last_s = seen.span
    assert seen.snapshots[-1] in within(seen.snapshots, first_s - 1, last_s)


def test_snapshots_know_what_rsyslogd_used(seen: Seen) -> None:
    usage = seen.snapshots[-1].usage
    assert (usage.utime_us + usage.stime_us) / 1e6 == pytest.approx(seen.cpu_s, abs=0.1)
    assert usage.maxrss_kib > 1024


def test_every_stage_is_found_by_the_names_of_its_threads(seen: Seen) -> None:
    inputs = {name for name in seen.after if name.startswith(("in:imptcp", "imptcp/w"))}
    assert inputs == {"in:imptcp", "imptcp/w0", "imptcp/w1"}
    assert len(seen.after[worker_thread("main Q")]) == 1
    assert 1 <= len(seen.after[worker_thread("logs queue")]) <= 2


def test_the_threads_together_used_what_the_process_used(seen: Seen) -> None:
    together = sum(time.cpu_s for threads in seen.after.values() for time in threads.values())
    assert together == pytest.approx(seen.cpu_s, abs=0.15)
    assert seen.loads[worker_thread("logs queue")].cpu > 0
    assert all(load.busiest <= load.cpu + 1e-9 for load in seen.loads.values())

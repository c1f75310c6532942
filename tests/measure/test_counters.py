"""What everything counts goes to its own place, and how much it grew is the difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from tuner.errors import JobFailed
from tuner.flood.flood import Flood
from tuner.host.usage import CoreTime, Threads, Usage
from tuner.measure.counters import Counters, counters_now
from tuner.measure.pipeline import Pipeline

CORES = CoreTime(50.0, 40.0, 3.0, 2.0)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Counters:
    asked: list[tuple[object, ...]] = []

    answers: dict[str, object] = {
        "node_counters": SimpleNamespace(cpu_ms=4_500, rejected=7),
        "index_counters": SimpleNamespace(throttle_ms=11, merge_throttled_ms=12, refreshes=13),
        "bulk_times": None,
        "thread_cpu": {},
        "core_time": CORES,
    }

    def answering(found: object) -> Callable[..., object]:
        def answer(*given: object) -> object:
            asked.append(given)
            return found

        return answer

    for name, found in answers.items():
        monkeypatch.setattr(f"tuner.measure.counters.{name}", answering(found))
    monkeypatch.setattr(
        "tuner.measure.counters.time",
        SimpleNamespace(monotonic=lambda: 100.0, time=lambda: 1_800_000_000.0),
    )
    lab = SimpleNamespace(client="client", probe=None)
    rsyslogd = SimpleNamespace(pid=77, usage=lambda: Usage(2.5, 1))
    progress = SimpleNamespace(cpu_seconds=1.5, blocked_seconds=6.5)
    flood = SimpleNamespace(progress=lambda: progress, loads=dict)
    receiver = SimpleNamespace(cpu_s=0.5)
    pipe = SimpleNamespace(lab=lab, rsyslogd=rsyslogd, pattern="logs-*", receiver=receiver)
    made = counters_now(cast(Pipeline, pipe), cast(Flood, flood), 3.0)
    assert asked == [
        ("client", 3.0), ("client", "logs-*"), ("client", "logs-*", 3.0), (77,), (),
    ]  # fmt: skip
    return made


def test_each_counter_is_in_its_place(now: Counters) -> None:
    assert (now.at_s, now.epoch_s, now.machine) == (100.0, 1_800_000_000.0, CORES)
    assert (now.shipper_cpu_s, now.sender_cpu_s, now.sender_blocked_s) == (2.5, 1.5, 6.5)
    assert (now.engine_cpu_s, now.rejected, now.receiver_cpu_s) == (4.5, 7, 0.5)
    assert (now.index_throttled_ms, now.merge_throttled_ms, now.refreshes) == (11, 12, 13)
    assert (now.bulk, now.probe, dict(now.load_hosts)) == (None, None, {})


def test_growth_is_the_difference_of_each(now: Counters) -> None:
    threads: Threads = {"in:imptcp": {}}
    later = replace(
        now, at_s=110.0, epoch_s=now.epoch_s + 10.5, machine=CoreTime(65.0, 45.0, 4.0, 2.5),
        shipper_cpu_s=3.5, sender_cpu_s=1.75, sender_blocked_s=9.0, engine_cpu_s=24.5, rejected=9,
        index_throttled_ms=111, merge_throttled_ms=212, refreshes=15, threads=threads,
    )  # fmt: skip
    grown = later.since(now)
    assert (grown.passed_s, grown.clock_s) == (10.0, 10.5)
    assert grown.machine == CoreTime(15.0, 5.0, 1.0, 0.5)
    assert (grown.shipper_cpu_s, grown.sender_cpu_s, grown.sender_blocked_s) == (1.0, 0.25, 2.5)
    assert (grown.engine_cpu_s, grown.rejected, grown.refreshes) == (20.0, 2, 2)
    assert (grown.index_throttled_ms, grown.merge_throttled_ms) == (100, 200)
    assert set(grown.loads) == {"in:imptcp"}


def test_cpu_that_runs_backwards_is_a_node_that_restarted(now: Counters) -> None:
    with pytest.raises(JobFailed, match=r"ran backwards from 4\.5 to 1\.0 s: a node restarted"):
        replace(now, engine_cpu_s=1.0).since(now)

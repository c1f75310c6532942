"""Threads by name: as the kernel writes them, and of a real process."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tuner.errors import JobFailed
from tuner.host.usage import (
    ThreadTime,
    parse_schedstat,
    parse_stat,
    thread_cpu,
    thread_loads,
)

# From rsyslogd 8.2302 on Linux 6.18, where a tick is 10 ms.
STAT = "812 (rs:main Q:Reg) S 1 812 812 0 -1 4194368 99 0 0 0 {user} {system} 0 0 20 0 9 0 73 1 2"


def test_name_and_cpu_time_are_read_from_stat() -> None:
    name, cpu_s = parse_stat(STAT.format(user=171, system=29))
    assert name == "rs:main Q:Reg"
    assert cpu_s == pytest.approx(200 / os.sysconf("SC_CLK_TCK"))


def test_a_name_may_look_like_the_rest_of_the_line() -> None:
    assert parse_stat(STAT.replace("main Q", "a) S 1 (b").format(user=1, system=0))[0] == (
        "rs:a) S 1 (b:Reg"
    )


def test_time_without_a_core_is_read_from_schedstat() -> None:
    assert parse_schedstat("185390802 10711630 369\n") == pytest.approx(0.01071163)
    assert parse_schedstat("") == 0.0


def test_loads_are_what_each_thread_did_in_between() -> None:
    before = {"w": {7: ThreadTime(5.0, 1.0), 8: ThreadTime(0.0, 0.0)}}
    after = {"w": {7: ThreadTime(5.5, 1.0), 8: ThreadTime(1.5, 0.2)}}
    load = thread_loads(before, after, 2.0)["w"]
    assert load.count == 2
    assert load.cpu == pytest.approx(1.0)
    assert load.busiest == pytest.approx(0.75)
    assert load.runnable == pytest.approx(0.1)


def test_threads_that_came_went_or_took_over_a_number() -> None:
    before = {
        "w": {7: ThreadTime(5.0, 0.0), 8: ThreadTime(9.0, 0.0)},
        "gone": {9: ThreadTime(3.0, 0.0)},
    }
    after = {"w": {8: ThreadTime(0.5, 0.0), 10: ThreadTime(1.0, 0.0)}}
    loads = thread_loads(before, after, 1.0)
    assert set(loads) == {"w"}
    assert loads["w"].cpu == pytest.approx(1.5)
    assert loads["w"].busiest == pytest.approx(1.0)


def test_a_process_that_is_gone_is_named() -> None:
    with pytest.raises(JobFailed, match="process 999999999 is gone"):
        thread_cpu(999_999_999)


def test_the_threads_of_this_process_are_found_with_their_time() -> None:
    go = threading.Event()
    named = threading.Thread(target=_under_a_name, args=("a stage: w0", go))
    named.start()
    try:
        go.wait(5)
        found = thread_cpu(os.getpid())
        assert len(found["a stage: w0"]) == 1
        own = found[Path("/proc/self/comm").read_text("utf-8").rstrip("\n")]
        assert sum(time.cpu_s for time in own.values()) > 0
    finally:
        go.clear()
        named.join()


def _under_a_name(name: str, go: threading.Event) -> None:
    Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text(name, encoding="utf-8")
    go.set()
    while go.is_set():
        threading.Event().wait(0.01)


def test_a_thread_that_vanishes_while_we_look_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    own = threading.get_native_id()

    def listed(folder: Path) -> list[Path]:
        return [folder / str(own), folder / "999999999"]

    monkeypatch.setattr(Path, "iterdir", listed)
    found = thread_cpu(os.getpid())
    assert [number for named in found.values() for number in named] == [own]

"""What the kernel tells of processes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tuner.host.process import describe_exit
from tuner.host.usage import core_time, memory_kills


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (1, "exit code 1"),
        (-9, "SIGKILL"),
        (137, "exit code 137 (SIGKILL)"),
        (143, "exit code 143 (SIGTERM)"),
        (128, "exit code 128"),
        (255, "exit code 255"),
    ],
)
def test_an_exit_names_the_signal_that_caused_it(code: int, text: str) -> None:
    assert describe_exit(code) == text


def test_kills_for_lack_of_memory_are_counted_where_the_kernel_counts_them() -> None:
    counters = Path("/proc/vmstat").read_text("ascii").splitlines()
    counts = any(line.startswith("oom_kill ") for line in counters)
    assert (memory_kills() is not None) is counts


@pytest.mark.parametrize(
    ("lines", "allowed", "counted"),
    [
        ([0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3]),
        ([0, 1, 2, 3], [1, 3], [1, 3]),
        # A CPU that is offline has no line.
        ([0, 2, 3], [2], [2]),
        # A container that is pinned to CPUs has its own numbers for them (lxcfs).
        ([0, 1], [3, 7], [0, 1]),
    ],
)
def test_the_cores_that_we_may_use_are_found_by_their_numbers(
    lines: list[int],
    allowed: list[int],
    counted: list[int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stat = tmp_path / "stat"
    each = "".join(f"cpu{number} {10**number} 0 0 0\n" for number in lines)
    stat.write_text(f"cpu  9 0 0 0\n{each}intr 5\nctxt 7\n")
    fields = dict.fromkeys(("nice", "system", "irq", "softirq", "steal", "idle", "iowait"), 0)
    times = [SimpleNamespace(user=10**number, **fields) for number in lines]
    ours = SimpleNamespace(cpu_affinity=lambda: allowed)
    monkeypatch.setattr("tuner.host.usage._STAT", stat)
    monkeypatch.setattr(
        "tuner.host.usage.psutil",
        SimpleNamespace(Process=lambda: ours, cpu_times=lambda percpu: times),
    )
    monkeypatch.setattr("tuner.host.usage.cpu_quota", lambda _: None)
    assert core_time().busy_s == sum(10**number for number in counted)

"""What the kernel tells of processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.host.process import describe_exit
from tuner.host.usage import memory_kills


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

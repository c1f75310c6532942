"""Core-seconds of the machine only grow."""

from __future__ import annotations

import subprocess
import sys
import time

from tuner.host.usage import busy_share, core_time, cores


def test_working_makes_the_cores_busy() -> None:
    before = core_time()
    until = time.process_time() + 0.1
    while time.process_time() < until:
        pass
    after = core_time()
    assert after.busy_s - before.busy_s >= 0.05
    assert after.io_wait_s >= 0


def test_a_machine_is_as_busy_as_what_runs_there() -> None:
    spinning = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        assert busy_share() > 0.5 / cores()
    finally:
        spinning.kill()
        spinning.wait()

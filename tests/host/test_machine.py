"""Core-seconds of the machine only grow."""

from __future__ import annotations

import time

from tuner.host.machine import core_time


def test_working_makes_the_cores_busy() -> None:
    before = core_time()
    until = time.process_time() + 0.1
    while time.process_time() < until:
        pass
    after = core_time()
    assert after.busy_s - before.busy_s >= 0.05
    assert after.io_wait_s >= 0

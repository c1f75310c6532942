"""The probe: always the same work, counted, and gone when it should be."""

from __future__ import annotations

import os
import signal
import socket
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from tests.lab.test_sink_process import wait_gone
from tuner.lab.lab import new_run_id, sink_lab
from tuner.lab.probe import Pieces, Probe, Work, log_text


def wait_for(probe: Probe, enough: Callable[[Pieces], bool]) -> Pieces:
    """Its pieces once they are enough."""
    deadline_s = time.monotonic() + 30
    while time.monotonic() < deadline_s:
        pieces = probe.pieces()
        assert pieces is not None
        if enough(pieces):
            return pieces
        time.sleep(0.02)
    raise AssertionError("the probe does not work")


def test_the_work_is_always_the_same() -> None:
    text = log_text()
    assert (len(text), zlib.crc32(text)) == (65536, 0xAAC52A00)


def test_both_pieces_are_counted() -> None:
    here, there = socket.socketpair()
    with here, there:
        work = Work(here, there)
        work.once()
        first = work.so_far
        work.once()
        second = work.so_far.since(first)
    for pieces in (first, second):
        assert pieces.count == 1
        assert 0 < pieces.socket_cpu_s < pieces.zlib_cpu_s


def test_it_goes_on_working_beside_us() -> None:
    with Probe() as probe:
        first = wait_for(probe, lambda pieces: pieces.count > 0)
        later = wait_for(probe, lambda pieces: pieces.count > first.count + 1)
        assert later.since(first).zlib_cpu_s > 0


def test_it_ignores_sigint_and_ends_with_its_statement() -> None:
    with Probe() as probe:
        first = wait_for(probe, lambda pieces: pieces.count > 0)
        os.kill(probe.pid, signal.SIGINT)
        wait_for(probe, lambda pieces: pieces.count > first.count)
        pid = probe.pid
    assert wait_gone(pid)


def test_a_probe_that_died_fails_nothing() -> None:
    with Probe() as probe:
        os.kill(probe.pid, signal.SIGKILL)
        assert wait_gone(probe.pid)
        assert probe.pieces() is None
        assert probe.pieces() is None


def test_a_lab_on_this_machine_has_one_that_ends_with_it(tmp_path: Path) -> None:
    with sink_lab(tmp_path, new_run_id()) as lab:
        assert lab.probe is not None
        assert lab.probe.pieces() is not None
        pid = lab.probe.pid
    assert wait_gone(pid)

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.flood.receiver import Receiver
from tuner.errors import JobFailed
from tuner.flood.flood import Flood
from tuner.flood.pace import Runs, bursts, fixed, ramp
from tuner.flood.spec import FloodSpec, Transport, loopback
from tuner.host.process import Child
from tuner.lab.loads import ClockOffset, LoadHost
from tuner.profile.workload import MessageSizes


def spec(port: int, connections: int = 5, count: int | None = None) -> FloodSpec:
    return FloodSpec(
        Transport((loopback(port),)), connections, MessageSizes(244), 1, "0a1b2c3d", count
    )


def flood_and_child(port: int) -> tuple[Flood, Child]:
    """A flood, and its process."""
    child = Child("tuner.flood.sender")
    here = SimpleNamespace(name="", sender=lambda: child, clock=ClockOffset)
    return Flood(spec(port), [cast(LoadHost, here)]), child


def is_gone(pid: int) -> bool:
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return True


def wait_gone(pid: int) -> bool:
    deadline_s = time.monotonic() + 30
    while not is_gone(pid) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    return is_gone(pid)


def test_every_number_arrives_exactly_once_over_all_connections() -> None:
    with Receiver() as receiver:
        with Flood(spec(receiver.port)) as flood:
            flood.steer(50_123, None)
            progress = flood.wait_until_idle(60)
            assert progress.sent == 50_123
            finished = flood.finish()
        assert finished.sent == 50_123
        assert not finished.truncated
        assert finished.error is None
        assert receiver.numbers() == list(range(50_123))
        assert len(receiver.streams) == 5
        assert all(stream.endswith(b"\n") for stream in receiver.streams)


def test_count_is_a_hard_total() -> None:
    with Receiver() as receiver:
        with Flood(spec(receiver.port, count=1234)) as flood:
            flood.steer(10**9, None)
            assert flood.wait_until_idle(60).sent == 1234
            assert flood.finish().sent == 1234
        assert receiver.numbers() == list(range(1234))


def test_nothing_is_sent_before_steering_and_no_more_than_the_limit_after() -> None:
    with Receiver() as receiver, Flood(spec(receiver.port, 2)) as flood:
        assert flood.progress().sent == 0
        assert flood.progress().first_send_s is None
        for limit in (10, 700, 701, 5000, 20):
            flood.steer(limit, None)
            assert flood.wait_until_idle(60).sent == max(limit, flood.progress().sent)
        assert flood.finish().sent == 5000
        assert receiver.numbers() == list(range(5000))


def test_a_rate_is_never_exceeded_and_spreads_over_connections() -> None:
    with Receiver() as receiver:
        with Flood(spec(receiver.port)) as flood:
            flood.steer(2000, 4000.0)
            progress = flood.wait_until_idle(60)
            finished = flood.finish()
        assert finished.sent == 2000
        assert progress.first_send_s is not None
        assert progress.last_send_s is not None
        assert progress.last_send_s - progress.first_send_s > 0.4
        assert finished.cpu_seconds > 0
        assert all(len(stream) > 0 for stream in receiver.streams)


def test_progress_stays_fresh_while_it_sends() -> None:
    with Receiver() as receiver, Flood(spec(receiver.port)) as flood:
        flood.steer(10**9, 1000.0)
        seen = []
        for _ in range(5):
            time.sleep(0.1)
            seen.append(flood.progress().sent)
        assert seen == sorted(set(seen))


def test_times_are_of_the_clock_that_all_processes_share() -> None:
    with Receiver() as receiver, Flood(spec(receiver.port)) as flood:
        before_s = time.monotonic()
        flood.steer(100, None)
        progress = flood.wait_until_idle(60)
        assert progress.first_send_s is not None
        assert progress.last_send_s is not None
        assert before_s <= progress.first_send_s <= progress.last_send_s <= time.monotonic()


def test_a_receiver_that_does_not_read_blocks_and_truncates() -> None:
    with Receiver(reads=False) as receiver, Flood(spec(receiver.port, 1)) as flood:
        flood.steer(10**9, None)
        time.sleep(0.5)
        progress = flood.progress()
        assert progress.blocked_seconds > 0.1
        finished = flood.finish()
        assert finished.truncated
        assert finished.error is None
        assert finished.sent < 10**6


def test_a_begun_block_is_finished_on_stop() -> None:
    with Receiver() as receiver:
        with Flood(spec(receiver.port)) as flood:
            flood.steer(10**9, None)
            time.sleep(0.2)
            finished = flood.finish()
        assert not finished.truncated
        assert receiver.numbers() == list(range(finished.sent))


def test_a_refused_connection_is_said_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(JobFailed, match="could not be opened: connection refused") as refused:
        Flood(spec(port)).__enter__()
    assert f"127.0.0.1:{port} " in str(refused.value)
    assert refused.value.exit_code == 4


def test_a_receiver_that_hangs_up_is_an_error_in_words() -> None:
    with Receiver(close_after=100_000) as receiver, Flood(spec(receiver.port, 2)) as flood:
        flood.steer(10**9, None)
        progress = flood.wait_until_idle(60)
        assert progress.error is not None
        assert f"to 127.0.0.1:{receiver.port}" in progress.error
        assert "Traceback" not in progress.error
        assert flood.finish().error == progress.error


def test_a_killed_process_is_an_error_in_words() -> None:
    with Receiver() as receiver:
        flood, child = flood_and_child(receiver.port)
        with flood:
            flood.steer(10**9, 10.0)
            os.kill(child.pid, signal.SIGKILL)
            assert "died" in (flood.wait_until_idle(60).error or "")


def test_sigint_is_ignored_and_sigterm_stops() -> None:
    with Receiver() as receiver:
        flood, child = flood_and_child(receiver.port)
        with flood:
            os.kill(child.pid, signal.SIGINT)
            flood.steer(100, None)
            assert flood.wait_until_idle(60).sent == 100
            os.kill(child.pid, signal.SIGTERM)
            assert wait_gone(child.pid)
            assert flood.progress().error is None


def test_leaving_the_statement_ends_the_process() -> None:
    with Receiver() as receiver:
        flood, child = flood_and_child(receiver.port)
        with flood:
            flood.steer(10**9, None)
        assert is_gone(child.pid)


PARENT = """
import sys, time
from tuner.flood.flood import Flood, ThisMachine
from tuner.flood.spec import FloodSpec
from tuner.flood.spec import Transport, loopback
from tuner.profile.workload import MessageSizes
class Here(ThisMachine):
    def sender(self):
        children.append(super().sender())
        return children[-1]
children = []
spec = FloodSpec(Transport((loopback(int(sys.argv[1])),)), 2, MessageSizes(244), 1, "0a1b2c3d")
with Flood(spec, [Here()]) as flood:
    flood.steer(10**9, float(sys.argv[2]) or None)
    print(children[0].pid, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("rate", [0.0, 100.0])
def test_a_dead_parent_ends_the_process(rate: float) -> None:
    with Receiver(reads=rate > 0) as receiver:
        parent = subprocess.Popen(
            [sys.executable, "-c", PARENT, str(receiver.port), str(rate)], stdout=subprocess.PIPE
        )
        with parent:
            assert parent.stdout is not None
            pid = int(parent.stdout.readline())
            parent.kill()
        assert wait_gone(pid)


def test_a_schedule_is_kept_and_says_when_each_message_was_due() -> None:
    with Receiver() as receiver, Flood(spec(receiver.port)) as flood:
        assert flood.timeline() is None
        before_s = time.monotonic()
        flood.follow(fixed(2000.0), limit=1000)
        progress = flood.wait_until_idle(60)
        timeline = flood.timeline()
        assert progress.sent == 1000
        assert progress.punctuality is not None
        assert progress.punctuality.offered == 1000
        assert timeline is not None
        assert before_s <= timeline.intended_s(0)
        assert timeline.intended_s(500) - timeline.intended_s(0) == pytest.approx(0.25)
        assert progress.last_send_s is not None
        assert progress.last_send_s >= timeline.intended_s(999)
        flood.finish()
        assert receiver.numbers() == list(range(1000))


def test_messages_never_go_before_they_are_due() -> None:
    with Receiver() as receiver, Flood(spec(receiver.port)) as flood:
        flood.follow(ramp(0.0, 4000.0, 1.0))
        for _ in range(8):
            time.sleep(0.1)
            progress = flood.progress()
            timeline = flood.timeline()
            assert timeline is not None
            assert timeline.intended_s(progress.sent - 1) <= progress.at_s
        finished = flood.finish()
        assert receiver.numbers() == list(range(finished.sent))


def test_bursts_come_at_once() -> None:
    with Receiver() as receiver, Flood(spec(receiver.port)) as flood:
        flood.follow(bursts(10_000, 0.5), limit=20_000)
        progress = flood.wait_until_idle(60)
        assert progress.sent == 20_000
        assert progress.first_send_s is not None
        assert progress.last_send_s is not None
        assert progress.last_send_s - progress.first_send_s >= 0.49


def test_runs_pause_between_each_other() -> None:
    with Receiver() as receiver, Flood(spec(receiver.port, count=30_000)) as flood:
        flood.run(Runs(10_000, 3, 0.2))
        progress = flood.wait_until_idle(60)
        assert progress.sent == 30_000
        assert progress.first_send_s is not None
        assert progress.last_send_s is not None
        assert progress.last_send_s - progress.first_send_s >= 0.4
        assert progress.punctuality is None
        flood.finish()
        assert receiver.numbers() == list(range(30_000))


def test_a_receiver_that_does_not_read_makes_the_flood_late() -> None:
    with Receiver(reads=False) as receiver, Flood(spec(receiver.port, 2)) as flood:
        flood.follow(fixed(200_000.0))
        time.sleep(1.0)
        progress = flood.progress()
        seen = progress.punctuality
        assert seen is not None
        assert not seen.kept
        assert seen.offered > 100_000 > progress.sent
        assert seen.late > 50_000
        assert seen.max_late_s > 0.1
        assert progress.blocked_seconds > 0.1


def test_after_the_end_nothing_more_is_due() -> None:
    with Receiver() as receiver, Flood(spec(receiver.port)) as flood:
        flood.follow(fixed(1000.0))
        time.sleep(0.2)
        offered = flood.finish().punctuality
        assert offered is not None
        assert offered.offered < 1000


def test_a_file_that_cannot_be_replayed_is_said_in_words(tmp_path: Path) -> None:
    empty = tmp_path / "empty.log"
    empty.write_bytes(b"\n  \n")
    with (
        Receiver() as receiver,
        pytest.raises(JobFailed, match=r"cannot start: .*empty\.log.* has no lines to send"),
    ):
        Flood(replace(spec(receiver.port), replay=str(empty))).__enter__()


def test_each_line_of_a_file_goes_equally_often(tmp_path: Path) -> None:
    log = tmp_path / "own.log"
    log.write_bytes(b"".join(b"line %d of mine\n" % number for number in range(700)))
    with Receiver() as receiver:
        with Flood(replace(spec(receiver.port, 3), replay=str(log))) as flood:
            flood.steer(2100, None)
            flood.wait_until_idle(60)
            assert flood.finish().sent == 2100
        received = b"".join(receiver.streams).splitlines()
        assert receiver.numbers() == list(range(2100))
    for number in range(700):
        assert sum(line.endswith(b" line %d of mine" % number) for line in received) == 3

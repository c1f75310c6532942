from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from tuner.errors import JobFailed
from tuner.flood.flood import Flood, FloodSpec

SEQ = re.compile(rb" seq=(\d{12}) ")


class Receiver:
    """Keeps what arrives; `close_after` bytes it hangs up, `reads` False it never reads."""

    def __init__(self, *, close_after: int | None = None, reads: bool = True) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._close_after = close_after
        self._reads = reads
        self._over = threading.Event()
        self.streams: list[bytearray] = []
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def numbers(self) -> list[int]:
        """The sequence numbers that arrived, sorted."""
        return sorted(int(number) for s in self.streams for number in SEQ.findall(s))

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.streams.append(bytearray())
                arguments = (connection, self.streams[-1])
                self._threads.append(threading.Thread(target=self._keep, args=arguments))
                self._threads[-1].start()

    def _keep(self, connection: socket.socket, stream: bytearray) -> None:
        connection.settimeout(0.2)
        with connection:
            if not self._reads:
                self._over.wait()
                return
            while not self._over.is_set():
                try:
                    data = connection.recv(1 << 18)
                except TimeoutError:
                    continue
                stream += data
                enough = self._close_after is not None and len(stream) > self._close_after
                if not data or enough:
                    return


def spec(port: int, connections: int = 5, count: int | None = None) -> FloodSpec:
    return FloodSpec("127.0.0.1", port, connections, 244, 1, "0a1b2c3d", count)


def is_gone(pid: int) -> bool:
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return True


def wait_gone(pid: int) -> bool:
    deadline_s = time.monotonic() + 5
    while not is_gone(pid) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    return is_gone(pid)


def test_every_number_arrives_exactly_once_over_all_connections() -> None:
    with Receiver() as receiver:
        with Flood(spec(receiver.port)) as flood:
            flood.steer(50_123, None)
            progress = flood.wait_until_idle(20)
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
            assert flood.wait_until_idle(10).sent == 1234
            assert flood.finish().sent == 1234
        assert receiver.numbers() == list(range(1234))


def test_nothing_is_sent_before_steering_and_no_more_than_the_limit_after() -> None:
    with Receiver() as receiver, Flood(spec(receiver.port, 2)) as flood:
        assert flood.progress().sent == 0
        assert flood.progress().first_send_s is None
        for limit in (10, 700, 701, 5000, 20):
            flood.steer(limit, None)
            assert flood.wait_until_idle(10).sent == max(limit, flood.progress().sent)
        assert flood.finish().sent == 5000
        assert receiver.numbers() == list(range(5000))


def test_a_rate_is_never_exceeded_and_spreads_over_connections() -> None:
    with Receiver() as receiver:
        with Flood(spec(receiver.port)) as flood:
            flood.steer(2000, 4000.0)
            progress = flood.wait_until_idle(20)
            finished = flood.finish()
        assert finished.sent == 2000
        assert progress.first_send_s is not None
        assert progress.last_send_s is not None
        assert progress.last_send_s - progress.first_send_s > 0.4
        assert 0 < finished.cpu_seconds < 5
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
        progress = flood.wait_until_idle(10)
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
    with pytest.raises(
        JobFailed, match=f"127.0.0.1:{port} could not be opened: connection refused"
    ):
        Flood(spec(port)).__enter__()


def test_a_receiver_that_hangs_up_is_an_error_in_words() -> None:
    with Receiver(close_after=100_000) as receiver, Flood(spec(receiver.port, 2)) as flood:
        flood.steer(10**9, None)
        progress = flood.wait_until_idle(10)
        assert progress.error is not None
        assert f"to 127.0.0.1:{receiver.port}" in progress.error
        assert "Traceback" not in progress.error
        assert flood.finish().error == progress.error


def test_a_killed_process_is_an_error_in_words() -> None:
    with Receiver() as receiver, Flood(spec(receiver.port)) as flood:
        flood.steer(10**9, 10.0)
        os.kill(flood.pid, signal.SIGKILL)
        assert "died" in (flood.wait_until_idle(5).error or "")


def test_sigint_is_ignored_and_sigterm_stops() -> None:
    with Receiver() as receiver, Flood(spec(receiver.port)) as flood:
        os.kill(flood.pid, signal.SIGINT)
        flood.steer(100, None)
        assert flood.wait_until_idle(5).sent == 100
        os.kill(flood.pid, signal.SIGTERM)
        assert wait_gone(flood.pid)
        assert flood.progress().error is None


def test_leaving_the_statement_ends_the_process() -> None:
    with Receiver() as receiver:
        with Flood(spec(receiver.port)) as flood:
            flood.steer(10**9, None)
            pid = flood.pid
        assert is_gone(pid)


PARENT = """
import sys, time
from tuner.flood.flood import Flood, FloodSpec
with Flood(FloodSpec("127.0.0.1", int(sys.argv[1]), 2, 244, 1, "0a1b2c3d")) as flood:
    flood.steer(10**9, float(sys.argv[2]) or None)
    print(flood.pid, flush=True)
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

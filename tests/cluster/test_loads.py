"""Load hosts and who steers them, without a cluster in between: their processes are here."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.flood.receiver import Receiver
from tuner.cluster.loads import RemoteLoads
from tuner.errors import JobFailed, Refused, Unreachable
from tuner.flood.schedule import fixed
from tuner.flood.shares import SpreadTimeline
from tuner.flood.spec import FloodSpec
from tuner.flood.spread import SpreadFlood
from tuner.flood.transport import Transport, loopback
from tuner.host.child import Child
from tuner.host.process import wait_until

NAMES = ("north", "south")


@contextmanager
def steered() -> Iterator[tuple[RemoteLoads, dict[str, Child]]]:
    """Two load hosts that answer."""
    children = {name: Child("tuner.cluster.load") for name in NAMES}
    loads = RemoteLoads(lambda name, line: children[name].tell(line))

    def listen(name: str) -> None:
        for line in children[name].stdout:
            loads.hear(name, line)
        loads.lose(name, "its process has ended")

    threads = [threading.Thread(target=listen, args=(name,)) for name in NAMES]
    for thread in threads:
        thread.start()
    try:
        with loads.answering(NAMES):
            yield loads, children
    finally:
        for child in children.values():
            child.end(5.0)
        for thread in threads:
            thread.join()
        for child in children.values():
            child.close()


def spec(port: int) -> FloodSpec:
    return FloodSpec(Transport((loopback(port),)), 4, 244, 1, "0a1b2c3d")


def test_two_senders_are_one_flood() -> None:
    with (
        Receiver() as receiver,
        steered() as (loads, _),
        SpreadFlood(spec(receiver.port), loads.here()) as flood,
    ):
        flood.steer(5001, None)
        assert flood.wait_until_idle(10).counts == (2501, 2500)
        final = flood.finish()
        assert set(flood.loads()) == {"north", "south"}
    assert (final.sent, final.error, final.truncated) == (5001, None, False)
    ranges = final.events.ranges()
    assert receiver.numbers() == [number for one in ranges for number in range(*one)]


def test_a_schedule_is_kept_by_both_together() -> None:
    with (
        Receiver() as receiver,
        steered() as (loads, _),
        SpreadFlood(spec(receiver.port), loads.here()) as flood,
    ):
        began_s = time.monotonic()
        flood.follow(fixed(1000.0), 600)
        final = flood.wait_until_idle(10)
        timeline = flood.timeline()
    assert final.counts == (300, 300)
    assert isinstance(timeline, SpreadTimeline)
    assert abs(timeline.start_s - began_s) < 5.0
    assert 0 < timeline.error_s < 1.0
    assert timeline.intended_s(1299) - timeline.intended_s(1000) == pytest.approx(0.598)


def test_a_load_host_that_dies_is_named_and_not_used_again() -> None:
    with Receiver() as receiver, steered() as (loads, children):
        with SpreadFlood(spec(receiver.port), loads.here()) as flood:
            flood.steer(10**9, 2000.0)
            children["south"].end()
            error = flood.wait_until_idle(10).error
            assert error is not None
            assert error.startswith("south: "), error
            assert "its process has ended" in error
        assert [one.name for one in loads.here()] == ["north"]
        with SpreadFlood(spec(receiver.port), loads.here()) as flood:
            flood.steer(1000, None)
            assert flood.wait_until_idle(10).counts == (1000,)
        assert loads.change() == "south: its process has ended; load comes from north now"
        assert loads.change() is None
        children["north"].end()
        assert wait_until(lambda: loads.change() is not None, 10)
        with pytest.raises(JobFailed, match="no load host answers: north, south"):
            loads.here()


def test_a_load_host_that_comes_back_is_a_change_too() -> None:
    with steered() as (loads, children):
        assert loads.change() is None
        os.kill(children["south"].pid, signal.SIGSTOP)
        time.sleep(0.5)  # what it said before is heard by then
        loads.lose("south", "no answer for 5 s")
        assert loads.change() == "south: no answer for 5 s; load comes from north now"
        os.kill(children["south"].pid, signal.SIGCONT)
        assert wait_until(lambda: len(loads.here()) == 2, 10)
        assert loads.change() == "load comes from north, south now"
        assert loads.change() is None


def test_only_what_the_load_host_allows_is_flooded() -> None:
    away = FloodSpec(Transport(("192.0.2.1:514",)), 2, 244, 1, "0a1b2c3d")
    with steered() as (loads, _):
        loads.require_allowed(["127.0.0.1"])
        with pytest.raises(Refused, match=r"north: 192\.0\.2\.1 is not local"):
            loads.require_allowed(["192.0.2.1"])
        with pytest.raises(JobFailed, match=r"192\.0\.2\.1 is not local"):
            SpreadFlood(away, loads.here()).__enter__()


def test_a_load_host_that_never_answers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuner.cluster.loads._START_S", 0.2)
    loads = RemoteLoads(lambda _name, _line: None)
    with pytest.raises(Unreachable, match="no answer from north, south"), loads.answering(NAMES):
        pass

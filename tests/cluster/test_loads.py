"""Load hosts and who steers them, without a cluster in between: their processes are here."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.flood.receiver import Receiver
from tests.flood.test_transports import numbers, secured, serving
from tuner.cluster.loads import RemoteLoads
from tuner.errors import JobFailed, Refused, Unreachable
from tuner.flood.flood import Flood, SpreadTimeline
from tuner.flood.pace import fixed
from tuner.flood.spec import Credentials, FloodSpec, Transport, loopback
from tuner.host.process import Child, wait_until
from tuner.lab.entrances import make_certificates
from tuner.modules.secrets import Certificates, certificates_in
from tuner.profile.workload import MessageSizes

NAMES = ("north", "south")


@contextmanager
def steered(
    on_the_way: Callable[[bytes], object] = lambda _: None,
) -> Iterator[tuple[RemoteLoads, dict[str, Child]]]:
    """Two load hosts that answer; what they are told passes `on_the_way` first."""
    children = {name: Child("tuner.cluster.load") for name in NAMES}

    def say(name: str, line: bytes) -> None:
        on_the_way(line)
        children[name].tell(line)

    loads = RemoteLoads(say)

    def listen(name: str) -> None:
        for line in children[name].stdout:
            loads.on_line(name, line)
        loads.on_loss(name, "its process has ended")

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
    return FloodSpec(Transport((loopback(port),)), 4, MessageSizes(244), 1, "0a1b2c3d")


def test_two_senders_are_one_flood() -> None:
    with (
        Receiver() as receiver,
        steered() as (loads, _),
        Flood(spec(receiver.port), loads.alive()) as flood,
    ):
        flood.steer(5001, None)
        assert flood.wait_until_idle(60).counts == (2501, 2500)
        final = flood.finish()
        assert set(flood.loads()) == {"north", "south"}
    assert (final.sent, final.error, final.truncated) == (5001, None, False)
    ranges = final.events.ranges()
    assert receiver.numbers() == [number for one in ranges for number in range(*one)]


def test_a_schedule_is_kept_by_both_together() -> None:
    with (
        Receiver() as receiver,
        steered() as (loads, _),
        Flood(spec(receiver.port), loads.alive()) as flood,
    ):
        began_s = time.monotonic()
        flood.follow(fixed(1000.0), 600)
        final = flood.wait_until_idle(60)
        timeline = flood.timeline()
    assert final.counts == (300, 300)
    assert isinstance(timeline, SpreadTimeline)
    assert abs(timeline.start_s - began_s) < 5.0
    assert 0 < timeline.error_s < 1.0
    assert timeline.intended_s(1299) - timeline.intended_s(1000) == pytest.approx(0.598)


def test_a_load_host_keeps_nothing_of_a_flood_that_ended() -> None:
    with Receiver() as receiver, steered() as (loads, children):
        processes = [psutil.Process(one.pid) for one in children.values()]
        before = [(one.num_fds(), len(one.children())) for one in processes]
        for _ in range(3):
            with Flood(spec(receiver.port), loads.alive()) as flood:
                flood.steer(100, None)
                assert flood.finish(10.0).error is None

        def after() -> list[tuple[int, int]]:
            return [(one.num_fds(), len(one.children())) for one in processes]

        def is_no_more() -> bool:
            pairs = zip(before, after(), strict=True)
            return all(now[0] <= then[0] and now[1] <= then[1] for then, now in pairs)

        # A process that had only just started may have had a file more open than later.
        assert wait_until(is_no_more, 60), (before, after())


def test_a_load_host_that_dies_is_named_and_not_used_again() -> None:
    with Receiver() as receiver, steered() as (loads, children):
        with Flood(spec(receiver.port), loads.alive()) as flood:
            flood.steer(10**9, 2000.0)
            children["south"].end()
            error = flood.wait_until_idle(60).error
            assert error is not None
            # The process that sends for it may be seen to die before it.
            assert error.startswith("south: "), error
        assert wait_until(lambda: [one.name for one in loads.alive()] == ["north"], 60)
        with Flood(spec(receiver.port), loads.alive()) as flood:
            flood.steer(1000, None)
            assert flood.wait_until_idle(60).counts == (1000,)
        assert loads.change() == "south: its process has ended; load comes from north now"
        assert loads.change() is None
        children["north"].end()
        assert wait_until(lambda: loads.change() is not None, 60)
        with pytest.raises(JobFailed, match="no load host answers: north, south"):
            loads.alive()


def test_a_load_host_that_comes_back_is_a_change_too() -> None:
    with steered() as (loads, children):
        assert loads.change() is None
        os.kill(children["south"].pid, signal.SIGSTOP)
        time.sleep(0.5)  # what it said before is heard by then
        loads.on_loss("south", "no answer for 5 s")
        assert loads.change() == "south: no answer for 5 s; load comes from north now"
        os.kill(children["south"].pid, signal.SIGCONT)
        assert wait_until(lambda: len(loads.alive()) == 2, 60)
        assert loads.change() == "load comes from north, south now"
        assert loads.change() is None


def encrypted(target: str, files: Certificates) -> FloodSpec:
    shown = Credentials(files.authority, files.sender, files.sender_key)
    return FloodSpec(Transport((target,), "tls", shown), 2, MessageSizes(244), 1, "0a1b2c3d")


def test_certificates_come_along(tmp_path: Path) -> None:
    """A load host has none of their files, and writes none."""
    files = certificates_in(str(tmp_path / "tls"))
    make_certificates(files)
    kept: list[bytes] = []
    receives = secured(files, kept)

    def remove(line: bytes) -> None:
        if line.startswith(b"BeginSender "):
            shutil.rmtree(files.folder)

    with serving(receives) as target, steered(remove) as (loads, _):
        (north, _) = loads.alive()
        with Flood(encrypted(target, files), [north]) as flood:
            flood.steer(1000, None)
            assert flood.wait_until_idle(60).counts == (1000,)
            flood.finish()
    assert not Path(files.folder).exists()
    assert numbers(b"".join(kept)) == list(range(1000))


def test_certificates_of_every_transport_come_along_and_each_host_must_be_allowed(
    tmp_path: Path,
) -> None:
    files = certificates_in(str(tmp_path / "tls"))
    make_certificates(files)
    kept: list[bytes] = []
    with Receiver() as receiver, serving(secured(files, kept)) as target, steered() as (loads, _):
        (north, _) = loads.alive()
        beside = encrypted(target, files).transport
        with Flood(replace(spec(receiver.port), beside=(beside,)), [north]) as flood:
            flood.steer(1000, None)
            assert flood.wait_until_idle(60).counts == (1000,)
            flood.finish()
        assert sorted(receiver.numbers() + numbers(b"".join(kept))) == list(range(1000))
        away = replace(spec(receiver.port), beside=(Transport(("192.0.2.1:514",)),))
        with pytest.raises(JobFailed, match=r"192\.0\.2\.1 is not local"):
            Flood(away, [north]).__enter__()


def test_a_certificate_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    files = certificates_in(str(tmp_path))
    with (
        steered() as (loads, _),
        pytest.raises(JobFailed, match=r"north: .*/ca\.pem: No such file or directory"),
    ):
        Flood(encrypted(loopback(9), files), loads.alive()).__enter__()
    Path(files.authority).write_bytes(b"\xff")
    with steered() as (loads, _), pytest.raises(JobFailed, match="is not a PEM file"):
        Flood(encrypted(loopback(9), files), loads.alive()).__enter__()


def test_only_what_the_load_host_allows_is_flooded() -> None:
    away = FloodSpec(Transport(("192.0.2.1:514",)), 2, MessageSizes(244), 1, "0a1b2c3d")
    with steered() as (loads, _):
        loads.require_allowed(["127.0.0.1"])
        with pytest.raises(Refused, match=r"north: 192\.0\.2\.1 is not local"):
            loads.require_allowed(["192.0.2.1"])
        with pytest.raises(JobFailed, match=r"192\.0\.2\.1 is not local"):
            Flood(away, loads.alive()).__enter__()


def test_a_load_host_that_never_answers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuner.cluster.loads._START_S", 0.2)
    loads = RemoteLoads(lambda _name, _line: None)
    with pytest.raises(Unreachable, match="no answer from north, south"), loads.answering(NAMES):
        pass

"""Failover in a real rsyslogd: who gets the events while another is away, and what is lost."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.outputs import Place, lines, place, receiving, wait
from tuner.engine.client import EngineClient
from tuner.engine.feed import kept_bulks
from tuner.host.process import give_to_daemons
from tuner.lab.entrances import TcpPort, free_port
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.lab.sink import Sink
from tuner.lint.lint import lint

pytestmark = [
    pytest.mark.live,
    pytest.mark.full,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

BATCH, WORKERS = 200, 2
PHASE = 2000
STANDS_IN = {"action.execOnlyWhenPreviousIsSuspended": True}
QUICK = {"action.resumeRetryCount": 0, "action.resumeInterval": 1}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Place]:
    with place(tmp_path) as found:
        yield found


def engine(url: str, **more: object) -> dict[str, object]:
    queue = {
        "type": "LinkedList", "size": 20000, "dequeueBatchSize": BATCH, "workerThreads": WORKERS,
        "workerThreadMinimumMessages": BATCH, "timeoutEnqueue": 86400000, "timeoutShutdown": 10000,
    }  # fmt: skip
    return {
        "name": "logs", "type": "omelasticsearch", "servers": [url], "index": {"name": "syslog"},
        "indexTimeout": 60000, "queue": queue, **QUICK, **more,
    }  # fmt: skip


def send(site: Place, phase: int) -> None:
    """The events of one phase, at a pace that goes on while something goes away."""
    for start in range(phase * PHASE, (phase + 1) * PHASE, 100):
        site.send(b"<13>Nov 21 06:30:00 h app: seq=%06d x" % n for n in range(start, start + 100))
        time.sleep(0.01)


def numbers(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"seq=(\d+)", text)]


def indexed(sink: Sink) -> list[int]:
    client = EngineClient(sink.url)
    try:
        return numbers(kept_bulks(client).decode("utf-8"))
    finally:
        client.close()


def of_phase(found: list[int], phase: int) -> int:
    return sum(number // PHASE == phase for number in found)


def written(file: Path) -> list[int]:
    return numbers("\n".join(lines(file)))


def test_a_file_stands_in_for_the_engine_and_gives_back(site: Place) -> None:
    file = site.folder / "fallback"
    fallback = {"name": "fallback", "type": "omfile", "file": str(file), **STANDS_IN}
    with Sink(keep=10**5) as sink:
        outputs = [engine(sink.url), fallback]
        with site.running(outputs):
            send(site, 0)
            wait(lambda: len(indexed(sink)) == PHASE)
            before, port = indexed(sink), sink.port
            sink.stop()
            send(site, 1)
            wait(lambda: max(written(file), default=0) == 2 * PHASE - 1)
            with Sink(port=port, keep=10**5) as again:
                wait(lambda: False, 3)
                send(site, 2)
                wait(lambda: len(indexed(again)) == PHASE)
                after = indexed(again)
    arrived = before + written(file) + after
    missing = set(range(3 * PHASE)) - set(arrived)
    assert len(arrived) == len(set(arrived))
    assert set(before) == set(range(PHASE))
    assert of_phase(after, 2) == PHASE
    assert {number // PHASE for number in missing} <= {1}
    assert 0 < len(missing) <= WORKERS * BATCH
    (said,) = [one.message for one in lint(site.profile(outputs)) if one.code == "RT255"]
    assert f"up to {WORKERS * BATCH} events" in said


def test_the_third_takes_over_only_when_the_second_is_away_too(site: Place, tmp_path: Path) -> None:
    """The engine, then another rsyslog, then a file; the last has a filter of its own."""
    file = site.folder / "fallback"
    with scratch(tmp_path) as below, Sink(keep=10**5) as sink:
        folder, port = subfolder(below, "receiver"), free_port()
        up: dict[str, object] = {"name": "up", "type": "omfwd", "target": "127.0.0.1", "port": port}
        last: dict[str, object] = {"name": "last", "type": "omfile", "file": str(file)}
        last["filter"] = {"match": [{"property": "msg", "contains": ["seq="]}]}
        config = receiving("imptcp", f'port="{port}"', folder / "received")
        receiver = Rsyslogd(config, folder, [TcpPort(port)])
        with site.running([engine(sink.url), up | QUICK | STANDS_IN, last | STANDS_IN]):
            send(site, 0)
            wait(lambda: len(indexed(sink)) == PHASE)
            assert (written(folder / "received"), written(file)) == ([], [])
            sink.stop()
            send(site, 1)
            wait(lambda: max(written(folder / "received"), default=0) == 2 * PHASE - 1)
            assert written(file) == []
            receiver.stop(5)
            send(site, 2)
            wait(lambda: max(written(file), default=0) == 3 * PHASE - 1)
        relayed = written(folder / "received")
    assert PHASE - WORKERS * BATCH <= of_phase(relayed, 1) <= PHASE
    assert of_phase(relayed, 2) == of_phase(written(file), 1) == 0
    assert PHASE - 2 * WORKERS * BATCH <= of_phase(written(file), 2) <= PHASE
    assert len(written(file)) == len(set(written(file)))


@pytest.mark.parametrize(("kind", "module"), [("omfwd", "imtcp"), ("omrelp", "imrelp")])
def test_a_receiver_that_dies_takes_events_with_it_unless_it_acknowledges_them(
    site: Place, tmp_path: Path, kind: str, module: str
) -> None:
    """It hangs first, so that events are under way when it dies; rsyslogd starts anew after it."""
    with scratch(tmp_path) as below:
        folder, port = subfolder(below, "received"), free_port()
        give_to_daemons(folder)
        config = receiving(module, f'port="{port}"', folder / "received")
        receiver = Rsyslogd(config, subfolder(below, "first"), [TcpPort(port)])
        up: dict[str, object] = {
            "name": "up", "type": kind, "target": "127.0.0.1", "port": port,
            "action.resumeInterval": 1,
            "queue": {"type": "LinkedList", "size": 50000, "timeoutShutdown": 10000},
        }  # fmt: skip
        if kind == "omrelp":
            up["windowSize"] = 5000
        with site.running([up]):
            send(site, 0)
            wait(lambda: len(written(folder / "received")) == PHASE)
            os.kill(receiver.pid, signal.SIGSTOP)
            send(site, 1)
            receiver.stop()
            receiver = Rsyslogd(config, subfolder(below, "second"), [TcpPort(port)])
            send(site, 2)
            wait(lambda: max(written(folder / "received"), default=0) == 3 * PHASE - 1)
        receiver.stop(5)
        arrived = set(written(folder / "received"))
    missing = set(range(3 * PHASE)) - arrived
    assert bool(missing) is (kind == "omfwd")
    assert any(one.code == "RT270" for one in lint(site.profile([up]))) is (kind == "omfwd")

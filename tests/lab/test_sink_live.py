"""A real rsyslogd between a flood and the sink: every event arrives, exactly once."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tuner.engine.client import EngineClient
from tuner.engine.delivery import DeliveryCheck, arrived
from tuner.engine.status import indexed
from tuner.flood.flood import Flood
from tuner.flood.spec import FloodSpec, Transport, loopback
from tuner.lab.entrances import free_port
from tuner.lab.sink import Sink
from tuner.profile.workload import MessageSizes

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

EVENTS = 20_000
CONFIG = r"""
global(net.enableDNS="off" workDirectory="{folder}")
module(load="imptcp")
module(load="omelasticsearch")
template(name="document" type="list") {{
  constant(value="{{\"@timestamp\":\"") property(name="timereported" dateFormat="rfc3339")
  constant(value="\",\"host\":\"") property(name="hostname" format="json")
  constant(value="\",") property(name="msg" format="jsonf" outname="message")
  constant(value=",") property(name="rawmsg" format="jsonf" outname="original")
  constant(value="}}")
}}
input(type="imptcp" port="{port}" address="127.0.0.1")
action(
  type="omelasticsearch" server=["{url}"] searchIndex="live" searchType="" bulkmode="on"
  template="document" {timeout}
  queue.type="LinkedList" queue.size="30000" queue.dequeueBatchSize="{batch}"
  queue.workerThreads="3" queue.workerThreadMinimumMessages="100"
)
"""


def account(client: EngineClient, index: str, count: int) -> DeliveryCheck:
    """What became of a flood of `count` events, the only one in an index of the sink."""
    (found,) = (one for one in arrived(client) if one.index == index)
    if not found.runs:
        return DeliveryCheck(count, 0, (), ())
    (run,) = found.runs
    return replace(run.account, lost=count - run.events)


def wait_listening(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline_s = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert process.poll() is None, "rsyslogd ended at once"
            assert time.monotonic() < deadline_s
            time.sleep(0.05)
        else:
            return


@contextmanager
def rsyslogd(folder: Path, port: int, config: str) -> Iterator[None]:
    path = folder / "rsyslog.conf"
    path.write_text(config)
    arguments = ["rsyslogd", "-n", "-f", str(path), "-i", str(folder / "pid")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(arguments, stdout=log, stderr=log)
    try:
        wait_listening(port, process)
        yield
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("batch", "timeout"),
    [
        (500, ""),
        (500, 'timeout="1m&filter_path=errors,items.*.status,items.*.error"'),
        # Above 1 MiB curl asks with Expect: 100-continue and would wait a second for its answer.
        (5000, ""),
    ],
)
def test_every_flooded_event_arrives_exactly_once(tmp_path: Path, batch: int, timeout: str) -> None:
    port = free_port()
    with Sink() as sink:
        config = CONFIG.format(
            folder=tmp_path, port=port, url=sink.url, batch=batch, timeout=timeout
        )
        client = EngineClient(sink.url)
        client.request("PUT", "/live")
        spec = FloodSpec(Transport((loopback(port),)), 5, MessageSizes(244), 1, "0a1b2c3d", EVENTS)
        with rsyslogd(tmp_path, port, config), Flood(spec) as flood:
            flood.steer(EVENTS, None)
            flood.wait_until_idle(20)
            assert flood.finish().sent == EVENTS
            deadline_s = time.monotonic() + 20
            while indexed(client, "live") < EVENTS and time.monotonic() < deadline_s:
                time.sleep(0.05)
        assert indexed(client, "live") == EVENTS
        assert account(client, "live", EVENTS) == DeliveryCheck(0, 0, (), ())
        client.close()

"""A real rsyslogd takes every kind of message and framing, and every event is accounted for."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.lab.test_sink_live import CONFIG, account, rsyslogd
from tests.live.hosts import NEEDS_HOSTS, hosts
from tuner.engine.client import EngineClient
from tuner.engine.delivery import DeliveryCheck
from tuner.engine.status import indexed
from tuner.flood.flood import Flood
from tuner.flood.spec import FloodSpec, Transport, loopback
from tuner.lab.entrances import free_port
from tuner.lab.sink import Sink
from tuner.profile.workload import MessageSizes

pytestmark = [
    pytest.mark.live,
    pytest.mark.full,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

EVENTS = 20_000
PLAIN = FloodSpec(Transport((loopback(1),)), 5, MessageSizes(244), 1, "0a1b2c3d", EVENTS)
P8 = replace(PLAIN, connections=10, sizes=MessageSizes(400, 137, 2133, "lognormal"))
LONGEST = replace(PLAIN, sizes=MessageSizes(8000))


def own_log(folder: Path) -> str:
    """Lines as awkward as real ones: long, binary, quoted, with control characters."""
    lines = [
        b"plain", b"tab\there", b"\x1b[31mred\x1b[0m", "snö 😀 ".encode() * 2000, b"x" * 20_000,
        b'{"json": "with \\"quotes\\""}', b"123 starts like a counted frame", b"<13>a priority",
    ]  # fmt: skip
    path = folder / "own.log"
    path.write_bytes(b"\r\n".join(lines))
    return str(path)


@pytest.mark.parametrize(
    "spec",
    [
        replace(P8, format="rfc5424", framing="octet-counted"),
        replace(P8, format="rfc5424"),
        replace(P8, framing="octet-counted"),
        LONGEST,
        replace(LONGEST, framing="octet-counted"),
        replace(PLAIN, replay="own"),
        replace(PLAIN, replay="own", format="rfc5424", framing="octet-counted"),
    ],
    ids=["5424-counted", "5424-lf", "3164-counted", "longest", "longest-counted", "replay",
         "replay-5424-counted"],
)  # fmt: skip
def test_rsyslogd_makes_one_event_of_every_message(tmp_path: Path, spec: FloodSpec) -> None:
    port = free_port()
    replay = spec.replay and own_log(tmp_path)
    with Sink() as sink:
        config = CONFIG.format(folder=tmp_path, port=port, url=sink.url, batch=1000, timeout="")
        client = EngineClient(sink.url)
        client.request("PUT", "/live")
        with (
            rsyslogd(tmp_path, port, config),
            Flood(replace(spec, transport=Transport((loopback(port),)), replay=replay)) as flood,
        ):
            flood.steer(EVENTS, None)
            flood.wait_until_idle(30)
            assert flood.finish().sent == EVENTS
            deadline_s = time.monotonic() + 30
            while indexed(client, "live") < EVENTS and time.monotonic() < deadline_s:
                time.sleep(0.05)
            time.sleep(0.1)
        assert indexed(client, "live") == EVENTS
        assert account(client, "live", EVENTS) == DeliveryCheck(0, 0, (), ())
        client.close()


@NEEDS_HOSTS
def test_messages_that_only_the_kernel_has_are_not_reported_as_sent(tmp_path: Path) -> None:
    with hosts(tmp_path / "hosts", "far") as (far,):
        # Whatever listens there will do.
        there = replace(PLAIN, transport=Transport((f"{far.ip}:22",)), connections=1, count=50)
        with Flood(there) as flood:
            far.cut()
            flood.steer(50, None)
            flood.wait_until_idle(60)
            final = flood.finish()
        far.heal()
    assert final.error is not None
    assert "has not taken the last 12," in final.error
    assert "does not answer any more" in final.error

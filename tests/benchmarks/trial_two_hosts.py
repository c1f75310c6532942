"""A trial of two hours on two hosts with a real engine, and what became of each event, by its
number.  Run by hand, as root; the three candidates can run beside each other:

    python -m tests.benchmarks.trial_two_hosts helps|nothing|hurts [--for 2h] [--rate 2000]

Each host is a network namespace with sshd, rsyslogd and impstats.  Its traffic has the rhythm of a
day in an hour.  An event that is neither there once nor sent within seconds of a restart would be
one that the trial lost otherwise.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.live.conftest import COMMAND, tune
from tests.live.engines import running
from tests.live.hosts import SshHost, hosts, inventory, passed
from tuner.engine.client import EngineClient, list_at, number_at
from tuner.engines.versions import DEFAULT
from tuner.host.process import wait_until
from tuner.profile.edit import edit

_PORT = 10514
_CONF = """\
module(load="imuxsock" SysSock.Name="/run/devlog")
module(load="imtcp")
module(load="impstats" interval="5" format="json" log.file="/var/log/impstats.log" log.syslog="off")
module(load="omelasticsearch")
template(name="numbered" type="list" option.jsonf="on") {{
    property(outname="message" name="msg" format="jsonf")
    property(outname="n" name="msg" regex.type="ERE" regex.expression="n=([0-9]+)"
             regex.submatch="1" format="jsonf" datatype="number")
}}
input(type="imtcp" port="{port}")
action(name="es" type="omelasticsearch" server="{url}" searchIndex="logs" searchType=""
       template="numbered" bulkmode="on" action.resumeRetryCount="-1" queue.type="LinkedList"
       queue.size="50000" queue.dequeueBatchSize="16" queue.workerThreads="1")
"""
CANDIDATES: Mapping[str, Mapping[str, object]] = {
    "helps": {
        "action[es].queue.dequeueBatchSize": 2000,
        # Where one worker keeps up, batches are small whatever they may be.
        "action[es].queue.minDequeueBatchSize": 200,
        "action[es].queue.minDequeueBatchSize.timeout": 1000,
    },
    "nothing": {"action[es].queue.size": 60000},
    "hurts": {"action[es].queue.size": 100},
}
_TICK_S, _DAY_S, _SWING = 0.05, 3600.0, 0.6
_APART = 10**9
_BLOCK = 10_000
# What was in sockets and in rsyslogd when it was stopped.
_NEAR_S = 3.0
_PATIENCE_S = 120.0


@dataclass
class NumberedTraffic:
    """Numbered events to a host, whose rate goes up and down; it connects again where it is cut
    off.  `ticks` holds when the events from a number on were handed over."""

    host: SshHost
    first: int
    per_second: float
    ticks: list[tuple[int, float]] = field(default_factory=list)
    next: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    def send(self) -> None:
        """Until `stop`."""
        began_s, due = time.monotonic(), 0.0
        self.next = self.first
        while not self._over.is_set():
            with (
                contextlib.suppress(OSError),
                socket.create_connection((self.host.ip, _PORT), 1) as to,
            ):
                while not self._over.wait(_TICK_S):
                    day = (time.monotonic() - began_s) / _DAY_S
                    due += self.per_second * _TICK_S * (1 + _SWING * math.sin(2 * math.pi * day))
                    begin, self.next = self.next, self.next + int(due)
                    due -= int(due)
                    self.ticks.append((begin, time.time()))
                    to.sendall(b"".join(map(_line, range(begin, self.next))))
            self._over.wait(0.1)

    def stop(self) -> None:
        """Send no more."""
        self._over.set()

    def sent_at(self, number: int) -> float:
        """When an event was handed over."""
        return self.ticks[bisect_right(self.ticks, (number, math.inf)) - 1][1]


def _line(number: int) -> bytes:
    return (
        b"<13>Nov 30 12:00:00 web app[77]: n=%d a message of the usual length, so to say\n" % number
    )


@dataclass
class Restarts:
    """When the rsyslogd of a host became another one, and whether it is that of the candidate."""

    host: SshHost
    text: bytes
    seen: list[tuple[float, str]] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        """Until `stop`."""
        last = self.host.pid
        while not self._over.wait(0.2):
            with contextlib.suppress(OSError, ValueError):
                if (pid := self.host.pid) != last:
                    side = "A" if self.host.conf.read_bytes() == self.text else "B"
                    self.seen.append((time.time(), side))
                    last = pid

    def stop(self) -> None:
        """Watch no more."""
        self._over.set()


def counted(client: EngineClient, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """The numbers in a range of which there is not one document, with how many there are."""
    for first in range(begin, end, _BLOCK):
        last = min(end, first + _BLOCK)
        body = {
            "size": 0,
            "query": {"range": {"n": {"gte": first, "lt": last}}},
            "aggs": {"each": {"terms": {"field": "n", "size": _BLOCK}}},
        }
        answer = client.request("POST", "/logs/_search", body)
        found = list_at(answer, "aggregations", "each", "buckets")
        times = {number_at(one, "key"): number_at(one, "doc_count") for one in found}
        yield from ((n, times.get(n, 0)) for n in range(first, last) if times.get(n, 0) != 1)


def accounted(client: EngineClient, traffic: NumberedTraffic, restarts: Restarts) -> str:
    """What became of the events of a host."""
    lost, doubled = Counter[str](), Counter[str]()
    for number, times in counted(client, traffic.first, traffic.next):
        sent_s = traffic.sent_at(number)
        near = [side for at_s, side in restarts.seen if abs(at_s - sent_s) <= _NEAR_S]
        (doubled if times else lost)[f"when {near[0]} began" if near else "elsewhere"] += 1
    began = Counter(side for _, side in restarts.seen)
    return (
        f"{traffic.host.name}: {traffic.next - traffic.first:,} sent, restarts {dict(began)}, "
        f"lost {dict(lost)}, doubled {dict(doubled)}"
    )


def main() -> None:
    """Try a candidate, and account for every event."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("candidate", choices=[*CANDIDATES])
    parser.add_argument("--for", dest="lasts", default="2h")
    parser.add_argument("--block", default="2m")
    parser.add_argument("--rate", type=float, default=2000.0, help="events a second of each host")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="two-hosts-") as text, ExitStack() as stack:
        folder = Path(text)
        client = stack.enter_context(running(DEFAULT.release, folder))
        client.request("PUT", "/logs", {"mappings": {"properties": {
            "message": {"type": "text"}, "n": {"type": "long"},
        }}})  # fmt: skip
        every = stack.enter_context(hosts(folder / "hosts", "collector1", "collector2"))
        inventory(folder / "hosts.yaml", **{host.name: host for host in every})
        for host in every:
            stack.enter_context(host.sees(client.url))
            host.write("/etc/rsyslog.conf", _CONF.format(port=_PORT, url=client.url))
            passed(host.run("systemctl", "restart", "rsyslog"))
        words = ("--inventory", "hosts.yaml")
        done = tune("import", "--host", "collector1", *words, "-o", "best.yaml", folder=folder)
        assert done.code == 0, done.err
        profile = folder / "best.yaml"
        changes = {"changes": dict(CANDIDATES[options.candidate])}
        profile.write_text(edit(profile.read_text("utf-8"), changes), "utf-8")
        traffics = [
            NumberedTraffic(host, _APART * number, options.rate)
            for number, host in enumerate(every, 1)
        ]
        watches = [Restarts(host, host.conf.read_bytes()) for host in every]
        threads = [
            threading.Thread(target=job, daemon=True)
            for job in (*(one.send for one in traffics), *(one.watch for one in watches))
        ]
        for thread in threads:
            thread.start()
        command = [
            *COMMAND, "trial", "best.yaml", "--host", "collector1", "--host", "collector2", *words,
            "--together", "--elasticsearch", client.url, "--for", options.lasts,
            "--block", options.block, "--burn-in", "20s", "--yes", "--run-dir", "trial",
        ]  # fmt: skip
        # One that runs beside it has a journal of its own.
        own = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
        code = subprocess.run(command, cwd=folder, env=own, check=False).returncode
        _say(f"exit {code}")
        for stop in (*(one.stop for one in traffics), *(one.stop for one in watches)):
            stop()
        for thread in threads:
            thread.join()
        _settle(client)
        for traffic, watch in zip(traffics, watches, strict=True):
            _say(accounted(client, traffic, watch))
        page = folder / "trial" / "trial.html"
        if page.exists():
            kept = Path.cwd() / f"trial-{options.candidate}.html"
            kept.write_bytes(page.read_bytes())


def _settle(client: EngineClient) -> None:
    """Wait until no more documents come."""
    last = [-1]

    def is_quiet() -> bool:
        before, last[0] = last[0], number_at(client.get("/logs/_count"), "count")
        return before == last[0]

    assert wait_until(is_quiet, _PATIENCE_S, poll_s=5.0)
    client.request("POST", "/logs/_refresh")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

"""What compression on the wire is worth: omelasticsearch, and omhttp with and without `compress`,
with the same bulks into one Elasticsearch, as fast as links of three speeds carry them.  Run by
hand, as root, on a quiet machine:

    unshare --net python -m tests.benchmarks.wire [--events 300000] [--rounds 3]

All of it is on the loopback of a network namespace with packets of 1,500 bytes, in which `tc`
limits what goes to and comes from the engine.  rsyslogd is Debian sid's, which alone has omhttp.
A rate is that from the first message to the last document; bytes are those that went to the engine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.index_modes import group_cpu_s
from tests.live.rsyslogs import SUITES
from tests.profile.examples import small
from tuner.engine.client import EngineClient, number_at
from tuner.engines.release import Release
from tuner.engines.versions import distribution_for
from tuner.flood.flood import Flood
from tuner.flood.workload import flood_spec
from tuner.host.process import wait_until
from tuner.host.programs import CHOSEN_RSYSLOGD
from tuner.lab.entrances import TcpPort
from tuner.lab.nodes import NodePlan, Nodes, nodes_here
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.profile.model import Profile
from tuner.render.artefacts import render, rsyslog_conf
from tuner.space.table import REPLY_FILTER

PORT, BATCH = 10514, 2000
SHAPED, FREE = "1:20", "1:10"
LINKS = {"loopback": "40gbit", "1 Gbit/s": "1gbit", "100 Mbit/s": "100mbit"}
QUEUE: Mapping[str, object] = {
    "type": "LinkedList", "size": 100_000, "dequeueBatchSize": BATCH, "workerThreads": 2,
    "workerThreadMinimumMessages": BATCH, "timeoutEnqueue": 86_400_000, "timeoutShutdown": 10_000,
}  # fmt: skip
HTTP: Mapping[str, object] = {
    "name": "logs", "type": "omhttp", "httpcontenttype": "application/x-ndjson",
    "document": "ecs", "bulk": "create", "batch": True, "batch.maxsize": BATCH,
    "batch.maxbytes": "20m", "queue": QUEUE,
}  # fmt: skip
SENDERS: Mapping[str, Mapping[str, object]] = {
    "omelasticsearch": {"type": "omelasticsearch"},
    "omelasticsearch, filtered replies": {
        "type": "omelasticsearch",
        "filter_path": list(REPLY_FILTER),
    },
    "omhttp": HTTP,
    "omhttp, compress, level 1": {**HTTP, "compress": True, "compress.level": 1},
    "omhttp, compress, level 6": {**HTTP, "compress": True, "compress.level": 6},
}


@dataclass(frozen=True)
class Sent:
    """Events per second, microseconds of CPU per event of rsyslogd and of the engine, and bytes per
    event that went to the engine."""

    eps: float
    shipper_us: float
    engine_us: float
    wire_bytes: float


def shape(rate: str, port: int) -> None:
    """Limit what goes to and from a port of the loopback to a rate."""
    subprocess.run(["tc", "qdisc", "del", "dev", "lo", "root"], check=False, capture_output=True)
    for line in (
        "qdisc add dev lo root handle 1: htb default 10",
        f"class add dev lo parent 1: classid {FREE} htb rate 40gbit",
        f"class add dev lo parent 1: classid {SHAPED} htb rate {rate} burst 64k",
        f"class add dev lo parent 1: classid 1:30 htb rate {rate} burst 64k",
        f"filter add dev lo parent 1: protocol ip u32 match ip dport {port} 0xffff flowid {SHAPED}",
        f"filter add dev lo parent 1: protocol ip u32 match ip sport {port} 0xffff flowid 1:30",
    ):
        subprocess.run(["tc", *line.split()], check=True)


def shaped_bytes() -> int:
    """How many bytes went to the engine's port."""
    shown = subprocess.run(
        ["tc", "-s", "class", "show", "dev", "lo"], check=True, capture_output=True, text=True
    ).stdout
    found = re.search(rf"class htb {SHAPED} .*?Sent (\d+) bytes", shown, re.DOTALL)
    assert found is not None, shown
    return int(found[1])


def measure(client: EngineClient, group: int, sender: str, events: int, folder: Path) -> Sent:
    """Send events to a fresh index; raises AssertionError where one does not arrive."""
    index = f"wire-{secrets.token_hex(3)}"
    output = dict(SENDERS[sender])
    if output["type"] == "omhttp":
        output |= {
            "server": [client.url],
            "restpath": f"{index}/_bulk?filter_path={','.join(REPLY_FILTER)}",
        }
    else:
        output |= {
            "name": "logs", "servers": [client.url], "document": "ecs", "queue": QUEUE,
            "index": {"name": index}, "indexTimeout": 60_000, "action.resumeRetryCount": -1,
        }  # fmt: skip
    inputs = [{"type": "imptcp", "address": "127.0.0.1", "port": PORT}]
    release = {"rsyslog": "8.2610", "elasticsearch": "9.5"}
    profile = small(
        {"release": release, "guardrails.tier": "relaxed", "inputs": inputs, "outputs": [output]}
    )
    client.request("PUT", f"/{index}", mapping())
    inner = subfolder(folder, index)
    rsyslogd = Rsyslogd(rsyslog_conf(profile), inner, [TcpPort(PORT)])
    try:
        # Threads, connections and the engine get warm.
        flooded(client, rsyslogd, profile, index, 20_000, 0)
        bytes_before, cpu_before = shaped_bytes(), group_cpu_s(group)
        used_before = rsyslogd.usage().cpu_s
        began_s = time.monotonic()
        flooded(client, rsyslogd, profile, index, events, 20_000)
        took_s = time.monotonic() - began_s
        return Sent(
            eps=events / took_s,
            shipper_us=1e6 * (rsyslogd.usage().cpu_s - used_before) / events,
            engine_us=1e6 * (group_cpu_s(group) - cpu_before) / events,
            wire_bytes=(shaped_bytes() - bytes_before) / events,
        )
    finally:
        rsyslogd.stop()
        client.request("DELETE", f"/{index}")
        shutil.rmtree(inner, ignore_errors=True)


def mapping() -> dict[str, object]:
    """The index that the rendered profile wants."""
    release = {"rsyslog": "8.2302", "elasticsearch": "9.5"}
    settings = {"number_of_replicas": 0, "refresh_interval": "30s"}
    profile = small(
        {"release": release, "outputs[logs].index": {"name": "wire", "settings": settings}}
    )
    files = {file.path: file.text for file in render(profile)}
    template: dict[str, object] = json.loads(files["index-template.json"])["template"]
    return template


def flooded(
    client: EngineClient, rsyslogd: Rsyslogd, profile: Profile, index: str, events: int, before: int
) -> None:
    """Send events, and wait until the index has them beside those `before`."""

    def arrived() -> bool:
        rsyslogd.check()
        answer = client.get(f"/{index}/_stats/indexing")
        path = ("_all", "primaries", "indexing", "index_total")
        return number_at(answer, *path) >= before + events

    with Flood(flood_spec(profile, secrets.token_hex(4), events)) as flood:
        flood.steer(events, None)
        assert wait_until(arrived, 600, 0.1), f"{index}: not all {events} events arrived"
        flood.finish()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ[CHOSEN_RSYSLOGD] = str(SUITES[-1].rsyslogd)
    subprocess.run(["ip", "link", "set", "lo", "up", "mtu", "1500"], check=True)
    plan = NodePlan(distribution_for(Release(elasticsearch="9.5")), "2g")
    drawn, results = random.Random(1), dict[tuple[str, str], list[Sent]]()
    with tempfile.TemporaryDirectory() as parent, scratch(Path(parent)) as folder:
        nodes = Nodes(plan, nodes_here(folder / "engine"))
        try:
            client, group = nodes.client(), os.getpgid(nodes.running[0].pid)
            port = int(client.url.rsplit(":", 1)[1])
            shape(LINKS["loopback"], port)
            measure(client, group, "omelasticsearch", options.events, folder)
            for round_ in range(options.rounds):
                for link, rate in LINKS.items():
                    shape(rate, port)
                    for sender in drawn.sample([*SENDERS], len(SENDERS)):
                        sent = measure(client, group, sender, options.events, folder)
                        results.setdefault((link, sender), []).append(sent)
                        sys.stderr.write(f"{round_ + 1} {link} {sender}: {sent}\n")
        finally:
            nodes.stop()
    write(results)


def write(results: Mapping[tuple[str, str], list[Sent]]) -> None:
    """A row for each link and sender: the median, and the range of the rates."""
    sys.stdout.write("| link | output | EPS (range) | rsyslogd us | engine us | bytes |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n")
    for (link, sender), runs in results.items():
        rates = [sent.eps for sent in runs]
        rate = f"{statistics.median(rates):,.0f} ({min(rates):,.0f} to {max(rates):,.0f})"
        row = (
            link, sender, rate,
            *(
                f"{statistics.median(getattr(sent, name) for sent in runs):.{digits}f}"
                for name, digits in (("shipper_us", 1), ("engine_us", 1), ("wire_bytes", 0))
            ),
        )  # fmt: skip
        sys.stdout.write(f"| {' | '.join(row)} |\n")


if __name__ == "__main__":
    main()

"""CPU microseconds per event of the sink.  Run by hand:

python -m tests.benchmarks.sink_cost [--messages 2000000] [--message-bytes 244]
"""

from __future__ import annotations

import argparse
import http.client
import json
import socket
import sys
import time

from tuner.flood.messages import Messages
from tuner.flood.spec import FloodSpec, Transport, loopback
from tuner.lab.sink import Sink
from tuner.profile.workload import MessageSizes

BATCHES = (128, 1000, 5000)
SHORT = "?filter_path=errors,items.*.status,items.*.error"


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def bulk_body(batch: int, mean_bytes: int) -> bytes:
    """A bulk of documents with the fields of a real one around flooded messages."""
    messages = Messages(
        FloodSpec(Transport((loopback(514),)), 1, MessageSizes(mean_bytes), 1, "0a1b2c3d")
    )
    lines: list[str] = []
    while len(lines) < batch:
        block = messages.take(batch - len(lines), int(time.time()))
        lines += bytes(block.data).decode().splitlines()
    document = {"@timestamp": "2026-11-21T01:43:30+00:00", "host": {"name": "web-01"}}
    document |= {"log": {"syslog": {"severity": {"code": 6}, "facility": {"code": 3}}}}
    return "".join(
        '{"index":{"_index":"cost"}}\n' + json.dumps({**document, "message": line}) + "\n"
        for line in lines
    ).encode()


def sink_cost(events: int, mean_bytes: int, batch: int, query: str) -> None:
    body = bulk_body(batch, mean_bytes)
    with Sink() as sink:
        connection = http.client.HTTPConnection("127.0.0.1", sink.port)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def ask(method: str, path: str, sent: bytes | None = None) -> bytes:
            connection.request(method, path, sent)
            return connection.getresponse().read()

        def cpu_s() -> float:
            stats = json.loads(ask("GET", "/_nodes/stats"))
            return float(stats["nodes"]["sink"]["process"]["cpu"]["total_in_millis"]) / 1000

        before_s = cpu_s()
        started_s = time.monotonic()
        for _ in range(events // batch):
            ask("POST", f"/_bulk{query}", body)
        seconds = time.monotonic() - started_s
        used_s = cpu_s() - before_s
        count = events // batch * batch
        connection.close()
    say(
        f"sink, batches of {batch:5}, {'short' if query else 'full'} replies: "
        f"{used_s / count * 1e6:6.3f} us CPU per event of {len(body) // batch} bytes, "
        f"{count / seconds:10,.0f} per second"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=2_000_000)
    parser.add_argument("--message-bytes", type=int, default=244)
    options = parser.parse_args()
    for batch in BATCHES:
        for query in (SHORT, ""):
            sink_cost(options.messages // 4, options.message_bytes, batch, query)


if __name__ == "__main__":
    main()

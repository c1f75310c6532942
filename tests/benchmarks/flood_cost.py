"""CPU microseconds per message of the flood's process, and per event of the sink.  Run by hand:

python -m tests.benchmarks.flood_cost [--messages 2000000] [--message-bytes 244]
"""

from __future__ import annotations

import argparse
import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tuner.flood.flood import Flood, FloodSpec
from tuner.flood.messages import Messages
from tuner.lab.sink import Sink

RATES = (None, 300_000.0, 100_000.0, 30_000.0)
BATCHES = (128, 1000, 5000)
SHORT = "?filter_path=errors,items.*.status,items.*.error"
DISCARD = """
import socket, threading
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
def discard(connection):
    buffer = bytearray(1 << 20)
    while connection.recv_into(buffer):
        pass
    connection.close()
while True:
    threading.Thread(target=discard, args=(listener.accept()[0],), daemon=True).start()
"""


@contextmanager
def discarding_receiver() -> Iterator[int]:
    """A receiver in a process of its own that drops what it gets; yields its port."""
    command = [sys.executable, "-c", DISCARD]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def sender_cost(port: int, messages: int, mean_bytes: int, rate: float | None) -> None:
    total = messages if rate is None else int(rate * 3)
    with Flood(FloodSpec("127.0.0.1", port, 5, mean_bytes, 1, "0a1b2c3d", total)) as flood:
        flood.steer(total, rate)
        flood.wait_until_idle(60)
        done = flood.finish()
    seconds = (done.last_send_s or 0.0) - (done.first_send_s or 0.0)
    asked = "max" if rate is None else f"{rate:,.0f}/s"
    say(
        f"sender at {asked:>10}: {done.cpu_seconds / done.sent * 1e6:6.3f} us CPU per message, "
        f"{done.sent / seconds:12,.0f} per second, blocked {done.blocked_seconds:.3f} s"
    )


def bulk_body(batch: int, mean_bytes: int) -> bytes:
    """A bulk of documents with the fields of a real one around flooded messages."""
    messages = Messages(1, "0a1b2c3d", mean_bytes)
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
    with discarding_receiver() as port:
        for rate in RATES:
            sender_cost(port, options.messages, options.message_bytes, rate)
    for batch in BATCHES:
        for query in (SHORT, ""):
            sink_cost(options.messages // 4, options.message_bytes, batch, query)


if __name__ == "__main__":
    main()

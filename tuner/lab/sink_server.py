"""The process of the sink: `python -m tuner.lab.sink_server`.

It listens on loopback, writes one line of JSON with its port, and ends when its input does.
"""

from __future__ import annotations

import argparse
import json
import signal
import socket
import sys
import threading
import time
from contextlib import suppress

from tuner.errors import BadUsage
from tuner.lab.faults import parse_fault
from tuner.lab.sink_api import answer
from tuner.lab.sink_http import BadRequest, Conversation, json_reply
from tuner.lab.sink_store import Store

BACKLOG = 128


def converse(connection: socket.socket, store: Store) -> None:
    """Answer the requests on one connection until it ends."""
    with connection, suppress(ConnectionError):
        conversation = Conversation(connection)
        try:
            for request in conversation.requests():
                started_s = time.perf_counter()
                conversation.answer(answer(store, request), with_body=request.method != "HEAD")
                if request.path.endswith("/_bulk"):
                    took_s = time.perf_counter() - started_s
                    store.times.add(request.path, len(request.body), took_s)
        except BadRequest as bad:
            conversation.answer(json_reply({"error": str(bad)}, bad.status))


def serve(listener: socket.socket, store: Store) -> None:
    """Accept connections forever, each in a thread of its own."""
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=converse, args=(connection, store), daemon=True).start()


def main() -> None:
    """Listen until the standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parser = argparse.ArgumentParser(description="Counts the documents of bulk requests.")
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--fault", action="append", default=[], help="such as status=429,after=5")
    parser.add_argument("--keep", type=int, default=0, help="the first documents, as they come")
    arguments = parser.parse_args()
    port = arguments.port
    try:
        store = Store([parse_fault(text) for text in arguments.fault], arguments.keep)
    except BadUsage as error:
        sys.exit(str(error))
    try:
        listener = socket.create_server(("127.0.0.1", port), backlog=BACKLOG)
    except OSError as error:
        sys.exit(f"the sink cannot listen on 127.0.0.1:{port}: {error.strerror}")
    threading.Thread(target=serve, args=(listener, store), daemon=True).start()
    sys.stdout.write(json.dumps({"port": listener.getsockname()[1]}) + "\n")
    sys.stdout.flush()
    with suppress(OSError):
        sys.stdin.buffer.read()


if __name__ == "__main__":
    main()

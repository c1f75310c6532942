"""The process of the sink: `python -m tuner.lab.sink_server`.

It listens on loopback, writes one line of JSON with its port, and ends when its input does.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from http import HTTPStatus

from tuner.engine.client import JSON
from tuner.engine.delivery import Expectation
from tuner.engine.numbering import SentEvents
from tuner.engines.versions import DEFAULT
from tuner.errors import BadUsage
from tuner.lab.sink import Fault, parse_fault
from tuner.lab.sink_bulk import BadBulk, bulk
from tuner.lab.sink_http import BadRequest, Conversation, HttpRequest, Reply, json_reply
from tuner.lab.sink_store import Exists, Missing, Store

VERSION = DEFAULT.version
_CLUSTER = "rsyslog-tune-sink"
_GREETING: JSON = {
    "name": "sink",
    "cluster_name": _CLUSTER,
    "version": {"number": VERSION, "build_flavor": "default", "build_type": "sink"},
    "tagline": "You Know, for Search",
}
_HEALTH: JSON = {
    "cluster_name": _CLUSTER, "status": "green", "number_of_nodes": 1, "number_of_data_nodes": 1,
}  # fmt: skip
_ACKNOWLEDGED: JSON = {"acknowledged": True}

Handler = Callable[[Store, HttpRequest, str], object]
"""Gives a reply, or what is to be answered as JSON."""


def answer(store: Store, request: HttpRequest) -> Reply:
    """Answer one request."""
    try:
        for methods, address, handler in _ROUTES:
            match = address.fullmatch(request.path)
            if match is not None and request.method in methods:
                given = handler(store, request, match["name"] if address.groups else "")
                return given if isinstance(given, Reply) else json_reply(given)
    except Missing as missing:
        return _error(404, "index_not_found_exception", f"no such index [{missing}]")
    except Exists as exists:
        return _error(400, "resource_already_exists_exception", f"[{exists}] already exists")
    except (BadBulk, ValueError) as error:
        return _error(400, "illegal_argument_exception", str(error))
    reason = f"no handler found for uri [{request.path}] and method [{request.method}]"
    return _error(400, "illegal_argument_exception", reason)


def _error(status: int, kind: str, reason: str) -> Reply:
    return json_reply({"error": {"type": kind, "reason": reason}, "status": status}, status)


def _body(request: HttpRequest) -> JSON:
    body = json.loads(request.body) if request.body else {}
    if not isinstance(body, dict):
        raise ValueError("the body must be a JSON object")
    return body


def _of_node(**facts: object) -> JSON:
    return {"nodes": {"sink": facts}}


def _nodes_stats(store: Store, _request: HttpRequest, _name: str) -> object:
    """What the sink has no number for is 0, as it is where an engine says nothing of it."""
    under_way = store.injector.under_way_bytes
    return _of_node(
        process={"cpu": {"total_in_millis": int(time.process_time() * 1000)}},
        indexing_pressure={"memory": {"current": {"all_in_bytes": under_way}}},
        http={"routes": store.times.routes()},
    )


def _cat_health(_store: Store, _request: HttpRequest, _name: str) -> Reply:
    clock = time.strftime("%H:%M:%S", time.gmtime())
    line = f"{int(time.time())} {clock} rsyslog-tune-sink green 1 1 0 0 0 0 0 0 - 100.0%\n"
    return Reply(line.encode(), kind="text/plain; charset=UTF-8")


def _bulk(store: Store, request: HttpRequest, name: str) -> Reply:
    body, filter_path = _without_empty_lines(request.body), request.query.get("filter_path")

    def stored(fault: Fault | None) -> tuple[bytes, int]:
        reply = bulk(body, name or None, filter_path, store.add, store.claim, fault)
        store.kept.add(body)
        return reply

    return store.injector.bulk(body, stored)


def _without_empty_lines(body: bytes) -> bytes:
    """As engines read a body: a template may end in a line end of its own (F5), and omhttp writes
    empty lines between documents."""
    is_plain = b"\n\n" not in body and not body.startswith(b"\n")
    return body if is_plain else re.sub(rb"\n+", b"\n", body).removeprefix(b"\n")


def _index_one(store: Store, request: HttpRequest, name: str) -> Reply:
    """One document in a request of its own, as omelasticsearch sends them without bulkmode."""
    # Line ends are blanks of JSON, and end the lines of a bulk.
    document = request.body.replace(b"\n", b" ")
    action = json.dumps({"index": {"_index": name}}).encode()
    made = replace(request, body=b"%b\n%b\n" % (action, document), query={})
    reply = _bulk(store, made, name)
    if reply.status != HTTPStatus.OK:
        return reply
    (item,) = json.loads(reply.body)["items"]
    return json_reply(item["index"], item["index"]["status"])


def _create(store: Store, request: HttpRequest, name: str) -> object:
    store.create(name, _body(request))
    return {**_ACKNOWLEDGED, "shards_acknowledged": True, "index": name}


def _delete(store: Store, _request: HttpRequest, name: str) -> object:
    if "*" in name or name == "_all":
        raise ValueError("Wildcard expressions or all indices are not allowed")
    store.delete(name)
    return _ACKNOWLEDGED


def _mapping(store: Store, _request: HttpRequest, name: str) -> object:
    return {index.name: {"mappings": index.mappings} for index in store.indices(name)}


def _nothing_to_do(store: Store, _request: HttpRequest, name: str) -> object:
    store.indices(name)
    return {}


def _count(store: Store, _request: HttpRequest, name: str) -> object:
    return {"count": sum(index.documents for index in store.indices(name))}


def _stats(store: Store, _request: HttpRequest, name: str) -> object:
    documents = sum(index.documents for index in store.indices(name))
    return {"_all": {"primaries": {"indexing": {"index_total": documents}}}}


def _put_template(store: Store, request: HttpRequest, name: str) -> object:
    new = request.query.get("create") in {"", "true"}
    store.put_template(name, _body(request), must_be_new=new)
    return _ACKNOWLEDGED


def _get_templates(store: Store, _request: HttpRequest, name: str) -> object:
    templates = store.templates(name or "*").items()
    listed = [{"name": name, "index_template": body} for name, body in templates]
    return {"index_templates": listed}


def _delete_template(store: Store, _request: HttpRequest, name: str) -> object:
    store.delete_template(name)
    return _ACKNOWLEDGED


def _check_delivery(store: Store, request: HttpRequest, name: str) -> object:
    body = _body(request)
    sent, expected = body.get("sent"), body.get("expected")
    if not isinstance(sent, list) or not isinstance(expected, list):
        raise ValueError("the body must have sent and expected, two lists")
    wanted = Expectation(tuple(tuple(map(int, counts)) for counts in expected))
    counts = SentEvents(tuple(map(int, sent)))
    return asdict(store.check_delivery(name, counts, str(body.get("run")), wanted))


def _arrived(store: Store, request: HttpRequest, name: str) -> object:
    output, count = (int(request.query.get(key, "0")) for key in ("output", "count"))
    return {"arrived": store.arrived(name, request.query["run"], output, count)}


def _sample(store: Store, _request: HttpRequest, name: str) -> object:
    documents = [document.decode("utf-8", "replace") for document in store.sample(name)]
    return {"documents": documents}


def _numbers(store: Store, request: HttpRequest, name: str) -> object:
    width = max(1, int(request.query.get("width", "1")))
    output = int(request.query.get("output", "0"))
    blocks = store.numbers(name, request.query["run"], output, width)
    return {"buckets": [{"key": key, "doc_count": n} for key, n in blocks.items()]}


def _route(
    methods: str, address: str, handler: Handler
) -> tuple[set[str], re.Pattern[str], Handler]:
    """A route; NAME in its address stands for the name or pattern that the handler gets."""
    pattern = address.replace("NAME", "(?P<name>[^/_][^/]*|_all)")
    return set(methods.split()), re.compile(pattern), handler


_ROUTES = (
    _route("POST PUT", "/_bulk", _bulk),
    _route("POST PUT", "/NAME/_bulk", _bulk),
    _route("GET HEAD", "/", lambda *_: _GREETING),
    _route("GET", "/_nodes/_local", lambda *_: _of_node(version=VERSION)),
    # One: the threads of a Python process take turns.
    _route("GET", "/_nodes/os", lambda *_: _of_node(os={"allocated_processors": 1})),
    _route("GET", "/_nodes/stats(?:/.*)?", _nodes_stats),
    _route("GET HEAD", "/_cat/health", _cat_health),
    _route(
        "GET",
        "/_cat/indices(?:/NAME)?",
        lambda store, _, name: [{"index": index.name} for index in store.indices(name or "*")],
    ),
    _route("GET", "/_cluster/health", lambda *_: _HEALTH),
    _route("POST", "/_sink/NAME/account", _check_delivery),
    _route("GET", "/_sink/NAME/arrived", _arrived),
    _route("GET", "/_sink/NAME/numbers", _numbers),
    _route("GET", "/_sink/NAME/sample", _sample),
    _route("GET", "/_sink/kept", lambda store, *_: Reply(store.kept.lines)),
    _route(
        "GET",
        "/_sink/faults",
        lambda store, *_: {"strikes": list(map(asdict, store.injector.hits))},
    ),
    _route(
        "GET", "/_sink/books", lambda store, *_: {"indices": list(map(asdict, store.arrivals()))}
    ),
    _route("PUT POST", "/_index_template/NAME", _put_template),
    _route("GET HEAD", "/_index_template(?:/NAME)?", _get_templates),
    _route("DELETE", "/_index_template/NAME", _delete_template),
    _route("GET", "/NAME/_stats(?:/.*)?", _stats),
    _route("GET POST", "/NAME/_count", _count),
    _route("POST", "/NAME/_(?:refresh|flush|forcemerge)", _nothing_to_do),
    _route("POST PUT", "/NAME/(?:_doc|_create|[^/_][^/]*)(?:/[^/]+)?", _index_one),
    _route("GET", "/NAME/_mapping", _mapping),
    _route("PUT", "/NAME", _create),
    _route("DELETE", "/NAME", _delete),
)


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

"""Clients that send prepared bulk requests to an engine, as fast as it answers."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import requests

from tuner.engine.client import EngineClient, EngineRefused, at, list_at, number_at, whole_body
from tuner.errors import JobFailed
from tuner.modules.omelasticsearch import OmelasticsearchOutput

MOST_BULK_BYTES = 100 * 1024**2
"""The default of Elasticsearch's and OpenSearch's `http.max_content_length`."""

# The headers of omelasticsearch, which accepts no compressed replies.
_HEADERS = {"Content-Type": "application/json; charset=utf-8", "Accept-Encoding": "identity"}
_TIMEOUT_S = 10.0
# No string in a reply can contain this, because JSON escapes the quotes.
_NO_ERRORS = b'"errors":false'
_FIRST_ERROR = 300


@dataclass(frozen=True)
class Bulk:
    """The body of one bulk request, and its number of documents."""

    body: bytes
    documents: int


def kept_bulks(client: EngineClient) -> bytes:
    """The bulk lines that our sink has kept; none unless it was started to keep some."""
    with client.new_session() as session:
        response = session.get(f"{client.url}/_sink/kept", timeout=_TIMEOUT_S)
    if response.status_code != 200:
        raise EngineRefused(f"GET /_sink/kept: HTTP {response.status_code}", response.status_code)
    return response.content


def bulks_of(lines: bytes, documents: int) -> tuple[Bulk, ...]:
    """Action and document lines as bulks of `documents` each, or fewer if these could exceed
    100 MiB.

    Lines that do not fill the last bulk are left out, unless there is no other.
    """
    pairs = list(_pairs(lines))
    longest = max(map(len, pairs), default=1)
    size = max(1, min(documents, len(pairs), MOST_BULK_BYTES // longest))
    starts = range(0, len(pairs) - size + 1, size)
    return tuple(Bulk(b"".join(pairs[start : start + size]), size) for start in starts)


def _pairs(lines: bytes) -> Iterator[bytes]:
    rows = lines.split(b"\n")[:-1]
    for action, document in zip(rows[0::2], rows[1::2], strict=True):
        yield b"%b\n%b\n" % (action, document)


def bulk_path(output: OmelasticsearchOutput) -> str:
    """The path for bulk requests, with the output's filter_path, so that replies cost the same as
    rsyslog's."""
    query = f"?filter_path={','.join(output.filter_path)}" if output.filter_path else ""
    return f"/_bulk{query}"


def fault_in(status: int, reply: bytes) -> str | None:
    """The error of a bulk request, by its reply; None if all documents were indexed.

    With a filter_path the reply may have neither `errors` nor the items' `status`: then only the
    engine's counters can tell.
    """
    if status != 200:
        return f"HTTP {status}: {reply[:200].decode(errors='replace')}"
    if _NO_ERRORS in reply:
        return None
    try:
        items = list_at(json.loads(reply), "items")
    except ValueError:
        return f"a reply that is not JSON: {reply[:200].decode(errors='replace')}"
    outcomes = (at(item, verb) for item in items for verb in ("index", "create"))
    refused = next((item for item in outcomes if number_at(item, "status") >= _FIRST_ERROR), None)
    if refused is None:
        return None
    reason = at(refused, "error", "reason") or "no reason given"
    return f"a document was refused with status {at(refused, 'status')}: {reason}"


@dataclass(frozen=True)
class FeedProgress:
    """The progress of all clients together: documents sent, and those acknowledged without a fault;
    CPU seconds of their threads; and the first fault, which stops all clients."""

    sent: int
    acknowledged: int
    cpu_s: float
    fault: str | None


_START = FeedProgress(0, 0, 0.0, None)


class Feed:
    """`clients` threads that send `bulks` in turn, over and over, each on its own connection.

    They run inside a `with` statement and stop at its end.
    """

    def __init__(
        self, client: EngineClient, path: str, bulks: Sequence[Bulk], clients: int
    ) -> None:
        self._url, self._bulks, self._turns = client.url + path, bulks, itertools.count()
        self._stopped, self._lock, self._progress = threading.Event(), threading.Lock(), _START
        self._clients = [
            threading.Thread(
                target=self._run, args=(client.new_session(),), daemon=True, name="feed"
            )
            for _ in range(clients)
        ]

    def __enter__(self) -> Self:
        try:
            for client in self._clients:
                client.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def progress(self) -> FeedProgress:
        """The progress so far."""
        return self._progress

    def stop(self) -> None:
        """Send no further bulk, and wait up to 10 s for the answers to those in flight: a late bulk
        would create a removed index again."""
        self._stopped.set()
        for client in self._clients:
            if client.is_alive():
                client.join()

    def _run(self, session: requests.Session) -> None:
        """Send as one client until `stop` or the first fault of any client."""
        with session:
            while not self._stopped.is_set():
                bulk = self._bulks[next(self._turns) % len(self._bulks)]
                begun_s = time.thread_time()
                self._add(FeedProgress(bulk.documents, 0, 0.0, None))
                fault = self._send(session, bulk)
                acknowledged = bulk.documents if fault is None else 0
                self._add(FeedProgress(0, acknowledged, time.thread_time() - begun_s, fault))
                if fault is not None:
                    self._stopped.set()

    def _add(self, more: FeedProgress) -> None:
        with self._lock:
            self._progress = FeedProgress(
                self._progress.sent + more.sent,
                self._progress.acknowledged + more.acknowledged,
                self._progress.cpu_s + more.cpu_s,
                self._progress.fault or more.fault,
            )

    def _send(self, session: requests.Session, bulk: Bulk) -> str | None:
        """Send a bulk; returns its error, None if all documents were indexed."""
        try:
            with session.post(
                self._url, data=bulk.body, headers=_HEADERS, timeout=_TIMEOUT_S, stream=True
            ) as response:
                body = whole_body(response, time.monotonic() + _TIMEOUT_S)
        except (requests.RequestException, TimeoutError, JobFailed) as error:
            return f"{self._url}: {str(error) or 'its answer does not end'}"
        return fault_in(response.status_code, body)

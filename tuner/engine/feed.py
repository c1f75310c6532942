"""Clients that send an engine bulk requests which are ready beforehand, as fast as it answers."""

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

# What omelasticsearch sends; it takes no compressed replies.
_HEADERS = {"Content-Type": "application/json; charset=utf-8", "Accept-Encoding": "identity"}
_TIMEOUT_S = 10.0
# A text inside the reply cannot hold this: JSON escapes its quotes.
_ALL_WELL = b'"errors":false'
_FINE = 300


@dataclass(frozen=True)
class Bulk:
    """The body of one bulk request, and how many documents it has."""

    body: bytes
    documents: int


def kept(client: EngineClient) -> bytes:
    """What our sink kept of the bulks that reached it, which is nothing unless it was told to."""
    with client.new_session() as session:
        response = session.get(f"{client.url}/_sink/kept", timeout=_TIMEOUT_S)
    if response.status_code != 200:
        raise EngineRefused(f"GET /_sink/kept: HTTP {response.status_code}", response.status_code)
    return response.content


def bulks_of(lines: bytes, documents: int) -> tuple[Bulk, ...]:
    """Action and document lines as bulks of `documents` each, or of as many as 100 MiB hold.

    What is left for no whole bulk is left out, unless it is all there is.
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
    """Where bulks go, with the filter of the output, so that replies cost what they cost there."""
    query = f"?filter_path={','.join(output.filter_path)}" if output.filter_path else ""
    return f"/_bulk{query}"


def fault_in(status: int, reply: bytes) -> str | None:
    """What went wrong with a bulk request, by the reply to it; None when all of it was indexed.

    A filtered reply may hold neither `errors` nor the items' `status`: then only the engine's
    counters can tell.
    """
    if status != 200:
        return f"HTTP {status}: {reply[:200].decode(errors='replace')}"
    if _ALL_WELL in reply:
        return None
    try:
        items = list_at(json.loads(reply), "items")
    except ValueError:
        return f"a reply that is not JSON: {reply[:200].decode(errors='replace')}"
    outcomes = (at(item, verb) for item in items for verb in ("index", "create"))
    refused = next((outcome for outcome in outcomes if number_at(outcome, "status") >= _FINE), None)
    if refused is None:
        return None
    reason = at(refused, "error", "reason") or "no reason given"
    return f"a document was refused with status {at(refused, 'status')}: {reason}"


@dataclass(frozen=True)
class Fed:
    """How far the clients have come together: documents sent, and those of them whose bulk was
    answered without a fault; CPU seconds of their threads; and the first fault, which ends all."""

    sent: int
    acknowledged: int
    cpu_s: float
    fault: str | None


_NOTHING = Fed(0, 0, 0.0, None)


class Feed:
    """`clients` threads that send `bulks` in turn, over and over, each on a connection of its own;
    for a `with` statement, whose end they do not outlive."""

    def __init__(
        self, client: EngineClient, path: str, bulks: Sequence[Bulk], clients: int
    ) -> None:
        self._url, self._bulks, self._turns = client.url + path, bulks, itertools.count()
        self._ended, self._counting, self._fed = threading.Event(), threading.Lock(), _NOTHING
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

    def progress(self) -> Fed:
        """How far it has come."""
        return self._fed

    def stop(self) -> None:
        """Begin no further bulk, and wait for the answers to those under way (up to 10 s): one
        that comes late would make an index that was removed meanwhile anew."""
        self._ended.set()
        for client in self._clients:
            if client.is_alive():
                client.join()

    def _run(self, session: requests.Session) -> None:
        """Send as one client until the end, or the first fault."""
        with session:
            while not self._ended.is_set():
                bulk = self._bulks[next(self._turns) % len(self._bulks)]
                begun_s = time.thread_time()
                self._count(Fed(bulk.documents, 0, 0.0, None))
                fault = self._send(session, bulk)
                acknowledged = bulk.documents if fault is None else 0
                self._count(Fed(0, acknowledged, time.thread_time() - begun_s, fault))
                if fault is not None:
                    self._ended.set()

    def _count(self, more: Fed) -> None:
        with self._counting:
            self._fed = Fed(
                self._fed.sent + more.sent,
                self._fed.acknowledged + more.acknowledged,
                self._fed.cpu_s + more.cpu_s,
                self._fed.fault or more.fault,
            )

    def _send(self, session: requests.Session, bulk: Bulk) -> str | None:
        """What went wrong with a bulk; None when all of it was indexed."""
        try:
            with session.post(
                self._url, data=bulk.body, headers=_HEADERS, timeout=_TIMEOUT_S, stream=True
            ) as response:
                body = whole_body(response, time.monotonic() + _TIMEOUT_S)
        except (requests.RequestException, TimeoutError, JobFailed) as error:
            return f"{self._url}: {str(error) or 'its answer does not end'}"
        return fault_in(response.status_code, body)

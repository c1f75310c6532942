"""How the sink goes wrong when it is told to, and what it remembers of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from tuner.engine.delivery import FaultCount
from tuner.lab.faults import Fault, FaultKind
from tuner.lab.sink_bulk import Refuse, documents_in, every_one, every_third, none
from tuner.lab.sink_delivery import Numbers
from tuner.lab.sink_http import Reply, ReplyEnding, json_reply

Bulk = Callable[[Refuse], tuple[bytes, int]]
"""Stores a bulk but what is refused; gives the reply and how many documents it stored."""

_PAGE = b"<html><head><title>%d</title></head><body><h1>From a proxy</h1></body></html>\n"


class FaultInjector:
    """Decides which bulk requests and events go wrong; may be called from any thread."""

    def __init__(self, faults: Sequence[Fault] = ()) -> None:
        self._lock = threading.Lock()
        self._of_requests = [fault for fault in faults if not fault.kind.is_of_an_event]
        self._of_events = {fault: fault.times for fault in faults if fault.kind.is_of_an_event}
        self._requests = 0
        self._under_way_bytes = 0
        self._hits: list[FaultCount] = []

    @property
    def hits(self) -> list[FaultCount]:
        """What it has done so far."""
        with self._lock:
            return list(self._hits)

    @property
    def under_way_bytes(self) -> int:
        """Bytes of the bulk requests that it works on."""
        return self._under_way_bytes

    def bulk(self, body: bytes, store: Bulk) -> Reply:
        """Answer the next bulk request, well or otherwise."""
        with self._lock:
            self._requests += 1
            self._under_way_bytes += len(body)
            active = [
                fault
                for fault in self._of_requests
                if fault.applies_to(self._requests)
                and not (fault.kind is FaultKind.LIMIT and len(body) <= fault.value)
            ]
        try:
            if not active:
                return Reply(store(none)[0])
            reply, stored = _faulty_reply(active[0], store)
            self._remember(FaultCount(str(active[0]), documents_in(body), stored))
            return reply
        finally:
            with self._lock:
                self._under_way_bytes -= len(body)

    def tampered(self, numbers: Numbers) -> Numbers:
        """The sequence numbers to count when these arrive."""
        for fault, left in list(self._of_events.items()):
            hits = np.flatnonzero(numbers == int(fault.value))[:left]
            if len(hits) == 0:
                continue
            self._of_events[fault] -= len(hits)
            doubles = fault.kind is FaultKind.DOUBLE_EVENT
            numbers = np.append(numbers, numbers[hits]) if doubles else np.delete(numbers, hits)
            self._remember(FaultCount(str(fault), len(hits), 2 * len(hits) if doubles else 0))
        return numbers

    def _remember(self, hit: FaultCount) -> None:
        with self._lock:
            self._hits.append(hit)


def _faulty_reply(fault: Fault, store: Bulk) -> tuple[Reply, int]:
    """The reply to a bulk request that goes wrong, and how many of its documents are stored."""
    nothing = _storing_nothing(fault)
    if nothing is not None:
        return nothing, 0
    if fault.kind is FaultKind.DELAY:
        time.sleep(fault.value)
    body, stored = store(_refusing(fault))
    if fault.kind is FaultKind.RESET:
        return Reply(b"", ending=ReplyEnding.RESET), stored
    if fault.kind is FaultKind.TRUNCATE:
        body = body[: len(body) // 2]
    return Reply(body), stored


def _refusing(fault: Fault) -> Refuse:
    """Which documents a fault refuses."""
    match fault.kind:
        case FaultKind.ERRORS:
            return every_third
        case FaultKind.ITEMS:
            return every_one(int(fault.value))
        case _:
            return none


def _storing_nothing(fault: Fault) -> Reply | None:
    """The reply of a fault that stores nothing, None for one that stores."""
    status = int(fault.value)
    match fault.kind:
        case FaultKind.STATUS:
            error = {"type": "sink_fault", "reason": f"the sink was told to answer {status}"}
            return json_reply({"error": error, "status": status}, status)
        case FaultKind.HTML | FaultKind.LIMIT:
            shown = status if fault.kind is FaultKind.HTML else 413
            return Reply(_PAGE % shown, shown, "text/html; charset=UTF-8")
        case FaultKind.EMPTY:
            return Reply(b"", status)
        case FaultKind.RESET_BEFORE:
            return Reply(b"", ending=ReplyEnding.RESET)
        case FaultKind.HANG:
            return Reply(b"", ending=ReplyEnding.SILENCE)
        case _:
            return None

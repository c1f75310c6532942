"""The sink's `_bulk`: a body in, its documents counted, a reply out; and the faults that it can be
told to show."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tuner.engine.delivery import FaultCount, Numbers
from tuner.engines.refusals import name_refusal
from tuner.lab.sink import Fault, FaultKind
from tuner.lab.sink_http import Reply, ReplyEnding, json_reply

Count = Callable[[str, Sequence[bytes]], int]
Claim = Callable[[str, str], bool]
"""Whether an index had no document with that id; from now on it has."""

_FILTERS = {"took", "errors", "items.*.status", "items.*.error"}
_FULL_ITEM = (
    b'{"%b":{"_index":%b,"_id":%b,"_version":1,"result":"created",'
    b'"_shards":{"total":1,"successful":1,"failed":0},'
    b'"_seq_no":%d,"_primary_term":1,"status":201}}'
)


_REFUSALS = {
    429: b'{"type":"es_rejected_execution_exception","reason":"the sink was told to refuse it"}',
    400: b'{"type":"document_parsing_exception","reason":"the sink was told to refuse it"}',
    409: b'{"type":"version_conflict_engine_exception","reason":"document already exists"}',
}


class BadBulk(Exception):
    """The body is not a bulk request; the message says why."""


class Target(NamedTuple):
    """What an action line asks for; the id is None when the engine is to make one up."""

    operation: str
    index_name: str
    document_id: str | None


def bulk(
    body: bytes,
    default_index: str | None,
    filter_path: str | None,
    count: Count,
    claim: Claim,
    fault: Fault | None,
) -> tuple[bytes, int]:
    """Count the documents of a bulk body through `count`, which says how many were there before;
    the reply, and how many were counted.

    To create a document under an id that `claim` does not grant is refused with 409, and one for
    an index of a name that no engine takes with 400.

    The reply has the fields that `filter_path` leaves, of those that rsyslog asks for; any other
    filter leaves everything.  What `fault` refuses is not counted.
    """
    lines = body.split(b"\n")
    if lines.pop() != b"":
        raise BadBulk("The bulk request must be terminated by a newline [\\n]")
    actions, documents = lines[0::2], lines[1::2]
    if not actions or len(actions) != len(documents):
        raise BadBulk("request body is required: action and source lines that alternate")
    by_action = {action: _target(action, default_index) for action in set(actions)}
    targets = [by_action[action] for action in actions]
    refused = _refusals(fault, len(targets))
    if any(name_refusal(target.index_name) for target in by_action.values()):
        misnamed = (n for n, target in enumerate(targets) if name_refusal(target.index_name))
        refused = dict.fromkeys(misnamed, 400) | refused
    if any(target.document_id is not None for target in by_action.values()):
        refused |= _conflicts(targets, refused, claim)
    counted = targets
    if refused:
        counted = [target for place, target in enumerate(targets) if place not in refused]
        documents = [document for place, document in enumerate(documents) if place not in refused]
    before = {index: count(index, part) for index, part in _parts(counted, documents).items()}
    return _reply(targets, before, filter_path, refused), len(documents)


def _refusals(fault: Fault | None, documents: int) -> dict[int, int]:
    """Which of so many documents a fault refuses, by their place, and with which status: all, or
    every third, in turn for good and for the time being."""
    if fault is not None and fault.kind is FaultKind.ERRORS:
        return {place: 429 if place % 2 else 400 for place in range(2, documents, 3)}
    if fault is not None and fault.kind is FaultKind.ITEMS:
        return dict.fromkeys(range(documents), int(fault.value))
    return {}


def _conflicts(
    targets: Sequence[Target], refused: Mapping[int, int], claim: Claim
) -> dict[int, int]:
    """Which documents exist already, by their place."""
    return {
        place: 409
        for place, (operation, index, document_id) in enumerate(targets)
        if operation == "create" and document_id is not None and place not in refused
        if not claim(index, document_id)
    }


def _target(action: bytes, default_index: str | None) -> Target:
    try:
        ((operation, details),) = json.loads(action).items()
        index = details.get("_index", default_index)
        document_id = details.get("_id")
    except (ValueError, AttributeError) as error:
        raise BadBulk(f"Malformed action/metadata line: {action[:80]!r}") from error
    if operation not in {"index", "create"}:
        raise BadBulk(f"the sink knows index and create, not {operation!r}")
    if not isinstance(index, str):
        raise BadBulk("an action names no index, and neither does the address")
    return Target(operation, index, None if document_id is None else str(document_id))


def _parts(targets: Sequence[Target], documents: Sequence[bytes]) -> dict[str, Sequence[bytes]]:
    """The documents by index."""
    names = {target.index_name for target in targets}
    if len(names) == 1:
        return {names.pop(): documents}
    parts: dict[str, list[bytes]] = {name: [] for name in names}
    for target, document in zip(targets, documents, strict=True):
        parts[target.index_name].append(document)
    return dict(parts)


def _reply(
    targets: Sequence[Target],
    before: Mapping[str, int],
    filter_path: str | None,
    refused: Mapping[int, int],
) -> bytes:
    """Write the reply; what is filtered out is not even written."""
    errors = b"true" if refused else b"false"
    fields = set(filter_path.split(",")) if filter_path else set()
    if not fields or fields - _FILTERS:
        items = _full_items(targets, before, refused)
        return b'{"took":0,"errors":%b,"items":[%b]}' % (errors, b",".join(items))
    members = []
    if "took" in fields:
        members.append(b'"took":0')
    if "errors" in fields:
        members.append(b'"errors":%b' % errors)
    if "items.*.status" in fields:
        short = {name: b'{"%b":{"status":201}}' % name.encode() for name in ("index", "create")}
        items = [short[target.operation] for target in targets]
        for place, status in refused.items():
            items[place] = _refusal(targets[place], status)
        members.append(b'"items":[%b]' % b",".join(items))
    return b"{%b}" % b",".join(members)


def _refusal(target: Target, status: int) -> bytes:
    error, refusal = _REFUSALS.get(status, _REFUSALS[400]), name_refusal(target.index_name)
    if status == 400 and refusal is not None:
        reason = f"Invalid index name [{target.index_name}], {refusal}"
        error = json.dumps({"type": "invalid_index_name_exception", "reason": reason}).encode()
    return b'{"%b":{"status":%d,"error":%b}}' % (target.operation.encode(), status, error)


def _full_items(
    targets: Sequence[Target], before: Mapping[str, int], refused: Mapping[int, int]
) -> list[bytes]:
    names = {index: json.dumps(index).encode() for index in before}
    numbers = dict(before)
    items = []
    for place, target in enumerate(targets):
        if place in refused:
            items.append(_refusal(target, refused[place]))
            continue
        operation, index, document_id = target
        number = numbers[index]
        numbers[index] = number + 1
        shown = b'"sink%016d"' % number if document_id is None else json.dumps(document_id).encode()
        items.append(_FULL_ITEM % (operation.encode(), names[index], shown, number))
    return items


Bulk = Callable[[Fault | None], tuple[bytes, int]]
"""Stores a bulk but what a fault refuses; gives the reply and how many documents it stored."""

_PAGE = b"<html><head><title>%d</title></head><body><h1>From a proxy</h1></body></html>\n"


class FaultInjector:
    """Decides which bulk requests and events go wrong, and knows the bytes of the requests that it
    works on; may be called from any thread."""

    def __init__(self, faults: Sequence[Fault] = ()) -> None:
        self._lock = threading.Lock()
        self._of_requests = [fault for fault in faults if not fault.kind.is_of_an_event]
        self._of_events = {fault: fault.times for fault in faults if fault.kind.is_of_an_event}
        self._requests = 0
        self.under_way_bytes = 0
        self._hits: list[FaultCount] = []

    @property
    def hits(self) -> list[FaultCount]:
        """What it has done so far."""
        with self._lock:
            return list(self._hits)

    def bulk(self, body: bytes, store: Bulk) -> Reply:
        """Answer the next bulk request, well or otherwise."""
        with self._lock:
            self._requests += 1
            self.under_way_bytes += len(body)
            active = [
                fault
                for fault in self._of_requests
                if fault.applies_to(self._requests)
                and not (fault.kind is FaultKind.LIMIT and len(body) <= fault.value)
            ]
        try:
            if not active:
                return Reply(store(None)[0])
            reply, stored = _faulty_reply(active[0], store)
            self._remember(FaultCount(str(active[0]), body.count(b"\n") // 2, stored))
            return reply
        finally:
            with self._lock:
                self.under_way_bytes -= len(body)

    def tampered(self, numbers: Numbers) -> Numbers:
        """The sequence numbers to count when these arrive."""
        for fault, times in list(self._of_events.items()):
            hits = np.flatnonzero(numbers == int(fault.value))[:times]
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
    body, stored = store(fault)
    if fault.kind is FaultKind.RESET:
        return Reply(b"", ending=ReplyEnding.RESET), stored
    if fault.kind is FaultKind.TRUNCATE:
        body = body[: len(body) // 2]
    return Reply(body), stored


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

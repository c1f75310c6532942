"""The engine's side of a change: objects put, and brought back as they were."""

from __future__ import annotations

import time

from tuner.deploy.plan import EngineChange
from tuner.engine.client import JSON, EngineClient, EngineRefused, at, number_at
from tuner.profile.documents import fields_of
from tuner.profile.model import Profile

_POLL_S = 0.5
_ISM = "/_plugins/_ism/"


def put(client: EngineClient, change: EngineChange) -> None:
    """Bring an object to what the profile says."""
    _put(client, change.path, change.body)


def bring_back(client: EngineClient, path: str, before: JSON | None) -> str | None:
    """What was at `path` before, or nothing; done twice it changes nothing.  A first index that
    holds events stays, which is said."""
    if before is not None:
        _put(client, path, before)
        return None
    if not path.startswith("/_"):
        count = number_at(_if_there(client, f"{path}/_count"), "count")
        if count:
            return f"{path[1:]} holds {count:,} events and stays"
    try:
        client.request("DELETE", path)
    except EngineRefused as refused:
        if refused.status != 404:
            raise
    return None


def awaited(client: EngineClient, profile: Profile, mark: str, patience_s: float) -> bool:
    """Whether the event marked so is found in an index of the profile's within so many seconds."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if _found(client, profile, mark):
            return True
        time.sleep(_POLL_S)
    return _found(client, profile, mark)


def _found(client: EngineClient, profile: Profile, mark: str) -> bool:
    """Some field holds the mark: a keyword the program's name, a text the word in the message."""
    names = {one.name for output in profile.indexed for one in fields_of(output)}
    query = {"multi_match": {"query": mark, "fields": sorted(names), "lenient": True}}
    pattern = ",".join(output.index.pattern for output in profile.indexed)
    there = "ignore_unavailable=true&allow_no_indices=true"
    try:
        client.request("POST", f"/{pattern}/_refresh?{there}")
        answer = client.request("POST", f"/{pattern}/_search?{there}", {"query": query, "size": 1})
    except EngineRefused as refused:
        # An index that is being made answers 503.
        if refused.status not in {404, 503}:
            raise
        return False
    return number_at(answer, "hits", "total", "value") > 0


def _put(client: EngineClient, path: str, body: JSON) -> None:
    """OpenSearch changes a policy only for who names its number (ISM API, if_seq_no)."""
    there = _if_there(client, path) if path.startswith(_ISM) else None
    number, term = at(there, "_seq_no"), at(there, "_primary_term")
    which = "" if number is None else f"?if_seq_no={number}&if_primary_term={term}"
    client.request("PUT", path + which, body)


def _if_there(client: EngineClient, path: str) -> object:
    try:
        return client.get(path)
    except EngineRefused as refused:
        if refused.status != 404:
            raise
        return None

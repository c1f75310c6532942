"""The engine's side of a change: objects put, and brought back as they were."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tuner.deploy.intents import Put
from tuner.deploy.plan import object_there
from tuner.engine import normal
from tuner.engine.client import JSON, EngineClient, EngineRefused, at, number_at
from tuner.engine.owned import MANAGER
from tuner.engines.index import MappingStyle
from tuner.errors import TuneError
from tuner.modules.field import DocumentField, Use
from tuner.profile.documents import fields_of
from tuner.profile.model import Profile

_POLL_S = 0.5
_ILM, _ISM = "/_ilm/", "/_plugins/_ism/"


def bring_all_back(
    client: EngineClient, puts: Sequence[Put], tell: Callable[[str], None]
) -> list[str]:
    """Bring back what was there before these objects were put, the last one first; gives what went
    wrong."""
    failures = []
    for change in reversed(puts):
        try:
            remark = bring_back(client, change)
        except TuneError as bad:
            failures.append(str(bad))
        else:
            tell(f"engine: {change.path[1:]} as before" if remark is None else remark)
    return failures


def bring_back(client: EngineClient, was_put: Put) -> str | None:
    """What was there before an object was put, or nothing; done twice it changes nothing.  What
    others changed meanwhile stays, and a first index that holds events, which is said."""
    path, before = was_put.path, was_put.before
    is_settings = path.endswith("/_settings")
    if not path.startswith("/_") and not is_settings:
        return _first_index_back(client, path)
    live = object_there(client, path, was_put.body)
    # An index that is gone has no settings to bring back.
    if live is None and (before is None or is_settings):
        return None
    if live is not None and not any(
        means_same(path, live, body) for body in (was_put.body, before) if body is not None
    ):
        return f"{path[1:]} was changed by somebody else meanwhile and stays"
    if before is None:
        client.request("DELETE", path)
    else:
        put(client, path, normal.puttable(before))
    return None


def means_same(path: str, live: JSON, body: JSON) -> bool:
    """Whether the object at `path`, as it is there now, means the same as a body."""
    form = form_of(path)
    return normal.respelled(form(live), form(body)) == form(body)


def form_of(path: str) -> Callable[[JSON], JSON]:
    """What brings the object at `path` to its normal form."""
    if path.endswith("/_settings"):
        return normal.settings
    return normal.policy if path.startswith((_ILM, _ISM)) else normal.template


def _first_index_back(client: EngineClient, path: str) -> str | None:
    """None once it is gone, else why it stays."""
    index = client.find(path)
    if not index:
        return None
    if at(index, path[1:], "mappings", "_meta", "managed_by") != MANAGER:
        return f"{path[1:]} is not ours and stays"
    # What came since the last refresh is not counted.
    client.request("POST", f"{path}/_refresh")
    count = number_at(client.find(f"{path}/_count"), "count")
    if count:
        return f"{path[1:]} holds {count:,} events and stays"
    client.request("DELETE", path)
    return None


def findable(profile: Profile) -> tuple[str, ...]:
    """The fields in which a search finds a word that is both the program and the message; what a
    base writes may be any."""
    if profile.base is not None:
        return ("*",)
    return tuple(
        field.name
        for output in profile.indexed
        for field in fields_of(output)
        if output.index.mapping is not MappingStyle.NONE
        and (output.index.mapping is MappingStyle.DYNAMIC or _finds(field))
    )


def _finds(field: DocumentField) -> bool:
    """A keyword holds all of a value: with the message comes a blank, with the tag a colon."""
    if field.property == "programname" and Use.TERM in field.uses:
        return True
    is_text = bool({Use.FULL_TEXT, Use.PHRASE} & set(field.uses))
    return is_text and field.property in {"programname", "syslogtag", "msg", "rawmsg"}


def awaited(client: EngineClient, profile: Profile, mark: str, patience_s: float) -> bool:
    """Whether the event marked so is found in an index of the profile's within so many seconds."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if _found(client, profile, mark):
            return True
        time.sleep(_POLL_S)
    return _found(client, profile, mark)


def _found(client: EngineClient, profile: Profile, mark: str) -> bool:
    query = {"multi_match": {"query": mark, "fields": findable(profile), "lenient": True}}
    pattern = ",".join(output.index.pattern for output in profile.indexed)
    options = "ignore_unavailable=true&allow_no_indices=true"
    try:
        client.request("POST", f"/{pattern}/_refresh?{options}")
        answer = client.request(
            "POST", f"/{pattern}/_search?{options}", {"query": query, "size": 1}
        )
    except EngineRefused as refused:
        # An index that is being made answers 503.
        if refused.status not in {404, 503}:
            raise
        return False
    return number_at(answer, "hits", "total", "value") > 0


def put(client: EngineClient, path: str, body: JSON) -> None:
    """Bring the object at `path` to this body; OpenSearch changes a policy only for who names its
    number (ISM API, if_seq_no)."""
    policy = client.find(path) if path.startswith(_ISM) else None
    number, term = at(policy, "_seq_no"), at(policy, "_primary_term")
    condition = "" if number is None else f"?if_seq_no={number}&if_primary_term={term}"
    client.request("PUT", path + condition, body)

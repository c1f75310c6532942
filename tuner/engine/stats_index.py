"""Counters of impstats that are documents of an index, as lines of a log; only reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from tuner.engine.client import JSON, EngineClient, list_at, number_at, object_at
from tuner.errors import JobFailed
from tuner.modules.stats_rounds import TAG, Numbered

# The newest day, and less of it where that is more than so many documents.
_REACH = timedelta(days=1)
_MOST = 2_000_000
# Other fields of a document may be long, and an answer is bounded.
_PAGE = 1000
_KEPT = "2m"
_TIMES = ("@timestamp", "timestamp", "timegenerated", "timereported", "time")
_HOSTS = ("host", "hostname", "fromhost")
_TEXTS = ("message", "msg")
# The counters as fields, or as a text with the tag of impstats in another field.
_COUNTERS: JSON = {"query_string": {"query": f'_exists_:origin OR "{TAG}"', "lenient": True}}


@dataclass(frozen=True)
class StatsIndex:
    """What of an index is read: documents whose date in the field `time` is at least `begin`;
    `is_part` where older ones of the same day are left out."""

    name: str
    time: str
    begin: datetime
    is_part: bool


def stats_index(client: EngineClient, name: str) -> StatsIndex:
    """The newest day of the counters in an index; raises JobFailed where it holds none."""
    some = _hits(client.request("POST", f"{_place(name)}/_search", _query(None, 1)))
    time = next((field for field in _TIMES if some and _at(some[0].get(field)) is not None), None)
    if time is None:
        lack = "no date in a field " + ", ".join(_TIMES[:4]) if some else "no counters of impstats"
        raise JobFailed(
            f"{client.url}: {name} has {lack}: name an index that impstats' events go to"
        )
    newest = {**_query(None, 1), "sort": [{time: {"order": "desc"}}]}
    (last,) = _hits(client.request("POST", f"{_place(name)}/_search", newest))
    end, reach = _at(last.get(time)), _REACH
    if end is None:
        raise JobFailed(f"{client.url}: {name}: {last.get(time)!r} in {time} is no date")
    while reach > timedelta(minutes=1):
        index = StatsIndex(name, time, end - reach, reach < _REACH)
        if _count(client, index) <= _MOST:
            return index
        reach /= 2
    raise JobFailed(f"{client.url}: {name} has more than {_MOST:,} counters of its last minute")


def stats_lines(client: EngineClient, index: StatsIndex) -> Iterator[Numbered]:
    """Its documents, oldest first, each as a line."""
    body = {**_query(index, _PAGE), "sort": [{index.time: {"order": "asc"}}]}
    answer = client.request("POST", f"{_place(index.name)}/_search?scroll={_KEPT}", body)
    number, place = 0, f"{client.url}/{index.name}"
    try:
        while hits := _hits(answer):
            for source in hits:
                number += 1
                line = _line(source, index.time)
                if line is not None:
                    yield place, number, line
            next_page: JSON = {"scroll": _KEPT, "scroll_id": _scroll(answer)}
            answer = client.request("POST", "/_search/scroll", next_page)
    finally:
        with suppress(JobFailed):
            client.request("DELETE", "/_search/scroll", {"scroll_id": _scroll(answer)})


def _place(name: str) -> str:
    return f"/{quote(name, safe='*,')}"


def _query(index: StatsIndex | None, size: int) -> JSON:
    filters = [_COUNTERS]
    if index is not None:
        filters.append({"range": {index.time: {"gte": index.begin.isoformat()}}})
    return {"size": size, "query": {"bool": {"filter": filters}}}


def _count(client: EngineClient, index: StatsIndex) -> int:
    query = {"query": _query(index, 0)["query"]}
    return number_at(client.request("POST", f"{_place(index.name)}/_count", query), "count")


def _hits(answer: object) -> list[JSON]:
    return [object_at(hit, "_source") for hit in list_at(answer, "hits", "hits")]


def _scroll(answer: object) -> str:
    return str(object_at(answer).get("_scroll_id", ""))


def _at(value: object) -> datetime | None:
    """A date as an engine takes it: without a zone it is of UTC; a number counts milliseconds."""
    with suppress(ValueError, OverflowError, OSError):
        if type(value) is int:
            return datetime.fromtimestamp(value / 1000, UTC)
        if isinstance(value, str):
            date = datetime.fromisoformat(value)
            return (date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC)
    return None


def _line(source: JSON, time: str) -> str | None:
    """A document as a line with a head; None for a bracket, whose place among those of the same
    moment is lost."""
    at, text = _at(source.get(time)), _text_of(source)
    if text in {"BEGIN", "END"}:
        return None
    seconds = "" if at is None else at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{seconds} {_host(source)} {TAG}: {text}"


def _host(source: Mapping[str, object]) -> str:
    values = (source.get("host.name"), *(source.get(key) for key in _HOSTS))
    names = (host.get("name") if isinstance(host, dict) else host for host in values)
    return next(("".join(host.split()) for host in names if isinstance(host, str) and host), "")


def _text_of(source: JSON) -> str:
    """What impstats wrote: fields of the document, of an object in it, or a text."""
    inner = (part for part in source.values() if isinstance(part, dict))
    for part in (source, *inner):
        if isinstance(part.get("origin"), str) and isinstance(part.get("name"), str):
            return json.dumps(dict(_flat(part)))
    texts = (source.get(key) for key in _TEXTS)
    return next((text.strip() for text in texts if isinstance(text, str)), "")


def _flat(source: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    """Names with dots, which an engine takes for objects in objects."""
    for key, value in source.items():
        if isinstance(value, dict) and key != "values":
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value

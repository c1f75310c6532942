"""Reads impstats counters that are documents of an index, as log lines; changes nothing."""

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

# The newest day is read, or a shorter time if that has more documents than this.
_LONGEST = timedelta(days=1)
_MOST = 2_000_000
# A page is small because documents may have other, long fields, and the client limits answers.
_PAGE = 1000
_SCROLL = "2m"
_TIMES = ("@timestamp", "timestamp", "timegenerated", "timereported", "time")
_HOSTS = ("host", "hostname", "fromhost")
_TEXTS = ("message", "msg")
# Counters are either fields, or a text beside another field with impstats' tag.
_COUNTERS: JSON = {"query_string": {"query": f'_exists_:origin OR "{TAG}"', "lenient": True}}


@dataclass(frozen=True)
class StatsIndex:
    """The documents to read from an index: those whose date in the field `time` is `begin` or
    later; `is_part` if older ones of the last 24 hours are left out."""

    name: str
    time: str
    begin: datetime
    is_part: bool


def stats_index(client: EngineClient, name: str) -> StatsIndex:
    """The newest day of counters in an index, or less of it; raises JobFailed if it has none."""
    some = _hits(client.request("POST", f"{_path(name)}/_search", _query(None, 1)))
    time = next((field for field in _TIMES if some and _date(some[0].get(field)) is not None), None)
    if time is None:
        lack = "no date in a field " + ", ".join(_TIMES[:4]) if some else "no counters of impstats"
        raise JobFailed(
            f"{client.url}: {name} has {lack}: name an index that impstats' events go to"
        )
    newest = {**_query(None, 1), "sort": [{time: {"order": "desc"}}]}
    (last,) = _hits(client.request("POST", f"{_path(name)}/_search", newest))
    end, length = _date(last.get(time)), _LONGEST
    if end is None:
        raise JobFailed(f"{client.url}: {name}: {last.get(time)!r} in {time} is no date")
    while length > timedelta(minutes=1):
        index = StatsIndex(name, time, end - length, length < _LONGEST)
        if _count(client, index) <= _MOST:
            return index
        length /= 2
    raise JobFailed(f"{client.url}: {name} has more than {_MOST:,} counters of its last minute")


def stats_lines(client: EngineClient, index: StatsIndex) -> Iterator[Numbered]:
    """The documents of the index as numbered log lines, oldest first."""
    body = {**_query(index, _PAGE), "sort": [{index.time: {"order": "asc"}}]}
    answer = client.request("POST", f"{_path(index.name)}/_search?scroll={_SCROLL}", body)
    number, source_name = 0, f"{client.url}/{index.name}"
    try:
        while hits := _hits(answer):
            for source in hits:
                number += 1
                line = _line(source, index.time)
                if line is not None:
                    yield source_name, number, line
            next_page: JSON = {"scroll": _SCROLL, "scroll_id": _scroll_id(answer)}
            answer = client.request("POST", "/_search/scroll", next_page)
    finally:
        with suppress(JobFailed):
            client.request("DELETE", "/_search/scroll", {"scroll_id": _scroll_id(answer)})


def _path(name: str) -> str:
    return f"/{quote(name, safe='*,')}"


def _query(index: StatsIndex | None, size: int) -> JSON:
    filters = [_COUNTERS]
    if index is not None:
        filters.append({"range": {index.time: {"gte": index.begin.isoformat()}}})
    return {"size": size, "query": {"bool": {"filter": filters}}}


def _count(client: EngineClient, index: StatsIndex) -> int:
    query = {"query": _query(index, 0)["query"]}
    return number_at(client.request("POST", f"{_path(index.name)}/_count", query), "count")


def _hits(answer: object) -> list[JSON]:
    return [object_at(hit, "_source") for hit in list_at(answer, "hits", "hits")]


def _scroll_id(answer: object) -> str:
    return str(object_at(answer).get("_scroll_id", ""))


def _date(value: object) -> datetime | None:
    """A date as an engine reads it: without a time zone it is UTC, a number is in milliseconds.
    None if it is no date."""
    with suppress(ValueError, OverflowError, OSError):
        if type(value) is int:
            return datetime.fromtimestamp(value / 1000, UTC)
        if isinstance(value, str):
            date = datetime.fromisoformat(value)
            return (date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC)
    return None


def _line(source: JSON, time: str) -> str | None:
    """A document as a line with a syslog header.  None for a BEGIN or END line, whose order among
    documents of the same time is lost."""
    date, text = _date(source.get(time)), _text_of(source)
    if text in {"BEGIN", "END"}:
        return None
    timestamp = "" if date is None else date.strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{timestamp} {_host(source)} {TAG}: {text}"


def _host(source: Mapping[str, object]) -> str:
    values = (source.get("host.name"), *(source.get(key) for key in _HOSTS))
    names = (host.get("name") if isinstance(host, dict) else host for host in values)
    return next(("".join(host.split()) for host in names if isinstance(host, str) and host), "")


def _text_of(source: JSON) -> str:
    """What impstats wrote: as JSON if the counters are fields of the document or of an object in
    it, else the document's text."""
    inner = (part for part in source.values() if isinstance(part, dict))
    for part in (source, *inner):
        if isinstance(part.get("origin"), str) and isinstance(part.get("name"), str):
            return json.dumps(dict(_flat(part)))
    texts = (source.get(key) for key in _TEXTS)
    return next((text.strip() for text in texts if isinstance(text, str)), "")


def _flat(source: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """The fields by dotted names: an engine makes nested objects of counters' names with dots."""
    for key, value in source.items():
        if isinstance(value, dict) and key != "values":
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value

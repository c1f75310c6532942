"""What is asked of the fields of indices: of each, the kinds of searches that it has served."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from tuner.engine.client import JSON, EngineClient, EngineRefused, list_at, number_at, object_at
from tuner.modules.field import Use

# Of OpenSearch, and of Elasticsearch before 7.15.
_NO_SUCH_API = "this engine does not count searches by field"
_NOT_ALLOWED = "this login may not see what is searched (it needs the index privilege manage)"
_UNCOUNTED = {400: _NO_SUCH_API, 404: _NO_SUCH_API, 405: _NO_SUCH_API, 403: _NOT_ALLOWED}
_TEXTS = frozenset({"text", "match_only_text", "annotated_text"})
_NUMBERS = frozenset({
    "long", "integer", "short", "byte", "double", "float", "half_float", "scaled_float",
    "unsigned_long", "date", "date_nanos", "ip",
})  # fmt: skip


@dataclass(frozen=True)
class FieldUses:
    """By their paths, what fields have been asked for `since` then; without a time all that they
    serve, and `why` it is not known what was asked; and the types that they are mapped to."""

    of_field: Mapping[str, frozenset[Use]]
    types: Mapping[str, str]
    since: datetime | None
    why: str = ""


def field_uses(client: EngineClient, pattern: str) -> FieldUses | None:
    """What has been asked of the fields of these indices since their shards started, as the engine
    counts it; where nothing was asked, or nothing is counted, what their mapping serves.  None
    where there are no such indices.

    Source: the documentation of Elasticsearch's field usage stats API; what each query and
    aggregation counts was measured on 8.19.
    """
    path = f"/{quote(pattern, safe='*')}"
    types: dict[str, str] = {}
    served: dict[str, frozenset[Use]] = {}
    for index in client.find(f"{path}/_mapping").values():
        for name, field in _fields(object_at(index, "mappings", "properties"), ""):
            types[name] = str(field.get("type", "object"))
            served[name] = served.get(name, frozenset()) | _served(types[name], field)
    if not types:
        return None
    asked, since = dict.fromkeys(types, frozenset[Use]()), list[int]()
    counted, why = JSON(), "nothing has been searched there"
    try:
        counted = client.get(f"{path}/_field_usage_stats")
    except EngineRefused as refused:
        if refused.status not in _UNCOUNTED:
            raise
        why = _UNCOUNTED[refused.status]
    for shard in (shard for index in counted.values() for shard in list_at(index, "shards")):
        since.append(number_at(shard, "tracking_started_at_millis"))
        for name, counts in object_at(shard, "stats", "fields").items():
            if name in types:
                asked[name] |= frozenset(_asked(types[name], counts))
    if any(asked.values()):
        return FieldUses(
            _by_field(asked, types), types, datetime.fromtimestamp(min(since) / 1000, UTC)
        )
    return FieldUses(_by_field(served, types), types, None, why)


def _fields(properties: JSON, above: str) -> Iterator[tuple[str, JSON]]:
    """All fields by their paths, those inside of objects and multi-fields too."""
    for name in properties:
        field = object_at(properties, name)
        yield f"{above}{name}", field
        yield from _fields(object_at(field, "properties"), f"{above}{name}.")
        yield from _fields(object_at(field, "fields"), f"{above}{name}.")


def _served(kind: str, field: JSON) -> frozenset[Use]:
    """What a field of a mapping serves."""
    served: set[Use] = set()
    if field.get("index", True):
        served |= {Use.FULL_TEXT, Use.PHRASE} if kind in _TEXTS else set()
        served |= {Use.RANGE} if kind in _NUMBERS else set()
        served |= {Use.TERM} if kind in {"keyword", "boolean", "wildcard"} else set()
    if field.get("doc_values", True) and kind not in _TEXTS and kind != "object":
        served.add(Use.AGGREGATE)
    return frozenset(served)


def _asked(kind: str, counts: object) -> Iterator[Use]:
    """What the counts of a field's structures say that was asked of it."""
    terms, columns = number_at(counts, "inverted_index", "terms"), number_at(counts, "doc_values")
    if kind in _TEXTS:
        yield from [Use.FULL_TEXT] if terms else []
    # An aggregation of keywords looks at their terms, too.
    elif terms > columns or number_at(counts, "inverted_index", "postings"):
        yield Use.TERM
    if number_at(counts, "inverted_index", "positions"):
        yield Use.PHRASE
    if number_at(counts, "points"):
        yield Use.RANGE
    if columns:
        yield Use.AGGREGATE


def _by_field(
    uses: Mapping[str, frozenset[Use]], types: Mapping[str, str]
) -> Mapping[str, frozenset[Use]]:
    """The uses of multi-fields, such as message.keyword, as those of the field that they are of."""
    made: dict[str, frozenset[Use]] = {}
    for name, of_name in uses.items():
        above = name.rpartition(".")[0]
        field = above if types.get(above, "object") not in {"object", "nested"} else name
        made[field] = made.get(field, frozenset()) | of_name
    return made

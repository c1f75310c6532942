"""Templates, settings and policies of a cluster, whether it would accept an index template, and
what its fields are used for.  Only reads, changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from urllib.parse import quote

from tuner.engine.client import (
    ABSENT,
    JSON,
    EngineClient,
    EngineRefused,
    at,
    list_at,
    number_at,
    object_at,
)
from tuner.engines.release import Engine
from tuner.errors import JobFailed
from tuner.modules.field import Use


@dataclass(frozen=True)
class OpenIndex:
    """An open index: its explicit settings, and the defaults of all others, under flat names."""

    name: str
    settings: JSON
    defaults: JSON


def component_template(client: EngineClient, name: str) -> JSON | None:
    """The component template of that name, None if there is none."""
    answer = client.find(f"/_component_template/{name}", ABSENT)
    entries = list_at(answer, "component_templates")
    named = (entry for entry in entries if at(entry, "name") == name)
    return next((object_at(entry, "component_template") for entry in named), None)


# Characters that no index name has.
_NOT_IN_NAMES = re.compile(r"[\s\\/*?\"<>|,#\x00-\x1f\x7f]")


def open_indices(client: EngineClient, pattern: str) -> tuple[OpenIndex, ...]:
    """The open indices of a pattern, an alias or a data stream, sorted by name.  Raises JobFailed
    if the answer has another form or invalid names, because settings are later put to these names.
    """
    choice = "expand_wildcards=open&ignore_unavailable=true&allow_no_indices=true"
    form = "flat_settings=true&include_defaults=true"
    answer = client.find(f"/{pattern}/_settings?{choice}&{form}", ABSENT)
    have_settings = (isinstance(at(answer, name, "settings"), dict) for name in answer)
    if not all(have_settings) or any(map(_NOT_IN_NAMES.search, answer)):
        raise JobFailed(f"{client.url} answers, but not like Elasticsearch or OpenSearch")
    indices = (
        OpenIndex(name, object_at(index, "settings"), object_at(index, "defaults"))
        for name, index in answer.items()
    )
    return tuple(sorted(indices, key=lambda index: index.name))


def lifecycle_policy(client: EngineClient, engine: Engine, name: str) -> JSON | None:
    """The ILM or ISM policy of that name, as `{"policy": ...}`; None if there is none."""
    if engine is Engine.OPENSEARCH:
        answer = client.find(f"/_plugins/_ism/policies/{name}", ABSENT)
    else:
        answer = object_at(client.find(f"/_ilm/policy/{name}", ABSENT), name)
    policy = at(answer, "policy")
    return {"policy": policy} if isinstance(policy, dict) else None


def alias_writes(client: EngineClient, name: str) -> bool | None:
    """Whether writes to an alias go to exactly one index; None if there is no such alias."""
    answer = client.find(f"/_alias/{name}", ABSENT)
    if not answer:
        return None
    flags = [at(index, "aliases", name, "is_write_index") for index in answer.values()]
    return flags.count(True) == 1 or flags == [None]


@dataclass(frozen=True)
class InstalledTemplate:
    """An index template of a cluster, with the body that the cluster returns."""

    name: str
    body: JSON

    @property
    def patterns(self) -> tuple[str, ...]:
        """The index_patterns: which indices the template applies to."""
        return tuple(map(str, list_at(self.body, "index_patterns")))

    @property
    def priority(self) -> int:
        """Of the templates that match an index, the one with the highest priority applies.  Legacy
        templates call it `order`."""
        return number_at(self.body, "priority") or number_at(self.body, "order")


def installed_templates(client: EngineClient) -> tuple[InstalledTemplate, ...]:
    """Every composable index template, sorted by name."""
    entries = list_at(client.get("/_index_template"), "index_templates")
    bodies = {str(at(entry, "name")): object_at(entry, "index_template") for entry in entries}
    return tuple(InstalledTemplate(name, bodies[name]) for name in sorted(bodies))


def old_templates(client: EngineClient) -> tuple[InstalledTemplate, ...]:
    """Every legacy template (`_template`), sorted by name."""
    answer = client.find("/_template", ABSENT)
    return tuple(InstalledTemplate(name, object_at(answer, name)) for name in sorted(answer))


def same_template(
    templates: Sequence[InstalledTemplate], name: str, patterns: Sequence[str]
) -> InstalledTemplate | None:
    """The installed template that a new version replaces: the one of that name, else one with
    exactly these patterns."""
    named = (template for template in templates if template.name == name)
    alike = (template for template in templates if sorted(template.patterns) == sorted(patterns))
    return next(named, None) or next(alike, None)


def overriding_templates(
    templates: Sequence[InstalledTemplate], index: str, priority: int
) -> tuple[InstalledTemplate, ...]:
    """The matching templates with a higher priority, which a new index of that name would use
    instead: the engine applies only the one with the highest priority."""
    return tuple(
        template
        for template in templates
        if template.priority > priority
        and any(fnmatchcase(index, pattern) for pattern in template.patterns)
    )


def simulate(client: EngineClient, template: JSON, index: str, replaces: str | None) -> None:
    """Let the engine simulate `template` for a new index named `index`; raises EngineRefused with
    the engine's reasons.

    If `replaces` names an installed template, it is left out: no engine accepts a second template
    with the same patterns and priority.
    """
    call = f"_simulate_index/{index}" if replaces is None else f"_simulate/{replaces}"
    client.request("POST", f"/_index_template/{call}", template)


def mapper_of(client: EngineClient, index: str, field: str) -> str | None:
    """The type that the index template of a new index named `index` gives a field, as it is
    written there; None where no template names the field."""
    where = f"/_index_template/_simulate_index/{quote(index, safe='')}"
    simulated: object = object_at(client.request("POST", where), "template", "mappings")
    for name in field.split("."):
        simulated = object_at(simulated, "properties", name)
    kind = at(simulated, "type")
    return kind if isinstance(kind, str) else None


# The engine puts this before the reason.
_PREFIX = re.compile(r"^composable template \[[^\]]*\] template after composition is invalid: ")
# The name that the engine gives a simulated template.
_SIMULATED_NAME = re.compile(r"\[simulate_[a-z_]*template_[^\]]*\]")
_NUMBERED = re.compile(r"(?:^|;)\s*\d+: ")
_SETTING = re.compile(r"\[index\.([A-Za-z0-9_.]+)\]")
_FIELD = re.compile(r"(?:field|mapper) \[([^\]]+)\]")
# A second reason that OpenSearch gives for each unknown setting.
_NOISE = "to be private but it was not"


@dataclass(frozen=True)
class Reason:
    """A reason for which an engine refuses a template: its text, and the setting (without `index.`)
    or the field that it names."""

    text: str
    setting: str | None
    field: str | None


def reasons(answer: str) -> tuple[Reason, ...]:
    """The reasons in an engine's answer to a template, in the engine's order."""
    _, separator, numbered = answer.partition("Validation Failed: ")
    if not separator:
        return (_reason(_SIMULATED_NAME.sub("[ours]", _PREFIX.sub("", answer))),)
    parts = _NUMBERED.split(numbered.removesuffix("]").removesuffix(";"))
    return tuple(_reason(part) for part in parts if part.strip() and _NOISE not in part)


def _reason(text: str) -> Reason:
    one_line = " ".join(text.split())
    setting, field = _SETTING.search(one_line), _FIELD.search(one_line)
    return Reason(
        one_line,
        None if setting is None else setting.group(1),
        None if field is None else field.group(1),
    )


# Answers of OpenSearch, and of Elasticsearch before 7.15.
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
    """The uses and the mapped types of fields, by path.

    The uses are those counted `since` that time.  If it is None, they are all uses that the mapping
    allows, and `why` says why there are no counts.  `keywords` are the fields of type text of which
    nothing but a keyword below them was read since then.
    """

    of_field: Mapping[str, frozenset[Use]]
    types: Mapping[str, str]
    since: datetime | None
    why: str = ""
    keywords: frozenset[str] = frozenset()


def field_uses(client: EngineClient, pattern: str) -> FieldUses | None:
    """How the fields of these indices have been used since their shards started, as the engine
    counts it; if it counts nothing, the uses that their mapping allows.  None if no index with
    fields matches.

    Source: the documentation of Elasticsearch's field usage stats API.  Which counter each query
    and aggregation increments was measured on 8.19.
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
    used, since = dict.fromkeys(types, frozenset[Use]()), list[int]()
    stats, why = JSON(), "nothing has been searched there"
    try:
        stats = client.get(f"{path}/_field_usage_stats")
    except EngineRefused as refused:
        if refused.status not in _UNCOUNTED:
            raise
        why = _UNCOUNTED[refused.status]
    for shard in (shard for index in stats.values() for shard in list_at(index, "shards")):
        since.append(number_at(shard, "tracking_started_at_millis"))
        for name, counts in object_at(shard, "stats", "fields").items():
            if name in types:
                used[name] |= frozenset(_used(types[name], counts))
    if any(used.values()):
        began = datetime.fromtimestamp(min(since) / 1000, UTC)
        return FieldUses(_by_field(used, types), types, began, keywords=_keywords(used, types))
    return FieldUses(_by_field(served, types), types, None, why)


def _fields(properties: JSON, above: str) -> Iterator[tuple[str, JSON]]:
    """All fields with their paths, including those inside objects and multi-fields."""
    for name in properties:
        field = object_at(properties, name)
        yield f"{above}{name}", field
        yield from _fields(object_at(field, "properties"), f"{above}{name}.")
        yield from _fields(object_at(field, "fields"), f"{above}{name}.")


def _served(kind: str, field: JSON) -> frozenset[Use]:
    """The uses that the mapping of a field allows."""
    served: set[Use] = set()
    if field.get("index", True):
        served |= {Use.FULL_TEXT, Use.PHRASE} if kind in _TEXTS else set()
        served |= {Use.RANGE} if kind in _NUMBERS else set()
        served |= {Use.TERM} if kind in {"keyword", "boolean", "wildcard"} else set()
    if field.get("doc_values", True) and kind not in _TEXTS and kind != "object":
        served.add(Use.AGGREGATE)
    return frozenset(served)


def _used(kind: str, counts: object) -> Iterator[Use]:
    """The uses of a field, by how often the engine has read each of its index structures."""
    terms, columns = number_at(counts, "inverted_index", "terms"), number_at(counts, "doc_values")
    if kind in _TEXTS:
        yield from [Use.FULL_TEXT] if terms else []
    # An aggregation of keywords reads their terms, too.
    elif terms > columns or number_at(counts, "inverted_index", "postings"):
        yield Use.TERM
    if number_at(counts, "inverted_index", "positions"):
        yield Use.PHRASE
    if number_at(counts, "points"):
        yield Use.RANGE
    if columns:
        yield Use.AGGREGATE


def _keywords(uses: Mapping[str, frozenset[Use]], types: Mapping[str, str]) -> frozenset[str]:
    """The texts that nobody searched, and of which a keyword below them was read."""
    parents = {path.rpartition(".")[0] for path in uses if types[path] == "keyword" and uses[path]}
    return frozenset(path for path in parents if types.get(path) in _TEXTS and not uses[path])


def _by_field(
    uses: Mapping[str, frozenset[Use]], types: Mapping[str, str]
) -> Mapping[str, frozenset[Use]]:
    """The uses by field, with those of a multi-field, such as message.keyword, under its parent."""
    merged: dict[str, frozenset[Use]] = {}
    for path, path_uses in uses.items():
        parent = path.rpartition(".")[0]
        field = parent if types.get(parent, "object") not in {"object", "nested"} else path
        merged[field] = merged.get(field, frozenset()) | path_uses
    return merged

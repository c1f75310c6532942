"""What a cluster has of the things that a profile is rendered to, whether it would accept another
index template, and what is asked of its fields.  Only read, never changed."""

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
    """An open index: its settings as they were given, and the defaults of all others; flat."""

    name: str
    settings: JSON
    defaults: JSON


def component_template(client: EngineClient, name: str) -> JSON | None:
    """The component template of that name, None when there is none."""
    answer = client.find(f"/_component_template/{name}", ABSENT)
    entries = list_at(answer, "component_templates")
    named = (entry for entry in entries if at(entry, "name") == name)
    return next((object_at(entry, "component_template") for entry in named), None)


# What no name of an index has.
_NO_NAME = re.compile(r"[\s\\/*?\"<>|,#\x00-\x1f\x7f]")


def open_indices(client: EngineClient, pattern: str) -> tuple[OpenIndex, ...]:
    """The open indices that a pattern, an alias or a data stream stands for, sorted by name.
    Raises JobFailed for an answer of another form: settings are put where a name says."""
    choice = "expand_wildcards=open&ignore_unavailable=true&allow_no_indices=true"
    form = "flat_settings=true&include_defaults=true"
    answer = client.find(f"/{pattern}/_settings?{choice}&{form}", ABSENT)
    forms = (isinstance(at(answer, name, "settings"), dict) for name in answer)
    if not all(forms) or any(map(_NO_NAME.search, answer)):
        raise JobFailed(f"{client.url} answers, but not like Elasticsearch or OpenSearch")
    indices = (
        OpenIndex(name, object_at(index, "settings"), object_at(index, "defaults"))
        for name, index in answer.items()
    )
    return tuple(sorted(indices, key=lambda index: index.name))


def lifecycle_policy(client: EngineClient, engine: Engine, name: str) -> JSON | None:
    """The policy of that name of ILM or ISM, as `{"policy": ...}`; None when there is none."""
    if engine is Engine.OPENSEARCH:
        answer = client.find(f"/_plugins/_ism/policies/{name}", ABSENT)
    else:
        answer = object_at(client.find(f"/_ilm/policy/{name}", ABSENT), name)
    policy = at(answer, "policy")
    return {"policy": policy} if isinstance(policy, dict) else None


def alias_writes(client: EngineClient, name: str) -> bool | None:
    """Whether writes to an alias go to one index, None when there is no such alias."""
    answer = client.find(f"/_alias/{name}", ABSENT)
    if not answer:
        return None
    flags = [at(index, "aliases", name, "is_write_index") for index in answer.values()]
    return flags.count(True) == 1 or flags == [None]


@dataclass(frozen=True)
class InstalledTemplate:
    """An index template of a cluster, as the cluster tells it."""

    name: str
    body: JSON

    @property
    def patterns(self) -> tuple[str, ...]:
        """The names of indices that it is for."""
        return tuple(map(str, list_at(self.body, "index_patterns")))

    @property
    def priority(self) -> int:
        """The highest of those that match an index counts; the older kind calls it order."""
        return number_at(self.body, "priority") or number_at(self.body, "order")


def installed_templates(client: EngineClient) -> tuple[InstalledTemplate, ...]:
    """Every composable index template, sorted by name."""
    entries = list_at(client.get("/_index_template"), "index_templates")
    bodies = {str(at(entry, "name")): object_at(entry, "index_template") for entry in entries}
    return tuple(InstalledTemplate(name, bodies[name]) for name in sorted(bodies))


def old_templates(client: EngineClient) -> tuple[InstalledTemplate, ...]:
    """Every template of the older kind, those of `_template`, sorted by name."""
    answer = client.find("/_template", ABSENT)
    return tuple(InstalledTemplate(name, object_at(answer, name)) for name in sorted(answer))


def same_template(
    templates: Sequence[InstalledTemplate], name: str, patterns: Sequence[str]
) -> InstalledTemplate | None:
    """The one of that name, else one for exactly these patterns: what a new version replaces."""
    named = (template for template in templates if template.name == name)
    alike = (template for template in templates if sorted(template.patterns) == sorted(patterns))
    return next(named, None) or next(alike, None)


def stronger(
    templates: Sequence[InstalledTemplate], index: str, priority: int
) -> tuple[InstalledTemplate, ...]:
    """Those that a new index of that name would get instead: of all that match, the engine takes
    the one with the highest priority and no part of the others."""
    return tuple(
        template
        for template in templates
        if template.priority > priority
        and any(fnmatchcase(index, pattern) for pattern in template.patterns)
    )


def simulate(client: EngineClient, template: JSON, index: str, replaces: str | None) -> None:
    """Have the engine try `template` for a new index of the name `index`; raises EngineRefused
    with its reasons.

    The template of the name `replaces` is left out of it: next to one of the same priority and
    patterns no engine takes another.
    """
    place = f"_simulate_index/{index}" if replaces is None else f"_simulate/{replaces}"
    client.request("POST", f"/_index_template/{place}", template)


# The text around the reason: that the template, under the name of its trial, is invalid.
_AROUND = re.compile(r"^composable template \[[^\]]*\] template after composition is invalid: ")
_TRIAL = re.compile(r"\[simulate_[a-z_]*template_[^\]]*\]")
_NUMBERED = re.compile(r"(?:^|;)\s*\d+: ")
_SETTING = re.compile(r"\[index\.([A-Za-z0-9_.]+)\]")
_FIELD = re.compile(r"(?:field|mapper) \[([^\]]+)\]")
# OpenSearch says it of every setting that it does not know, after saying that it does not.
_NOISE = "to be private but it was not"


@dataclass(frozen=True)
class Reason:
    """One of them: the engine's words, and the setting (without `index.`) or the field it names."""

    text: str
    setting: str | None
    field: str | None


def reasons(answer: str) -> tuple[Reason, ...]:
    """Each reason in the engine's answer to a template, in its order."""
    _, failed, listed = answer.partition("Validation Failed: ")
    if not failed:
        return (_reason(_TRIAL.sub("[ours]", _AROUND.sub("", answer))),)
    parts = _NUMBERED.split(listed.removesuffix("]").removesuffix(";"))
    return tuple(_reason(part) for part in parts if part.strip() and _NOISE not in part)


def _reason(text: str) -> Reason:
    one_line = " ".join(text.split())
    setting, field = _SETTING.search(one_line), _FIELD.search(one_line)
    return Reason(
        one_line,
        None if setting is None else setting.group(1),
        None if field is None else field.group(1),
    )


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

"""What the engine is told of an output's indices: templates, live settings, policies, as JSON."""

from __future__ import annotations

from typing import NamedTuple

from tuner.engines.index import Index, MappingStyle, Rotate
from tuner.engines.index_settings import IndexSettings
from tuner.engines.release import Engine
from tuner.engines.settings import COLUMNAR, TIMESTAMPED, Update
from tuner.engines.user_template import UserTemplate
from tuner.modules.field import DocumentField
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.profile.documents import fields_of, mapping_of
from tuner.profile.model import Profile
from tuner.render.templates import Templates, fingerprint, shipped_templates

OURS = "rsyslog-tune"
INDEX_TEMPLATE = "index-template.json"
LIVE_SETTINGS = "live-settings.json"
FIRST_INDEX = "first-index.json"
LIFECYCLE = "lifecycle-policy.json"
COMPONENTS = {"settings": "component-settings.json", "mappings": "component-mappings.json"}
_POLICIES = {
    Engine.ELASTICSEARCH: "lifecycle-policy-ilm.json",
    Engine.OPENSEARCH: "lifecycle-policy-ism.json",
}
# Built-in templates have 100 and below; ours must win over them.
_ABOVE_BUILT_IN = 200
# ILM's conditions for a rollover in the words of OpenSearch's index state management.
_ISM_CONDITIONS = {
    "max_age": "min_index_age",
    "max_primary_shard_size": "min_primary_shard_size",
    "max_size": "min_size",
    "max_docs": "min_doc_count",
}

Json = dict[str, object]


class NewIndices(NamedTuple):
    """What new indices of an output are made of; `composed_of` names the component templates."""

    patterns: list[str]
    priority: int
    is_data_stream: bool
    settings: Json
    mappings: Json | None
    digest: str
    composed_of: tuple[str, ...] = ()


def index_template(
    profile: Profile, output: OmelasticsearchOutput, templates: Templates | None = None
) -> Json:
    """The body of the composable index template for the indices of `output`."""
    return _filled(templates, INDEX_TEMPLATE, index=_new_indices(profile, output, templates))


def rendered_templates(
    profile: Profile, output: OmelasticsearchOutput, templates: Templates | None = None
) -> tuple[Json, dict[str, Json]]:
    """The body of that template as it is installed, and of the component templates that it is made
    of, if any: the settings and the mappings, put under TARGET-settings and TARGET-mappings."""
    index = _new_indices(profile, output, templates)
    parts: list[str] = []
    if output.index.components:
        parts = ["settings"] if index.mappings is None else ["settings", "mappings"]
        names = tuple(f"{output.index.target}-{part}" for part in parts)
        index = index._replace(composed_of=names)
    bodies = {part: _filled(templates, COMPONENTS[part], index=index) for part in parts}
    return _filled(templates, INDEX_TEMPLATE, index=index), bodies


def first_index(index: Index, templates: Templates | None = None) -> Json:
    """The body of `PUT TARGET-000001`."""
    return _filled(templates, FIRST_INDEX, target=index.target)


def marked(template: UserTemplate) -> tuple[Json, str]:
    """A template of the user's as it is put, and the mark by which that is known: it says that it
    is ours, for which the older kind has room in its mappings alone."""
    body = dict(template.body)
    place = body if template.is_composable else dict(template.mappings)
    meta = place.get("_meta")
    mark = fingerprint(body)
    ours = {"managed_by": OURS, "profile_hash": mark}
    place["_meta"] = (meta if isinstance(meta, dict) else {}) | ours
    return (place if template.is_composable else body | {"mappings": place}), mark


def place_of(template: UserTemplate, profile: str) -> str:
    """Where a template of the user's is put: by the name that its file says, else the profile's."""
    folder = "_index_template" if template.is_composable else "_template"
    return f"{folder}/{template.name or profile}"


def live_settings(output: OmelasticsearchOutput, templates: Templates | None = None) -> Json:
    """The settings of `output` that an open index takes, for `PUT INDEX/_settings`."""
    settings = {
        f"index.{name}": value
        for name, value in _written(output.index.settings).items()
        if output.index.settings.known[name].update is Update.DYNAMIC
    }
    return _filled(templates, LIVE_SETTINGS, settings=settings)


def policy(engine: Engine, index: Index, templates: Templates | None = None) -> Json | None:
    """The body of `PUT _ilm/policy/TARGET`, or of `PUT _plugins/_ism/policies/TARGET`; None where
    the index has no lifecycle."""
    if index.lifecycle is None:
        return None
    rollover: Json = {}
    if index.lifecycle.rollover is not None:
        rollover = index.lifecycle.rollover.model_dump(mode="json", exclude_none=True)
    if engine is Engine.OPENSEARCH:
        rollover = {_ISM_CONDITIONS[name]: value for name, value in rollover.items()}
    return _filled(
        templates,
        _POLICIES[engine],
        target=index.target,
        patterns=index_patterns(index),
        priority=priority_of(index),
        rolls_over=index.rolls_over,
        rollover=rollover,
        retention=index.lifecycle.retention,
    )


def index_patterns(index: Index) -> list[str]:
    """Which indices, or data stream, the template is for."""
    is_one = index.rotate is Rotate.NONE and not index.varies
    return [index.target if is_one else f"{index.target}-*"]


def priority_of(index: Index) -> int:
    """The priority of the template: the longer the name, the higher, so that `app-audit-*` wins
    over `app-*`.  Engines refuse overlapping patterns of the same priority."""
    return _ABOVE_BUILT_IN + len(index.target)


def _new_indices(
    profile: Profile, output: OmelasticsearchOutput, templates: Templates | None
) -> NewIndices:
    index = output.index
    settings: Json = {f"index.{name}": value for name, value in _written(index.settings).items()}
    return NewIndices(
        patterns=index_patterns(index),
        priority=priority_of(index),
        is_data_stream=index.data_stream is not None,
        settings=settings | _policy_settings(profile, index),
        mappings=_mappings(profile, output),
        digest=_digest(profile, output, templates),
    )


def _mappings(profile: Profile, output: OmelasticsearchOutput) -> Json | None:
    match output.index.mapping:
        case MappingStyle.EXPLICIT:
            fields = _fields_into(profile, output.index)
            mode = output.index.settings.mode
            has_timestamp = output.index.data_stream is not None or mode in TIMESTAMPED
            return mapping_of(fields, has_timestamp, mode in COLUMNAR)
        case MappingStyle.NONE:
            return {"_source": {"enabled": False}, "dynamic": False}
        case MappingStyle.DYNAMIC:
            return None


def _fields_into(profile: Profile, index: Index) -> tuple[DocumentField, ...]:
    """The fields of an index: several outputs may write to it, each documents of its own."""
    first, *later = (
        fields_of(output) for output in profile.indexed if output.index.target == index.target
    )
    names = {field.name for field in first}
    added = {field.name: field for fields in later for field in fields if field.name not in names}
    return (*first, *added.values())


def _policy_settings(profile: Profile, index: Index) -> Json:
    """How an index finds its policy: ISM's names the indices itself, but not their alias."""
    if index.lifecycle is None:
        return {}
    alias = index.lifecycle.rollover is not None and index.data_stream is None
    if profile.release.engine is Engine.OPENSEARCH:
        name = "index.plugins.index_state_management.rollover_alias"
        return {name: index.target} if alias else {}
    rollover = {"index.lifecycle.rollover_alias": index.target} if alias else {}
    return {"index.lifecycle.name": index.target, **rollover}


def _written(settings: IndexSettings) -> Json:
    return settings.model_dump(mode="json", by_alias=True, exclude_none=True)


def _digest(profile: Profile, output: OmelasticsearchOutput, templates: Templates | None) -> str:
    """Whether the template comes in components makes no difference to an index, nor does how the
    date in its name is spelled."""
    spelled = {"components", "separator", "clock", "date_in_utc"}
    index = output.index.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=spelled)
    fields = [
        field.model_dump(mode="json", exclude_none=True)
        for field in _fields_into(profile, output.index)
    ]
    site_files = (templates or shipped_templates()).site_files(f"{INDEX_TEMPLATE}.j2")
    return fingerprint([profile.release.engine.value, index, fields, *site_files])


def _filled(templates: Templates | None, path: str, **values: object) -> Json:
    return (templates or shipped_templates()).fill_json(f"{path}.j2", **values)

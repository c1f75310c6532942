"""What the engine is told of an output's indices: templates and live settings, as JSON."""

from __future__ import annotations

from tuner.engines.index import Index, IndexSettings, MappingStyle, Rotate
from tuner.engines.release import Engine
from tuner.engines.settings import INDEX_SETTINGS, Update
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.profile.documents import fields_of, mapping_of
from tuner.profile.model import Profile
from tuner.render.fingerprint import fingerprint

# Built-in templates have 100 and below; ours must win over them.
PRIORITY = 200
MANAGER = "rsyslog-tune"

Json = dict[str, object]


def index_template(profile: Profile, output: OmelasticsearchOutput) -> Json:
    """The body of the composable index template for the indices of `output`."""
    return _addressed(profile, output, {"template": _template(profile, output)})


def composed_template(profile: Profile, output: OmelasticsearchOutput) -> Json:
    """The same template made of the component templates of `components`."""
    names = [f"{output.index.target}-{part}" for part in components(profile, output)]
    return _addressed(profile, output, {"composed_of": names})


def components(profile: Profile, output: OmelasticsearchOutput) -> dict[str, Json]:
    """The bodies of the component templates of `output`: its settings and its mappings, to be put
    under the names TARGET-settings and TARGET-mappings."""
    meta = _meta(profile, output)
    template = _template(profile, output)
    return {part: {"template": {part: body}, "_meta": meta} for part, body in template.items()}


def first_index(index: Index) -> Json:
    """The body of `PUT NAME-000001`: without that alias the first bulk makes an index of its
    name, which no template matches and no policy rolls over."""
    return {
        "aliases": {index.target: {"is_write_index": True}},
        "mappings": {"_meta": {"managed_by": MANAGER}},
    }


def live_settings(output: OmelasticsearchOutput) -> Json:
    """The settings of `output` that an open index takes, for `PUT INDEX/_settings`."""
    return {
        f"index.{name}": value
        for name, value in _written(output.index.settings).items()
        if INDEX_SETTINGS[name].update is Update.DYNAMIC
    }


def index_patterns(index: Index) -> list[str]:
    """Which indices, or data stream, the template is for."""
    return [index.target if index.rotate is Rotate.NONE else f"{index.target}-*"]


def _addressed(profile: Profile, output: OmelasticsearchOutput, body: Json) -> Json:
    stream: Json = {} if output.index.data_stream is None else {"data_stream": {}}
    return {
        "index_patterns": index_patterns(output.index),
        **stream,
        "priority": PRIORITY,
        **body,
        "_meta": _meta(profile, output),
    }


def _template(profile: Profile, output: OmelasticsearchOutput) -> Json:
    index = output.index
    settings: Json = {f"index.{name}": value for name, value in _written(index.settings).items()}
    template: Json = {"settings": settings | _policy_settings(profile, index)}
    if index.mapping is MappingStyle.EXPLICIT:
        template["mappings"] = mapping_of(fields_of(output))
    elif index.mapping is MappingStyle.NONE:
        template["mappings"] = {"_source": {"enabled": False}, "dynamic": False}
    return template


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


def _meta(profile: Profile, output: OmelasticsearchOutput) -> Json:
    return {"managed_by": MANAGER, "profile_hash": _engine_hash(profile, output)}


def _engine_hash(profile: Profile, output: OmelasticsearchOutput) -> str:
    """Whether the template comes in components makes no difference to an index."""
    index = output.index.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude={"components"}
    )
    fields = [field.model_dump(mode="json", exclude_none=True) for field in fields_of(output)]
    return fingerprint([profile.release.engine.value, index, fields])

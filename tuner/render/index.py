"""What the engine is told of an output's indices: template and live settings, as JSON."""

from __future__ import annotations

from tuner.profile.documents import fields_of, mapping_of
from tuner.profile.index import IndexSettings, MappingStyle, Rotate
from tuner.profile.model import Profile
from tuner.profile.outputs import OmelasticsearchOutput
from tuner.render.fingerprint import fingerprint

# Built-in templates have 100 and below; ours must win over them.
_PRIORITY = 200
# Set when an index is made; everything else can change on an open index.
_AT_CREATION = frozenset({"number_of_shards", "codec"})

Json = dict[str, object]


def index_template(profile: Profile, output: OmelasticsearchOutput) -> Json:
    """The body of the composable index template for the indices of `output`."""
    index = output.index
    template: Json = {"settings": _settings(index.settings)}
    if index.mapping is MappingStyle.EXPLICIT:
        template["mappings"] = mapping_of(fields_of(output))
    return {
        "index_patterns": [f"{index.name}-*" if index.rotate is Rotate.DAILY else index.name],
        "priority": _PRIORITY,
        "template": template,
        "_meta": {"managed_by": "rsyslog-tune", "profile_hash": _engine_hash(profile, output)},
    }


def live_settings(output: OmelasticsearchOutput) -> Json:
    """The settings of `output` that an open index takes, for `PUT INDEX/_settings`."""
    settings = _settings(output.index.settings)
    fixed = {f"index.{name}" for name in _AT_CREATION}
    return {name: value for name, value in settings.items() if name not in fixed}


def _settings(settings: IndexSettings) -> Json:
    written = settings.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {f"index.{name}": value for name, value in written.items()}


def _engine_hash(profile: Profile, output: OmelasticsearchOutput) -> str:
    index = output.index.model_dump(mode="json", by_alias=True, exclude_none=True)
    fields = [field.model_dump(mode="json") for field in fields_of(output)]
    return fingerprint([profile.release.engine.value, index, fields])

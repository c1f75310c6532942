"""A profile as the files that go to rsyslog and to the engine; pure, and the same every time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from tuner.engines.index import Index, Rotate
from tuner.engines.release import Engine
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.output import Output
from tuner.profile.model import Profile
from tuner.render.document import Identity
from tuner.render.fingerprint import fingerprint
from tuner.render.folding import fold
from tuner.render.index import (
    Json,
    components,
    composed_template,
    first_index,
    index_template,
    live_settings,
)
from tuner.render.layout import lay_out
from tuner.render.lifecycle import policy
from tuner.render.quoting import Emitted, comment
from tuner.render.shipper import statements

RSYSLOG = "rsyslog.conf"
INDEX_TEMPLATE = "index-template.json"
LIVE_SETTINGS = "live-settings.json"
FIRST_INDEX = "first-index.json"
LIFECYCLE = "lifecycle-policy.json"
COMPONENTS = {"settings": "component-settings.json", "mappings": "component-mappings.json"}
HEAP = "jvm.options.d/heap.options"
NODE = {
    Engine.ELASTICSEARCH: "elasticsearch.yml",
    Engine.OPENSEARCH: "opensearch.yml",
}
MARK = "Rendered by rsyslog-tune"


@dataclass(frozen=True)
class Artefact:
    """One file to write, by its path inside the output folder; private ones are for their owner."""

    path: str
    text: str
    private: bool = False


def render(profile: Profile) -> tuple[Artefact, ...]:
    """Every file of a profile, sorted by path."""
    return tuple(sorted(_artefacts(profile), key=lambda artefact: artefact.path))


def rsyslog_conf(profile: Profile, identity: Identity | None = None) -> str:
    """The configuration of rsyslogd; with an identity only for measurements."""
    found = statements(profile, identity)
    text = lay_out("rsyslog.conf.j2", header=_shipper_header(profile), statements=found)
    return fold(text)


def _artefacts(profile: Profile) -> Iterator[Artefact]:
    yield Artefact(
        RSYSLOG,
        rsyslog_conf(profile),
        private=any(output.has_secrets for output in profile.indexed),
    )
    for output in profile.indexed:
        folder = f"{output.name}/" if len(profile.indexed) > 1 else ""
        for path, body in _engine_files(profile, output):
            yield Artefact(folder + path, _json(body))
    yield from _node_files(profile)


def _engine_files(profile: Profile, output: OmelasticsearchOutput) -> Iterator[tuple[str, Json]]:
    """What the engine is told of the indices of one output."""
    index = output.index
    yield LIVE_SETTINGS, live_settings(output)
    if index.components:
        yield INDEX_TEMPLATE, composed_template(profile, output)
        for part, body in components(profile, output).items():
            yield COMPONENTS[part], body
    else:
        yield INDEX_TEMPLATE, index_template(profile, output)
    if index.rotate is Rotate.ROLLOVER:
        yield FIRST_INDEX, first_index(index)
    if index.lifecycle is not None:
        yield LIFECYCLE, policy(profile.release.engine, index, index.lifecycle)


def _node_files(profile: Profile) -> Iterator[Artefact]:
    header = _header(profile, fingerprint(_plain(profile).get("node")), "restart the node")
    settings = profile.node.settings
    if settings:
        lines = "".join(f"{name}: {json.dumps(value)}\n" for name, value in settings.items())
        yield Artefact(NODE[profile.release.engine], f"{header}\n{lines}")
    if "heap" in profile.node.model_fields_set:
        heap = profile.node.heap
        yield Artefact(HEAP, f"{header}\n-Xms{heap}\n-Xmx{heap}\n")


def _json(body: Json) -> str:
    text = json.dumps(body, indent=2, ensure_ascii=True)
    return lay_out("index-template.json.j2", body=Emitted(text))


def _plain(profile: Profile) -> Json:
    """What differs from the defaults, so that a key that comes to the tool changes no hash."""
    return profile.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _shipper_header(profile: Profile) -> Emitted:
    """The hash covers what reaches rsyslog.conf, so a new index setting does not change it."""
    plain = _plain(profile)
    sections = [plain.get(key) for key in ("name", "inputs", "main_queue")]
    optional = ("parse", "global", "parser", "lanes", "impstats")
    sections += [plain[key] for key in optional if plain.get(key)]
    outputs = [_shipped(output) for output in profile.outputs]
    digest = fingerprint([profile.release.rsyslog, *sections, outputs])
    return _header(profile, digest, "restart rsyslog")


def _shipped(output: Output) -> Json:
    """What of an output reaches rsyslog.conf."""
    plain = output.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"index"})
    if isinstance(output, OmelasticsearchOutput):
        plain["index"] = _addressed(output.index)
    return plain


def _addressed(index: Index) -> list[str]:
    """What of an index reaches rsyslog.conf."""
    kind = index.rotate.value if index.data_stream is None else "data_stream"
    return [index.target, kind]


def _header(profile: Profile, digest: str, apply: str) -> Emitted:
    return comment(
        f"{MARK} from profile {profile.name}, sections {digest}.\n"
        f"Change the profile, render again, {apply}; edits to this file are lost."
    )

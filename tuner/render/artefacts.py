"""A profile as the files that go to rsyslog and to the engine; pure, and the same every time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from tuner.profile.model import Profile
from tuner.profile.release import Engine
from tuner.render.document import Identity
from tuner.render.fingerprint import fingerprint
from tuner.render.index import Json, index_template, live_settings
from tuner.render.layout import lay_out
from tuner.render.quoting import Emitted, comment
from tuner.render.shipper import statements

RSYSLOG = "rsyslog.conf"
INDEX_TEMPLATE = "index-template.json"
LIVE_SETTINGS = "live-settings.json"
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
    return lay_out("rsyslog.conf.j2", header=_shipper_header(profile), statements=found)


def _artefacts(profile: Profile) -> Iterator[Artefact]:
    yield Artefact(
        RSYSLOG,
        rsyslog_conf(profile),
        private=any(output.auth is not None for output in profile.outputs),
    )
    output = profile.outputs[0]
    yield Artefact(INDEX_TEMPLATE, _json(index_template(profile, output)))
    yield Artefact(LIVE_SETTINGS, _json(live_settings(output)))
    header = _header(profile, fingerprint(_plain(profile)["node"]), "restart the node")
    if profile.node.index_buffer_size is not None:
        setting = f"indices.memory.index_buffer_size: {json.dumps(profile.node.index_buffer_size)}"
        yield Artefact(NODE[profile.release.engine], f"{header}\n{setting}\n")
    if "heap" in profile.node.model_fields_set:
        heap = profile.node.heap
        yield Artefact(HEAP, f"{header}\n-Xms{heap}\n-Xmx{heap}\n")


def _json(body: Json) -> str:
    text = json.dumps(body, indent=2, ensure_ascii=True)
    return lay_out("index-template.json.j2", body=Emitted(text))


def _plain(profile: Profile) -> Json:
    return profile.model_dump(mode="json", by_alias=True, exclude_none=True)


def _shipper_header(profile: Profile) -> Emitted:
    """The hash covers what reaches rsyslog.conf, so a new index setting does not change it."""
    outputs = [
        output.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"index"})
        | {"index": [output.index.name, output.index.rotate.value]}
        for output in profile.outputs
    ]
    plain = _plain(profile)
    sections = [plain.get(key) for key in ("name", "inputs", "main_queue")]
    digest = fingerprint([profile.release.rsyslog, *sections, outputs])
    return _header(profile, digest, "restart rsyslog")


def _header(profile: Profile, digest: str, apply: str) -> Emitted:
    return comment(
        f"{MARK} from profile {profile.name}, sections {digest}.\n"
        f"Change the profile, render again, {apply}; edits to this file are lost."
    )

"""Renders a profile to the files of rsyslog and of the engine; pure and deterministic."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PurePosixPath
from posixpath import abspath, basename
from typing import TYPE_CHECKING, NamedTuple

from tuner.engines.index import Index, Rotate
from tuner.engines.release import Engine
from tuner.errors import BadTemplate, Refused
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.output import Output
from tuner.profile.model import BaseFiles, Profile
from tuner.render.engine_files import (
    COMPONENTS,
    FIRST_INDEX,
    INDEX_TEMPLATE,
    LIFECYCLE,
    LIVE_SETTINGS,
    OURS,
    Json,
    first_index,
    live_settings,
    policy,
    rendered_templates,
)
from tuner.render.form import WHOLE, Form
from tuner.render.script import script
from tuner.render.templates import Templates, fingerprint, shipped_templates
from tuner.script.quoting import fold
from tuner.script.secrets import hidden

if TYPE_CHECKING:
    from tuner.profile.base import KeptBase

RSYSLOG = "rsyslog.conf"
HEAP = "jvm.options.d/heap.options"
NODE = {
    Engine.ELASTICSEARCH: "elasticsearch.yml",
    Engine.OPENSEARCH: "opensearch.yml",
}
# The folder with a subfolder for each host, if a profile is rendered for several hosts.
HOSTS = "hosts/"
# Files that only some profiles have.
OPTIONAL = (
    RSYSLOG, HEAP, *NODE.values(), INDEX_TEMPLATE, FIRST_INDEX, LIFECYCLE, *COMPONENTS.values()
)  # fmt: skip
HEADER = "Rendered by rsyslog-tune"


class Artefact(NamedTuple):
    """One file to write, with its path inside the output folder; a private one is for its owner."""

    path: str
    text: str
    private: bool = False


def mark_of(path: str) -> str | None:
    """The text that marks a file as ours; None for live settings, which have no place for it."""
    if path.endswith(LIVE_SETTINGS):
        return None
    return OURS if path.endswith(".json") else HEADER


def render(
    profile: Profile, templates: Templates | None = None, form: Form = WHOLE
) -> tuple[Artefact, ...]:
    """Every file of a profile, sorted by path; raises BadTemplate if a site's template is wrong.

    Without `templates` the shipped ones are used.
    """
    if profile.base is not None:
        template = profile.base.kept.template
        own = () if template is None else (Artefact(basename(template.file), template.text),)
        whole = (*base_files(profile.base.kept).values(), *own)
        return tuple(sorted(whole, key=lambda file: file.path))
    writer = templates or shipped_templates()
    files = (configuration(profile, writer, form), *engine_artefacts(profile, writer))
    return tuple(sorted(files, key=lambda file: file.path))


def base_files(kept: KeptBase) -> dict[str, Artefact]:
    """The files of a base, with its changes applied, by their paths here, the main file first.  An
    artefact's path is relative to the main file's folder, or a whole path outside of it."""
    artefacts: dict[str, Artefact] = {}
    main_folder = PurePosixPath(abspath(kept.on_its_host(next(iter(kept.changed.files))))).parent
    for path, file in kept.changed.files.items():
        # abspath removes `..`, which would lead out of the output folder.
        whole = PurePosixPath(abspath(kept.on_its_host(path)))
        below = whole.relative_to(main_folder) if whole.is_relative_to(main_folder) else whole
        artefacts[path] = Artefact(
            str(below).lstrip("/"), file.text, private=hidden(file.text) != file.text
        )
    return artefacts


def base_places(base: BaseFiles, live: str) -> dict[str, str]:
    """The paths on a host of a base's files, by their paths here.  A base with an absolute path, or
    copied below a root, determines them; else the main file goes to `live`, and the files of its
    folder beside that."""
    kept = base.kept
    if base.place is not None:
        return {path: kept.on_its_host(path) for path in kept.changed.files}
    first = next(iter(kept.changed.files))
    folder, live_folder = PurePosixPath(first).parent, PurePosixPath(live).parent
    places = {}
    for path in kept.changed.files:
        file = PurePosixPath(path)
        is_below = file.is_relative_to(folder)
        places[path] = str(live_folder / file.relative_to(folder)) if is_below else path
    return {**places, first: live}


def engine_artefacts(profile: Profile, templates: Templates | None = None) -> tuple[Artefact, ...]:
    """The files for the engine and its nodes, not those for rsyslogd; none for a base, whose engine
    keeps its own objects."""
    if profile.base is not None:
        return ()
    writer, files = templates or shipped_templates(), list[Artefact]()
    for output in profile.indexed:
        folder = f"{output.name}/" if len(profile.indexed) > 1 else ""
        for path, body in _engine_files(profile, output, writer):
            text = json.dumps(body, indent=2, ensure_ascii=True)
            files.append(Artefact(folder + path, f"{text}\n"))
    return tuple(map(_marked, [*files, *_node_files(profile, writer)]))


def configuration(
    profile: Profile, templates: Templates | None = None, form: Form = WHOLE
) -> Artefact:
    """The configuration file of rsyslogd alone.  Raises Refused for a base, which has its own."""
    return _marked(
        Artefact(
            fragment_path(profile) if form.is_fragment else RSYSLOG,
            rsyslog_conf(profile, templates=templates, form=form),
            private=any(output.has_secrets for output in profile.indexed)
            or any(hidden(text) != text for text in form.snippets.values()),
        )
    )


def _marked(file: Artefact) -> Artefact:
    mark = mark_of(file.path)
    if mark is not None and mark not in file.text:
        raise BadTemplate(
            f"{file.path} would not say {mark!r}, by which the next render knows it: keep the "
            "shipped header, {{ super() }}"
        )
    return file


def rsyslog_conf(profile: Profile, templates: Templates | None = None, form: Form = WHOLE) -> str:
    """The configuration of rsyslogd."""
    if profile.base is not None:
        raise Refused(
            "a profile with a base has the files of that: render it, and bring them to hosts the "
            "way you do today"
        )
    writer, name = templates or shipped_templates(), f"{RSYSLOG}.j2"
    digest = _digest(profile, [*writer.site_files(name), *form.snippets.items()])
    return fold(writer.fill(name, conf=script(profile, form), digest=digest))


def fragment_path(profile: Profile) -> str:
    """The path of a fragment in the rendered tree."""
    return f"rsyslog.d/{profile.name}.conf"


def node_files(profile: Profile) -> tuple[str, ...]:
    """The paths of the files that take effect only when a node restarts."""
    files = (NODE[profile.release.engine],) if profile.node.settings else ()
    return (*files, HEAP) if "heap" in profile.node.model_fields_set else files


def _engine_files(
    profile: Profile, output: OmelasticsearchOutput, templates: Templates
) -> Iterator[tuple[str, Json]]:
    """The files for the indices of one output, as pairs of path and JSON."""
    yield LIVE_SETTINGS, live_settings(output, templates)
    whole, parts = rendered_templates(profile, output, templates)
    yield INDEX_TEMPLATE, whole
    yield from ((COMPONENTS[part], body) for part, body in parts.items())
    if output.index.rotate is Rotate.ROLLOVER:
        yield FIRST_INDEX, first_index(output.index, templates)
    lifecycle = policy(profile.release.engine, output.index, templates)
    if lifecycle is not None:
        yield LIFECYCLE, lifecycle


def _node_files(profile: Profile, templates: Templates) -> Iterator[Artefact]:
    node, settings, heap = _changed(profile).get("node"), profile.node.settings, profile.node.heap
    for path in node_files(profile):
        name = "heap.options.j2" if path == HEAP else f"{path}.j2"
        own_templates = templates.site_files(name)
        digest = fingerprint([node, own_templates] if own_templates else node)
        values = {"profile": profile.name, "digest": digest, "settings": settings, "heap": heap}
        yield Artefact(path, templates.fill(name, **values))


def _changed(profile: Profile) -> Json:
    """The profile without default values, so that a new key of the tool changes no hash."""
    return profile.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _digest(profile: Profile, site: list[tuple[str, str]]) -> str:
    """The hash of everything that affects rsyslog.conf: sections of the profile, without index
    settings, and the `site` templates and snippets."""
    fields = _changed(profile)
    sections = [fields.get(key) for key in ("name", "inputs", "main_queue")]
    optional = (
        "parse", "global", "parser", "lanes", "streams", "snippets", "impstats", "steps",
        "lookup_tables", "ratelimits",
    )  # fmt: skip
    sections += [fields[key] for key in optional if fields.get(key)]
    outputs = [_output_part(output) for output in profile.outputs]
    return fingerprint([profile.release.rsyslog, *sections, outputs, *site])


def _output_part(output: Output) -> Json:
    """The part of an output that affects rsyslog.conf."""
    fields = output.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"index"})
    if isinstance(output, OmelasticsearchOutput):
        fields["index"] = _index_part(output.index)
    return fields


def _index_part(index: Index) -> list[object]:
    """The part of an index that affects rsyslog.conf."""
    kind = index.rotate.value if index.data_stream is None else "data_stream"
    name_keys = {"separator", "clock", "date_in_utc", "by"}
    name = index.model_dump(mode="json", by_alias=True, exclude_defaults=True, include=name_keys)
    return [index.target, kind, *([name] if name else [])]

"""What is rendered, in the form that a configuration management takes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from posixpath import basename
from typing import NamedTuple

from tuner.profile.model import BaseFiles, Profile
from tuner.profile.placement import sockets_of
from tuner.reading import asset_folder
from tuner.render.artefacts import RSYSLOG, Artefact, base_files, base_places, fragment_path
from tuner.render.engine_files import marked, place_of
from tuner.render.form import WHOLE, Form, Format
from tuner.render.modules import packages_of
from tuner.render.templates import Templates, fingerprint, shipped_templates

_SWAP = "swap"
_CONFIG = f"/etc/{RSYSLOG}"
FILES = "files/"


class _Installed(NamedTuple):
    """A file that goes to a host: which one here, where it belongs there, and its mode."""

    source: str
    target: str
    mode: str


class _PutTemplate(NamedTuple):
    """The index template that the engine gets: its file and text, where it is put, the mark by
    which it is known there, and the engine as the configuration names it."""

    source: str
    text: str
    path: str
    mark: str
    engine: str


def exported(
    profile: Profile,
    rendered: Sequence[Artefact],
    format_: Format,
    form: Form = WHOLE,
    templates: Templates | None = None,
) -> tuple[Artefact, ...]:
    """The rendered files of a profile as a role of Ansible, a module of Puppet or a state of Salt,
    sorted by path; as they are for PLAIN."""
    if format_ is Format.PLAIN:
        return tuple(rendered)
    base, module = profile.base, puppet_module(profile)
    files = _of_profile(profile, rendered) if base is None else _of_base(base, form)
    put_template = None if base is None else _given(profile, base)
    texts = {file.path: file.text for file in rendered}
    values: dict[str, object] = {
        "profile": profile.name,
        "module": module,
        "module_files": f"puppet:///modules/{module}/",
        "config": _CONFIG,
        "files": [file._asdict() for file in files],
        "template": None if put_template is None else put_template._asdict(),
        "packages": [
            "rsyslog",
            *sorted(packages_of("\n".join(texts[file.source] for file in files))),
        ],
        "restart": "systemctl restart rsyslog",
        "healthy": " && ".join(_signs(profile)),
        "swap": "/usr/local/sbin/rsyslog-tune-swap",
        "staging": f"/var/lib/rsyslog-tune-{profile.name}",
    }
    values["digest"] = fingerprint(values)
    writer = templates or shipped_templates()
    written = {f"{FILES}{_SWAP}": f"export/{_SWAP}.j2", **_own_files(format_)}
    artefacts = [Artefact(FILES + file.path, file.text, file.private) for file in rendered]
    if put_template is not None:
        artefacts = [file for file in artefacts if file.path != FILES + put_template.source]
        artefacts.append(Artefact(FILES + put_template.source, put_template.text))
    artefacts += [
        Artefact(path, writer.fill(template, **values)) for path, template in written.items()
    ]
    return tuple(sorted(artefacts, key=lambda file: file.path))


def _own_files(format_: Format) -> dict[str, str]:
    """What a format has beside the installed files: by its path, the template that writes it."""
    shipped = asset_folder("templates")
    folder = shipped / "export" / format_.value
    return {
        str(template.relative_to(folder).with_suffix("")): str(template.relative_to(shipped))
        for template in folder.rglob("*.j2")
    }


def _of_profile(profile: Profile, rendered: Sequence[Artefact]) -> list[_Installed]:
    """What rsyslogd reads, and where it belongs."""
    source = next(file for file in rendered if file.path in (RSYSLOG, fragment_path(profile)))
    return [_Installed(source.path, f"/etc/{source.path}", _mode(source))]


def _of_base(base: BaseFiles, form: Form) -> list[_Installed]:
    """The user's own files and where they belong; what is included comes before its includer."""
    artefacts = base_files(base.kept)
    first = PurePosixPath(next(iter(artefacts)))
    live = f"{_CONFIG.removesuffix('.conf')}.d/{first.stem}.conf" if form.is_fragment else _CONFIG
    places = base_places(base, live)
    return [
        _Installed(file.path, places[path], _mode(file))
        for path, file in reversed(artefacts.items())
    ]


def _mode(file: Artefact) -> str:
    return "0600" if file.private else "0644"


def _given(profile: Profile, base: BaseFiles) -> _PutTemplate | None:
    """None where nothing says which indices a template is for: no engine takes that."""
    template = base.kept.template
    if template is None or not template.has_patterns:
        return None
    body, mark = marked(template)
    text = json.dumps(body, indent=2) + "\n"
    engine = profile.measured.servers[0].rstrip("/") if profile.indexed else ""
    return _PutTemplate(
        basename(template.file), text, place_of(template, profile.name), mark, engine
    )


def puppet_module(profile: Profile) -> str:
    """The name of the module, which Puppet asks its folder to have too."""
    return "rsyslog_" + profile.name.replace("-", "_")


def _signs(profile: Profile) -> Iterator[str]:
    """What succeeds when rsyslogd is well: it runs, and listens on each port."""
    yield "systemctl is-active --quiet rsyslog"
    for socket in sockets_of(profile):
        kind, _, port = socket.partition(":")
        yield f"ss -Hln{kind[0]} 'sport = :{port}' | grep -q ."

"""What is rendered, in the form that a configuration management takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum

from tuner.errors import Refused
from tuner.profile.model import Profile
from tuner.profile.placement import sockets_of
from tuner.render.artefacts import RSYSLOG, Artefact, fragment_path
from tuner.render.fingerprint import fingerprint
from tuner.render.modules import packages_of
from tuner.render.templates import Templates, shipped_templates

_SWAP = "swap"
FILES = "files/"


class Format(Enum):
    """Whom the rendered files are for."""

    PLAIN = "plain"
    ANSIBLE = "ansible"
    PUPPET = "puppet"
    SALT = "salt"


# What each brings beside the files: its path, and the template that writes it.
_WRITTEN = {
    Format.PLAIN: {},
    Format.ANSIBLE: {
        "defaults/main.yml": "ansible-defaults.yml.j2",
        "handlers/main.yml": "ansible-handlers.yml.j2",
        "tasks/main.yml": "ansible-tasks.yml.j2",
    },
    Format.PUPPET: {"manifests/init.pp": "puppet-init.pp.j2"},
    Format.SALT: {"init.sls": "salt-init.sls.j2"},
}


def exported(
    profile: Profile, rendered: Sequence[Artefact], form: Format, templates: Templates | None = None
) -> tuple[Artefact, ...]:
    """The rendered files of a profile as a role of Ansible, a module of Puppet or a state of Salt,
    sorted by path; as they are for PLAIN.  Raises Refused for a base of several files."""
    if form is Format.PLAIN:
        return tuple(rendered)
    source, target = _configuration(profile, rendered, form)
    module = puppet_module(profile)
    values: dict[str, object] = {
        "profile": profile.name,
        "module": module,
        "files": f"puppet:///modules/{module}/",
        "source": source.path,
        "mode": "0600" if source.private else "0644",
        "config": f"/etc/{RSYSLOG}",
        "target": target,
        "packages": ["rsyslog", *sorted(packages_of(source.text))],
        "restart": "systemctl restart rsyslog",
        "healthy": " && ".join(_signs(profile)),
        "swap": "/usr/local/sbin/rsyslog-tune-swap",
    }
    values["digest"] = fingerprint(values)
    writer = templates or shipped_templates()
    written = {**_WRITTEN[form], f"{FILES}{_SWAP}": f"{_SWAP}.j2"}
    files = [Artefact(FILES + one.path, one.text, one.private) for one in rendered]
    files += [
        Artefact(path, writer.fill(f"export/{template}", **values))
        for path, template in written.items()
    ]
    return tuple(sorted(files, key=lambda file: file.path))


def _configuration(
    profile: Profile, rendered: Sequence[Artefact], form: Format
) -> tuple[Artefact, str]:
    """What rsyslogd reads, and where it belongs."""
    if profile.base is None:
        source = next(one for one in rendered if one.path in (RSYSLOG, fragment_path(profile)))
        return source, f"/etc/{source.path}"
    if len(rendered) > 1:
        names = ", ".join(one.path for one in rendered)
        raise Refused(
            f"what --format {form.value} writes puts one file in place, and the base has "
            f"{len(rendered)} ({names}): render them without --format, or apply the profile"
        )
    return rendered[0], profile.base.place or f"/etc/{RSYSLOG}"


def puppet_module(profile: Profile) -> str:
    """The name of the module, which Puppet asks its folder to have too."""
    return "rsyslog_" + profile.name.replace("-", "_")


def _signs(profile: Profile) -> Iterator[str]:
    """What succeeds when rsyslogd is well: it runs, and listens on each port."""
    yield "systemctl is-active --quiet rsyslog"
    for socket in sockets_of(profile):
        kind, _, port = socket.partition(":")
        yield f"ss -Hln{kind[0]} 'sport = :{port}' | grep -q ."

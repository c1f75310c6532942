"""The profile as one host runs it: with the changes that the inventory makes for that host, the
files that its rsyslogd reads, and what it needs for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from tuner.deploy.inventory import InventoryHost
from tuner.errors import BadProfile, BadUsage, Refused
from tuner.lint.candidate import with_edits
from tuner.lint.load import LoadedProfile, parse_profile
from tuner.profile.model import Profile
from tuner.profile.placement import sockets_of
from tuner.render.artefacts import (
    Artefact,
    base_files,
    base_places,
    configuration,
    engine_artefacts,
)
from tuner.render.form import Form
from tuner.render.modules import packages_of
from tuner.render.templates import Templates


@dataclass(frozen=True)
class HostProfile:
    """A profile with a host's own changes, and what is rendered of it for the host's rsyslogd: the
    artefacts, and where each belongs there, both by its name here."""

    machine: InventoryHost
    profile: Profile
    artefacts: Mapping[str, Artefact]
    places: Mapping[str, str]

    @property
    def files(self) -> dict[str, str]:
        """The texts by their paths on the host."""
        return {path: self.artefacts[name].text for name, path in self.places.items()}

    @property
    def text(self) -> str:
        """All of them, for whoever looks for names in it."""
        return "\n".join(self.files.values())

    @property
    def mode(self) -> str:
        """The mode of a new file."""
        return "600" if any(artefact.private for artefact in self.artefacts.values()) else "644"


@dataclass(frozen=True)
class PlannedProfile:
    """A profile as it was when an apply was planned: the file, its text, its layers, and the files
    beside it."""

    path: str
    text: str
    layers: tuple[tuple[str, str], ...] = ()
    beside: tuple[tuple[str, str], ...] | None = None

    @classmethod
    def of(cls, loaded: LoadedProfile) -> PlannedProfile:
        """A profile as it was loaded now."""
        return cls(str(loaded.path), loaded.text, loaded.layers, loaded.beside)

    @cached_property
    def loaded(self) -> LoadedProfile:
        """The profile, read anew."""
        return parse_profile(self.text, self.path, self.layers, self.beside)


def host_profile(
    loaded: LoadedProfile, machine: InventoryHost, site: Templates | None, form: Form
) -> HostProfile:
    """What a host is to run.  Raises BadUsage where its own changes make no valid profile, Refused
    where they change what the engine gets, and for files that belong in no place that apply
    knows."""
    profile = for_host(loaded, machine).profile
    if profile.base is None:
        file = configuration(profile, site, form)
        live = machine.paths.live(profile.name if form.is_fragment else None)
        return HostProfile(machine, profile, {file.path: file}, {file.path: live})
    artefacts = base_files(profile.base.kept)
    first = PurePosixPath(next(iter(profile.base.kept.changed.files)))
    live = machine.paths.live(first.stem if form.is_fragment else None)
    places = base_places(profile.base, live)
    for path in places.values():
        folder = str(PurePosixPath(path).parent)
        if path != machine.paths.configuration and folder != machine.paths.fragments:
            raise Refused(
                f"{machine.name}: {path} is neither {machine.paths.configuration} nor a file of "
                f"{machine.paths.fragments}, which is all that apply replaces: name others in "
                "paths of the inventory, or render the files and bring them there yourself"
            )
    return HostProfile(machine, profile, artefacts, places)


def for_host(loaded: LoadedProfile, machine: InventoryHost) -> LoadedProfile:
    """`loaded` with the changes of a host, validated anew.

    Raises BadUsage where that is no valid profile, and Refused where it changes what the engine
    gets, which all hosts share.
    """
    if not machine.changes:
        return loaded
    try:
        changed = with_edits(loaded, dict(machine.changes))
    except BadProfile as bad:
        messages = "; ".join(problem.message for problem in bad.problems)
        raise BadUsage(f"the changes of {machine.name} in the inventory: {messages}") from None
    except BadUsage as bad:
        raise BadUsage(f"the changes of {machine.name} in the inventory: {bad}") from None
    if loaded.profile.base is not None:
        return changed
    # The engine's objects say for whom they were made, which the profile itself decides.
    same_name = changed.profile.model_copy(update={"name": loaded.profile.name})
    if engine_artefacts(same_name) != engine_artefacts(loaded.profile):
        raise Refused(
            f"the changes of {machine.name} in the inventory change what the engine gets, which "
            "all hosts share: change the profile"
        )
    return changed


_KEY = re.compile(r'(?i)(?:keyfile|myprivkey)="(/[^"]+)"')
_CERTIFICATE = re.compile(r'(?i)(?:certfile|cafile|cacert|mycert)="(/[^"]+)"')


@dataclass(frozen=True)
class HostNeeds:
    """Packages of Debian, paths of files that rsyslogd reads beside its configuration, of files
    with secrets and of certificates, the variables of rsyslogd's environment that hold secrets, and
    ports that must be free, as tcp:PORT and udp:PORT."""

    packages: tuple[str, ...]
    files: tuple[str, ...]
    secrets: tuple[str, ...]
    certificates: tuple[str, ...]
    variables: tuple[str, ...]
    ports: tuple[str, ...]


def needs_of(profile: Profile, text: str) -> HostNeeds:
    """What a profile, rendered as `text`, asks of its host."""
    secrets = [secret.file for secret in profile.secrets if secret.file is not None]
    return HostNeeds(
        packages=("rsyslog", *sorted(packages_of(text))),
        files=tuple(profile.files_beside),
        secrets=tuple(dict.fromkeys((*secrets, *_KEY.findall(text)))),
        certificates=tuple(dict.fromkeys(_CERTIFICATE.findall(text))),
        variables=profile.secret_variables,
        ports=sockets_of(profile),
    )

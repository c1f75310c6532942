"""A profile rendered for each host of an inventory, and what each of them needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tuner.cli.hosts import host_file, machines_of
from tuner.deploy.needs import needs_of
from tuner.lint.load import LoadedProfile
from tuner.render.artefacts import HOSTS, Artefact, engine_artefacts
from tuner.render.templates import Templates


def for_hosts(
    loaded: LoadedProfile,
    profile: Path,
    inventory: Path,
    site: Templates | None,
    fragment: bool,
    loaded_modules: Sequence[str] | None,
) -> tuple[tuple[Artefact, ...], dict[str, dict[str, Sequence[str]]]]:
    """What the engine gets once, the configuration of each host in a folder of its own, and what
    each host needs by its name."""
    artefacts = list(engine_artefacts(loaded.profile, site))
    needs = {}
    for machine in machines_of(None, inventory, profile):
        own = host_file(loaded, machine, site, fragment, loaded_modules)
        path = f"{HOSTS}{machine.name}/{own.file.path}"
        artefacts.append(Artefact(path, own.file.text, own.file.private))
        needs[machine.name] = asdict(needs_of(own.profile, own.file))
    return tuple(sorted(artefacts, key=lambda one: one.path)), needs

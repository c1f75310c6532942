"""The hosts that a command changes or reads, their files, and their engine's URL."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from urllib.parse import urlsplit

import typer

from tuner.cli.console import OutputFormat, result, say
from tuner.cli.usage.hosts import OnHosts
from tuner.deploy.host_profile import HostProfile, host_profile, needs_of
from tuner.deploy.inventory import InventoryHost, Role, choose, load_inventory
from tuner.deploy.plan import HostChange, host_change, unfit
from tuner.deploy.target import RemoteHost
from tuner.errors import BadUsage, Refused, TuneError
from tuner.lint.load import LoadedProfile
from tuner.profile.model import Profile
from tuner.profile.placement import sockets_of
from tuner.render.artefacts import HOSTS, Artefact, engine_artefacts
from tuner.render.form import Form
from tuner.render.templates import Templates
from tuner.schema.scalars import is_loopback


def machines_of(
    names: list[str] | None, inventory: Path | None, profile: Path | None
) -> tuple[InventoryHost, ...]:
    """The hosts that the options name."""
    if not names and inventory is None:
        raise BadUsage("name hosts, --host HOST, or an inventory, --inventory hosts.yaml")
    listed = None if inventory is None else load_inventory(inventory)
    return choose(listed, names or [], Role.COLLECTOR, profile)


def engine_url(
    profile: Profile, options: OnHosts, machines: tuple[InventoryHost, ...]
) -> str | None:
    """The URL at which this machine reaches the engine, None if it is left out.  Raises Refused if
    the profile names loopback and a host is remote: the server is then on that host."""
    url = options.elasticsearch
    if options.skip_engine and url is not None:
        raise BadUsage("--skip-engine and --elasticsearch cannot be combined")
    if options.skip_engine or not profile.indexed:
        return None
    if url is not None:
        return url
    if profile.base is not None:
        # The login of a base is in its own files, which we do not use.
        if profile.base.template is not None:
            say(f"{profile.base.template} is left out: --elasticsearch URL says where it belongs")
        return None
    server = profile.measured.servers[0].rstrip("/")
    elsewhere = [host.name for host in machines if not host.address.startswith("local:")]
    if elsewhere and is_loopback(urlsplit(server).hostname or ""):
        raise Refused(
            f"{server} is on {elsewhere[0]} itself: name the engine as this machine reaches it, "
            "--elasticsearch URL, or --skip-engine"
        )
    return server


def artefacts_for_hosts(
    loaded: LoadedProfile, profile: Path, inventory: Path, site: Templates | None, form: Form
) -> tuple[tuple[Artefact, ...], dict[str, dict[str, Sequence[str]]]]:
    """The files of the engine, those of each host in a folder of its own, and the requirements of
    each host by its name."""
    artefacts = list(engine_artefacts(loaded.profile, site))
    needs = {}
    for machine in machines_of(None, inventory, profile):
        on_host = host_profile(loaded, machine, site, form)
        folder = f"{HOSTS}{machine.name}/"
        artefacts += [file._replace(path=folder + file.path) for file in on_host.artefacts.values()]
        needs[machine.name] = asdict(needs_of(on_host.profile, on_host.text))
    return tuple(sorted(artefacts, key=lambda file: file.path)), needs


def change_on(host: HostProfile, take_over: bool, refusals: list[TuneError]) -> HostChange:
    """What a profile changes on a host, which is asked; why it is not to be changed is added to
    `refusals`.  Raises Locked while another change is under way there."""
    machine = host.machine
    facts = RemoteHost(machine, host.files).facts(sockets_of(host.profile))
    facts.require_finished(machine.name)
    refusals += map(Refused, unfit(host, facts, take_over))
    return host_change(host, facts)


def require_none(refusals: Sequence[TuneError]) -> None:
    """Raise what refuses a change of hosts, all of it at once."""
    if len(refusals) == 1:
        raise refusals[0]
    if refusals:
        raise Refused("\n- ".join(("several things are in the way:", *map(str, refusals))))


def require_consent(text: str, question: str, preview: str, output: OutputFormat) -> None:
    """Show what will be done, and ask; raises Refused without a yes, or without a terminal to ask
    on, where `preview` is the command to look at it."""
    if output is OutputFormat.TEXT:
        result(text)
    if output is OutputFormat.JSON or not sys.stdin.isatty():
        raise Refused(f"no terminal to ask on: look at {preview}, then use --yes")
    if not typer.confirm(question, err=True):
        raise Refused("declined; nothing is changed")

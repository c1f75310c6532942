"""Which hosts a command is about, and the engine behind them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from tuner.deploy.inventory import InventoryHost, Role, choose, load_inventory
from tuner.errors import BadUsage, Refused
from tuner.host.allow import is_loopback
from tuner.lint.load import LoadedProfile
from tuner.profile.model import Profile
from tuner.render.artefacts import Artefact, configuration
from tuner.render.form import Form
from tuner.render.templates import Templates

HostsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--host",
        metavar="HOST",
        help="A host of the inventory, by its name; without an inventory its address: "
        "ssh://USER@HOST:PORT, local://, or a name for ssh. Can be repeated.",
        show_default=False,
    ),
]
InventoryOption = Annotated[
    Path | None,
    typer.Option(
        "--inventory",
        metavar="FILE",
        help="hosts.yaml, or an inventory of Ansible's; without --host all collectors in it that "
        "are to run this profile.",
        show_default=False,
    ),
]
EngineUrlOption = Annotated[
    str | None,
    typer.Option(
        "--elasticsearch",
        metavar="URL",
        help="The engine as this machine reaches it; by default the first of the profile's "
        "servers.",
        show_default=False,
    ),
]
SkipEngineOption = Annotated[
    bool, typer.Option("--skip-engine", help="Leave the engine alone; look for no event in it.")
]


def machines_of(
    names: list[str] | None, inventory: Path | None, profile: Path | None
) -> tuple[InventoryHost, ...]:
    """The hosts that the options name."""
    if not names and inventory is None:
        raise BadUsage("name hosts, --host HOST, or an inventory, --inventory hosts.yaml")
    known = None if inventory is None else load_inventory(inventory)
    return choose(known, names or [], Role.COLLECTOR, profile)


def engine_url(
    profile: Profile, url: str | None, skip: bool, machines: tuple[InventoryHost, ...]
) -> str | None:
    """Where the engine is for us; raises Refused where the profile's server is on loopback: that
    of the hosts, and not ours."""
    if skip and url is not None:
        raise BadUsage("--skip-engine and --elasticsearch cannot be combined")
    if skip or not profile.indexed:
        return None
    if url is not None:
        return url
    server = profile.measured.servers[0].rstrip("/")
    elsewhere = [one.name for one in machines if not one.address.startswith("local:")]
    if elsewhere and is_loopback(urlsplit(server).hostname or ""):
        raise Refused(
            f"{server} is on {elsewhere[0]} itself: name the engine as this machine reaches it, "
            "--elasticsearch URL, or --skip-engine"
        )
    return server


def rendered(
    loaded: LoadedProfile, site: Templates | None, form: Form
) -> tuple[Artefact, str | None]:
    """The configuration of rsyslogd, and the name of the drop-in where it is one."""
    name = loaded.profile.name if form.is_fragment else None
    return configuration(loaded.profile, site, form), name

"""The machines: what they are called, how they are reached, what each is, how its rsyslogd starts.

One file says it for everything that works on several machines: ours, or an inventory of Ansible's,
INI or YAML, as Ansible itself reads it.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from stat import S_IWOTH
from typing import Annotated, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from tuner.errors import BadProfile, BadUsage, ProgramMissing, Refused
from tuner.host.process import own_environment, run
from tuner.host.programs import find
from tuner.host.remote import check_address, written_address
from tuner.lint.load import text_of
from tuner.profile.source import Source, read
from tuner.profile.wording import problems_of
from tuner.reading import resolved
from tuner.schema.scalars import Line
from tuner.schema.section import Section
from tuner.space.experiment import SettingValue
from tuner.space.knob import Level

HostPath = Annotated[str, Field(pattern=r"^(/[A-Za-z0-9_.+-]+)+$", max_length=1000)]
HostName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$")]


class Role(Enum):
    """What a machine is there for."""

    COLLECTOR = "collector"
    ENGINE = "engine"
    LOAD = "load"
    LAB = "lab"


class Service(Section):
    """How rsyslogd is restarted: by its systemd unit, or by a command that ends when it has started
    it and leaves its process id in a file."""

    unit: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9:_.@-]{0,200}$")] | None = None
    restart: Annotated[tuple[Line, ...], Field(max_length=100)] = ()
    pid_file: HostPath | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.unit is None) != bool(self.restart and self.pid_file):
            raise ValueError("name either unit, or restart (a list) together with pid_file")
        return self


class Paths(Section):
    """Where rsyslog's files are, and where what we keep is."""

    configuration: HostPath = "/etc/rsyslog.conf"
    fragments: HostPath = "/etc/rsyslog.d"
    state: HostPath = "/var/lib/rsyslog-tune"

    def live(self, fragment: str | None) -> str:
        """The file that a profile is rendered to: the whole configuration, or a drop-in."""
        return self.configuration if fragment is None else f"{self.fragments}/{fragment}.conf"


RSYSLOG = Service(unit="rsyslog")
DEBIAN = Paths()


class HostEntry(Section):
    """One machine as the file has it; `profile` is relative to the file, `changes` are paths in the
    profile with this machine's own values, null takes a key away, `rsyslog_tune` is the command
    where it is not on the path."""

    address: Line
    role: Role = Role.COLLECTOR
    profile: Line | None = None
    changes: dict[str, SettingValue] = Field(default_factory=dict)
    service: Service = RSYSLOG
    paths: Paths = DEBIAN
    rsyslog_tune: HostPath | None = None

    @field_validator("address")
    @classmethod
    def _reachable(cls, address: str) -> str:
        try:
            check_address(address)
        except Refused as bad:
            raise ValueError(str(bad)) from None
        return address


class Inventory(Section):
    """Every machine by its name."""

    hosts: Annotated[dict[HostName, HostEntry], Field(min_length=1)]


@dataclass(frozen=True)
class InventoryHost:
    """One machine; `profile` is the file that it is to run, None where nobody said, `changes` are
    its own values of settings in that."""

    name: str
    address: str
    role: Role = Role.COLLECTOR
    profile: Path | None = None
    changes: tuple[tuple[str, Level], ...] = ()
    service: Service = RSYSLOG
    paths: Paths = DEBIAN
    rsyslog_tune: str | None = None


def load_inventory(path: Path) -> tuple[InventoryHost, ...]:
    """Every machine of hosts.yaml, or of an inventory of Ansible's, in order; raises BadProfile
    with every problem, Refused where anybody may write what would run as root elsewhere."""
    text = text_of(path)
    if path.stat().st_mode & S_IWOTH:
        raise Refused(f"{path} can be written by others: chmod o-w {path}")
    if is_ansible(path, text):
        # It tells no places.
        source = Source(str(path), "", {"hosts": ansible_hosts(path)}, {})
    else:
        source = read(text, str(path))
    try:
        entries = Inventory.model_validate(source.data, by_alias=True, by_name=False).hosts
    except ValidationError as error:
        raise BadProfile(source.problems + problems_of(error, source, Inventory)) from None
    if source.problems:
        raise BadProfile(source.problems)
    return tuple(
        InventoryHost(
            name,
            **vars(entry)
            | {
                "profile": None if entry.profile is None else path.parent / entry.profile,
                "changes": tuple(entry.changes.items()),
            },
        )
        for name, entry in entries.items()
    )


def choose(
    machines: Sequence[InventoryHost] | None, names: Sequence[str], role: Role, profile: Path | None
) -> tuple[InventoryHost, ...]:
    """The machines named, else all of that role that run `profile`; without an inventory, names
    are addresses.  Raises Refused where one is something else, runs something else or is unknown.
    """
    if machines is None:
        return tuple(_by_address(name) for name in dict.fromkeys(names))
    by_name = {machine.name: machine for machine in machines}
    for name in names:
        if name not in by_name:
            raise Refused(f"{name} is not in the inventory: it has {', '.join(by_name)}")
        machine = by_name[name]
        if machine.role is not role:
            raise Refused(f"{name} is of the role {machine.role.value}, not {role.value}")
        if not _runs(machine, profile):
            raise Refused(f"{name} is to run {machine.profile}, not {profile}: see the inventory")
    chosen = tuple(by_name[name] for name in dict.fromkeys(names)) or tuple(
        machine for machine in machines if machine.role is role and _runs(machine, profile)
    )
    if not chosen:
        ours = "" if profile is None else f" that is to run {profile}"
        raise Refused(f"the inventory has no host of the role {role.value}{ours}: add one")
    return chosen


def _by_address(name: str) -> InventoryHost:
    """A machine that only the command line names: an address, or a name for ssh."""
    address = name if "://" in name else f"ssh://{name}"
    check_address(address)
    host = address.partition("://")[2].partition("?")[0].rpartition("@")[2]
    return InventoryHost(host or "localhost", address)


def _runs(machine: InventoryHost, profile: Path | None) -> bool:
    if profile is None or machine.profile is None:
        return True
    return resolved(machine.profile) == resolved(profile)


_LIMIT_S = 60.0
_YAML = {".yaml", ".yml"}
_TRUE = {"true", "yes", "on", "1"}
# Only files that say something, no programs, and nothing that asks a cloud.
_PLUGINS = {"ANSIBLE_INVENTORY_ENABLED": "ini,yaml", "ANSIBLE_NOCOLOR": "1"}
_OURS = "rsyslog_tune_"


def is_ansible(path: Path, text: str) -> bool:
    """Whether a file is an inventory of Ansible's: ours is YAML and begins with `hosts`."""
    lines = (line for line in text.splitlines() if line[:1].isalpha() or line[:1] == "[")
    return path.suffix not in _YAML or not next(lines, "hosts:").startswith("hosts:")


def ansible_hosts(path: Path) -> dict[str, object]:
    """The hosts of an inventory as hosts.yaml would have them.

    `ansible_host`, `ansible_user`, `ansible_port`, `ansible_ssh_private_key_file`, `ansible_become`
    and `ansible_connection: local` become the address; `rsyslog_tune_role`, `_profile`, `_changes`,
    `_service` and `_paths` are our own variables.  Ansible's Python interface is its own affair, so
    its program is asked.
    """
    beside = Path(sys.executable).with_name("ansible-inventory")
    program = str(beside) if beside.exists() else find("ansible-inventory")
    if program is None:
        raise ProgramMissing(
            f"{path} is an inventory of Ansible's, which is not installed: pip install ansible-core"
        )
    environment = own_environment() | _PLUGINS
    done = run([program, "--list", "-i", str(path)], _LIMIT_S, environment=environment)
    if done.returncode != 0:
        raise BadUsage(f"ansible-inventory cannot read {path}: {done.stderr.strip()[-300:]}")
    listing = json.loads(done.stdout)
    variables = listing.get("_meta", {}).get("hostvars", {})
    # A host without variables stands in its groups alone.
    names = dict.fromkeys(name for group in listing.values() for name in group.get("hosts", ()))
    if not names:
        complaint = done.stderr.strip()[-300:] or "write some below the hosts of a group"
        raise BadUsage(f"ansible-inventory finds no host in {path}: {complaint}")
    return {name: _entry(name, variables.get(name, {})) for name in names}


def _entry(name: str, variables: Mapping[str, object]) -> dict[str, object]:
    ours = {
        key.removeprefix(_OURS): value for key, value in variables.items() if key.startswith(_OURS)
    }
    return {"address": _address(name, variables), **ours}


def _address(name: str, variables: Mapping[str, object]) -> str:
    def variable(key: str) -> str:
        return str(variables.get(f"ansible_{key}", ""))

    sudo = "true" if variable("become").lower() in _TRUE else None
    if variable("connection") == "local":
        return written_address(None, sudo=sudo)
    key = variable("ssh_private_key_file")
    host = variable("host") or name
    return written_address(
        host, variable("user"), variable("port"), sudo=sudo, ssh_identity_file=key
    )

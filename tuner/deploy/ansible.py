"""Ansible's inventories, INI and YAML, as Ansible itself reads them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from tuner.engine.client import at
from tuner.errors import BadUsage, ProgramMissing
from tuner.host.process import own_environment, run
from tuner.host.programs import find
from tuner.host.remote import written_address

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
    variables = at(json.loads(done.stdout), "_meta", "hostvars")
    hosts = variables if isinstance(variables, dict) else {}
    if not hosts:
        raise BadUsage(f"ansible-inventory finds no host in {path}: {done.stderr.strip()[-300:]}")
    return {name: _entry(name, each) for name, each in hosts.items()}


def _entry(name: str, variables: Mapping[str, object]) -> dict[str, object]:
    ours = {
        key.removeprefix(_OURS): value for key, value in variables.items() if key.startswith(_OURS)
    }
    return {"address": _address(name, variables), **ours}


def _address(name: str, variables: Mapping[str, object]) -> str:
    def said(key: str) -> str:
        return str(variables.get(f"ansible_{key}", ""))

    sudo = "true" if said("become").lower() in _TRUE else None
    if said("connection") == "local":
        return written_address(None, sudo=sudo)
    key = said("ssh_private_key_file")
    host = said("host") or name
    return written_address(host, said("user"), said("port"), sudo=sudo, ssh_identity_file=key)

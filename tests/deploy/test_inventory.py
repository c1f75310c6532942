"""hosts.yaml and Ansible's inventories: what they say, and what is wrong with them, with places."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from tuner.deploy.inventory import InventoryHost, Role, Service, choose, load_inventory
from tuner.errors import BadProfile, BadUsage, Refused

GOOD = """\
hosts:
  collector1:
    address: ssh://root@10.0.0.11:2222
    profile: prod.yaml
  collector2:
    address: ssh://admin@[2001:db8::1]?sudo=true
    service: {restart: [service, rsyslog, restart], pid_file: /run/rsyslogd.pid}
    paths: {fragments: /etc/rsyslog.d/site}
  es1: {address: "local://", role: engine}
"""
INI = """\
[collectors]
web1 ansible_host=10.0.0.21 ansible_user=ops ansible_become=true
web2 ansible_connection=local rsyslog_tune_role=load
[collectors:vars]
ansible_port=2200
ansible_ssh_private_key_file=/keys/id
rsyslog_tune_profile=prod.yaml
"""
YAML = """\
all:
  children:
    collectors:
      hosts:
        web1: {ansible_host: "2001:db8::2", rsyslog_tune_service: {unit: syslog}}
"""


def written(folder: Path, text: str, name: str = "hosts.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    path.chmod(0o644)
    return path


def test_hosts_have_addresses_roles_profiles_and_services(tmp_path: Path) -> None:
    one, two, engine = load_inventory(written(tmp_path, GOOD))
    assert (one.name, one.role, one.profile) == (
        "collector1",
        Role.COLLECTOR,
        tmp_path / "prod.yaml",
    )
    assert (one.service, one.paths.configuration) == (Service(unit="rsyslog"), "/etc/rsyslog.conf")
    assert two.service.restart == ("service", "rsyslog", "restart")
    assert two.paths.live("prod") == "/etc/rsyslog.d/site/prod.conf"
    assert engine.role is Role.ENGINE


def test_everything_wrong_is_said_at_its_place(tmp_path: Path) -> None:
    text = """\
hosts:
  a: {address: "ssh://root:secret@b"}
  b: {address: "ssh://-oProxyCommand=x"}
  c: {address: "docker://c", rolle: collector}
  d: {address: "ssh://d", service: {restart: [x]}}
  e: {address: "ssh://e", paths: {state: "/var/../x y"}}
"""
    with pytest.raises(BadProfile) as bad:
        load_inventory(written(tmp_path, text))
    said = [str(one).removeprefix(f"{tmp_path}/") for one in bad.value.problems]
    assert [one.partition(": ")[0] for one in said] == [
        "hosts.yaml:2:16", "hosts.yaml:3:16", "hosts.yaml:4:16", "hosts.yaml:4:30",
        "hosts.yaml:5:36", "hosts.yaml:6:42",
    ]  # fmt: skip
    assert "write no password into an address" in said[0]
    assert "secret" not in said[0]
    assert "did you mean role?" in said[3]
    assert "name either unit, or restart" in said[4]


@pytest.mark.parametrize(("name", "text"), [("hosts.ini", INI), ("inventory", INI)])
def test_an_ini_of_ansibles_is_read_by_ansible(tmp_path: Path, name: str, text: str) -> None:
    one, two = load_inventory(written(tmp_path, text, name))
    key = "ssh_identity_file=%2Fkeys%2Fid"
    assert one.address == f"ssh://ops@10.0.0.21:2200?sudo=true&{key}"
    assert one.profile == tmp_path / "prod.yaml"
    assert (two.address, two.role) == ("local://", Role.LOAD)


def test_a_yaml_of_ansibles_is_told_from_ours(tmp_path: Path) -> None:
    (one,) = load_inventory(written(tmp_path, YAML))
    assert (one.address, one.service.unit) == ("ssh://[2001:db8::2]", "syslog")
    with pytest.raises(BadUsage, match=r"finds no host in .*: write some below the hosts of"):
        load_inventory(written(tmp_path, "all: {}\n"))
    wrong = YAML.replace("unit: syslog", "unity: syslog")
    with pytest.raises(BadProfile, match=r"no key unity in hosts\.web1\.service"):
        load_inventory(written(tmp_path, wrong))


def test_hosts_without_variables_are_hosts_too(tmp_path: Path) -> None:
    text = """\
a
[web]
b
c rsyslog_tune_role=load
[all_of_it:children]
web
"""
    found = load_inventory(written(tmp_path, text, "hosts.ini"))
    assert {one.name: (one.address, one.role) for one in found} == {
        "a": ("ssh://a", Role.COLLECTOR),
        "b": ("ssh://b", Role.COLLECTOR),
        "c": ("ssh://c", Role.LOAD),
    }


def test_a_machine_of_ansibles_is_reached_as_its_variables_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {
        "a": {"ansible_connection": "local", "ansible_become": True},
        "b": {"ansible_connection": "local", "ansible_become": "no"},
        "c": {"ansible_host": "10.0.0.9", "ansible_become": "yes"},
    }
    said = json.dumps({"_meta": {"hostvars": variables}, "web": {"hosts": list(variables)}})
    answer = SimpleNamespace(returncode=0, stdout=said, stderr="")
    monkeypatch.setattr("tuner.deploy.inventory.run", lambda *_, **__: answer)
    found = load_inventory(written(tmp_path, INI, "hosts.ini"))
    assert [one.address for one in found] == [
        "local://?sudo=true", "local://", "ssh://10.0.0.9?sudo=true",
    ]  # fmt: skip


@pytest.mark.parametrize(("code", "said"), [(1, "cannot read"), (0, "finds no host in")])
def test_of_what_ansible_complains_of_the_end_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, said: str
) -> None:
    complaint = "x" * 400 + " and so it ends\n"
    answer = SimpleNamespace(returncode=code, stdout="{}", stderr=complaint)
    monkeypatch.setattr("tuner.deploy.inventory.run", lambda *_, **__: answer)
    with pytest.raises(BadUsage, match=f"{said} .*x and so it ends$") as told:
        load_inventory(written(tmp_path, INI, "hosts.ini"))
    assert "x" * 300 not in str(told.value)


def test_an_inventory_that_is_a_program_is_not_run(tmp_path: Path) -> None:
    script = f"#!/bin/sh\ntouch {tmp_path}/ran\necho '{{}}'\n"
    path = written(tmp_path, script, "hosts")
    path.chmod(0o755)
    with pytest.raises(BadUsage):
        load_inventory(path)
    assert not (tmp_path / "ran").exists()


def test_who_is_meant(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    known = load_inventory(path)

    def chosen(*names: str, profile: str = "prod.yaml") -> list[str]:
        every = choose(known, names, Role.COLLECTOR, tmp_path / profile)
        return [one.name for one in every]

    assert chosen() == ["collector1", "collector2"]
    assert chosen("collector2", "collector2") == ["collector2"]
    assert chosen(profile="other.yaml") == ["collector2"], "which runs whatever it is given"
    for names, why in (("es1", "of the role engine"), ("web", "not in the inventory")):
        with pytest.raises(Refused, match=why):
            chosen(names)
    with pytest.raises(Refused, match="is to run"):
        chosen("collector1", profile="other.yaml")
    path.chmod(0o646)
    with pytest.raises(Refused, match="can be written by others"):
        load_inventory(path)


def test_without_an_inventory_names_are_addresses() -> None:
    one, two = choose(None, ["web1", "local://"], Role.COLLECTOR, None)
    assert one == InventoryHost("web1", "ssh://web1")
    assert two == InventoryHost("localhost", "local://")


def test_a_host_has_its_own_values_of_settings(tmp_path: Path) -> None:
    text = GOOD.replace(
        "    profile: prod.yaml\n",
        '    profile: prod.yaml\n    changes: {"inputs[0].address": 10.0.0.11, name: one}\n',
    )
    one, two, _ = load_inventory(written(tmp_path, text))
    assert one.changes == (("inputs[0].address", "10.0.0.11"), ("name", "one"))
    assert two.changes == ()

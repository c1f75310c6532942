"""A host for live tests: a real sshd on loopback, a real rsyslogd with a tree of its own."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tuner.lab.ports import free_ports

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/bin") or ""
# The user's own keys and known hosts are not used, and the connection is as strict as ever.
_CLIENT = """\
Host *
    UserKnownHostsFile {folder}/known_hosts
    GlobalKnownHostsFile /dev/null
    IdentityFile {folder}/id
    IdentitiesOnly yes
"""
_SERVER = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/id.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
SetEnv PATH={folder}/bin:/usr/sbin:/usr/bin:/sbin:/bin
"""
# Like Debian's own: what local programs log goes to a file.
OWN = """\
module(load="imuxsock" SysSock.Name="{folder}/log")
$WorkDirectory {folder}
$IncludeConfig {folder}/etc/rsyslog.d/*.conf
*.* -{folder}/messages
"""
_RESTART = """\
pid=$(cat {folder}/rsyslogd.pid 2>/dev/null) && kill "$pid" 2>/dev/null &&
    while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
echo restart >> {folder}/restarts
exec rsyslogd -f {folder}/etc/rsyslog.conf -i {folder}/rsyslogd.pid
"""

Tree = dict[str, tuple[int, int, int, bytes]]


@dataclass(frozen=True)
class SshHost:
    """A host below a folder: etc, service, state, the programs of its own in `bin`."""

    folder: Path
    port: int

    @property
    def address(self) -> str:
        return f"ssh://root@127.0.0.1:{self.port}?ssh_config={self.folder}/ssh_config"

    @property
    def entry(self) -> dict[str, object]:
        """As an inventory has it."""
        return {
            "address": self.address,
            "service": {
                "restart": ["sh", f"{self.folder}/restart"],
                "pid_file": f"{self.folder}/rsyslogd.pid",
            },
            "paths": {
                "configuration": f"{self.folder}/etc/rsyslog.conf",
                "fragments": f"{self.folder}/etc/rsyslog.d",
                "state": f"{self.folder}/state",
            },
        }

    @property
    def conf(self) -> Path:
        return self.folder / "etc" / "rsyslog.conf"

    @property
    def pid(self) -> int:
        return int((self.folder / "rsyslogd.pid").read_text(encoding="ascii"))

    @property
    def restarts(self) -> int:
        log = self.folder / "restarts"
        return len(log.read_text(encoding="ascii").splitlines()) if log.exists() else 0

    def is_pending(self) -> bool:
        return (self.folder / "state" / "deploy" / "pending").exists()

    def tree(self) -> Tree:
        """Bytes, mode and owner of all that rsyslogd reads."""
        found = {}
        for path in sorted((self.folder / "etc").rglob("*")):
            about = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            found[str(path)] = (about.st_mode, about.st_uid, about.st_gid, content)
        return found

    def program(self, name: str, text: str) -> None:
        """A program that the host finds first."""
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
        path.chmod(0o755)

    def settled(self) -> None:
        """Wait until no change is under way: the host restores itself."""
        deadline = time.monotonic() + 120
        while self.is_pending():
            assert time.monotonic() < deadline
            time.sleep(0.2)

    def start(self) -> None:
        subprocess.run(["sh", str(self.folder / "restart")], check=True)
        (self.folder / "restarts").unlink()


def inventory(path: Path, **hosts: SshHost) -> Path:
    """hosts.yaml; JSON is YAML."""
    text = json.dumps({"hosts": {name: one.entry for name, one in hosts.items()}}, indent=1)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


@contextlib.contextmanager
def ssh_host(folder: Path, *, own: str = OWN) -> Iterator[SshHost]:
    """A host with rsyslogd running, until both daemons are gone."""
    for name in ("etc/rsyslog.d", "bin"):
        (folder / name).mkdir(parents=True)
    (folder / "state").mkdir(mode=0o755)
    conf = folder / "etc" / "rsyslog.conf"
    conf.write_text(own.format(folder=folder), encoding="utf-8")
    conf.chmod(0o640)
    os.chown(conf, 0, 4)
    (folder / "restart").write_text(_RESTART.format(folder=folder), encoding="utf-8")
    for key in ("host_key", "id"):
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)]
        subprocess.run(make, check=True)
    port = free_ports(1)
    public = (folder / "host_key.pub").read_text(encoding="ascii")
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {public}", encoding="ascii")
    for name, text in (("ssh_config", _CLIENT), ("sshd_config", _SERVER)):
        (folder / name).write_text(text.format(folder=folder, port=port), encoding="utf-8")
    Path("/run/sshd").mkdir(exist_ok=True)
    host = SshHost(folder, port)
    command = [SSHD, "-D", "-f", str(folder / "sshd_config"), "-E", str(folder / "sshd.log")]
    with subprocess.Popen(command) as sshd:
        try:
            host.start()
            yield host
        finally:
            sshd.terminate()
            with contextlib.suppress(OSError, ValueError):
                os.kill(host.pid, signal.SIGTERM)
                _gone(host.pid)


def _gone(pid: int) -> None:
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)

"""Hosts for live tests: each has namespaces of its own, with an address, sshd and rsyslogd.

They hang on a switch of their own, together with the machine of the test; a host's cable can be
pulled.  All of it ends with the test, however that ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from tuner.host.process import wait_until

_SSHD = shutil.which("sshd", path="/usr/sbin:/usr/bin")
NEEDS_HOSTS = pytest.mark.skipif(
    os.geteuid() != 0 or _SSHD is None, reason="root, and openssh-server"
)
# What a host keeps to itself; what is written there lands below the host's folder.
_OWN = ("/etc", "/usr/local", "/var", "/run")
# What a host begins without: nothing there reaches the systemd of the machine.
_EMPTY = "rm -rf /etc/rsyslog.d /var/lib/rsyslog-tune /run/systemd /run/dbus"
_PATIENCE_S = 120

# The user's own keys and known hosts are not used, and the connection is as strict as ever.
_CLIENT = """\
Host *
    UserKnownHostsFile {folder}/known_hosts
    GlobalKnownHostsFile /dev/null
    IdentityFile {folder}/id
    IdentitiesOnly yes
"""
_SERVER = """\
HostKey {folder}/{name}/host_key
AuthorizedKeysFile {folder}/id.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
SetEnv PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
"""
# Like Debian's own: what local programs log goes to a file.
_RSYSLOG_CONF = """\
module(load="imuxsock" SysSock.Name="/run/devlog")
$WorkDirectory /var/spool/rsyslog
$IncludeConfig /etc/rsyslog.d/*.conf
*.* -/var/log/messages
"""
# For whole seconds it is a timer, which records for how long and since when, and when it is over.
_SLEEP = """\
case $1 in *.*) exec /bin/sleep "$1" ;; esac
echo "$1 $(date +%s.%N)" >/run/armed
/bin/sleep "$1"
date +%s.%N >/run/due
"""
# A service manager with one service, and with what `systemd-run` has started.
_SYSTEMCTL = """\
pid=/run/rsyslogd.pid
case $1 in
restart)
    old=$(cat $pid 2>/dev/null) && kill "$old" 2>/dev/null &&
        while [ -e "/proc/$old" ]; do /bin/sleep 0.05; done
    echo restart >>/run/restarts
    # In the foreground of nobody, and not of who asks, which Ansible may end with all that it has
    # started: as a daemon it takes a second to start.
    /usr/bin/setsid rsyslogd -n -f /etc/rsyslog.conf -i $pid >/dev/null 2>&1 </dev/null &
    until [ "$(cat $pid 2>/dev/null)" = $! ]; do
        kill -0 $! || exit 1
        /bin/sleep 0.05
    done ;;
is-active) kill -0 "$(cat $pid)" ;;
show) cat $pid ;;
stop)
    # The timer, not the service that it has started.
    timer=$(cat "/run/$2")
    if grep -q sleep "/proc/$timer/cmdline"; then kill -- "-$timer"; fi ;;
*) exit 1 ;;
esac
"""
_SYNC = """\
echo . >>/run/syncs
[ "$(wc -l </run/syncs)" -ne {at} ] || {{
    touch {flag}
    while [ -e {flag} ]; do /bin/sleep 0.05; done
    {also}
}}
exec /bin/sync "$@"
"""
# What systemd-run is to do: two units, and the command after that time, by another process.  What
# the real one does not understand is refused.
_SYSTEMD_RUN = """\
case $(/usr/bin/systemd-run "$@" 2>&1) in *option*) exit 1 ;; esac
while [ "$1" != sh ]; do
    case $1 in
    --unit) unit=$2 && shift ;;
    --on-active) after=$2 && shift ;;
    --timer-property) property=$2 && shift ;;
    esac
    shift
done
mkdir -p /run/systemd/transient
cat >"/run/systemd/transient/$unit.timer" <<END
[Unit]
CollectMode=inactive-or-failed
[Timer]
OnActiveSec=$after
$property
END
cat >"/run/systemd/transient/$unit.service" <<END
[Unit]
CollectMode=inactive-or-failed
[Service]
ExecStart=/bin/$*
END
setsid sh -c 'sleep "$0"; exec "$@"' "$after" "$@" >/dev/null 2>&1 </dev/null &
echo $! >"/run/$unit.timer"
"""

Tree = dict[str, tuple[int, int, int, bytes]]


@dataclass(frozen=True)
class SshHost:
    """A host: its name, its IP address and that of the test's machine, the process that holds its
    namespaces and the one that holds the switch's, and its folder here."""

    name: str
    ip: str
    controller: str
    first: int
    switch: int
    folder: Path

    @property
    def address(self) -> str:
        """As testinfra has it."""
        return f"ssh://root@{self.ip}?ssh_config={self.folder.parent}/ssh_config"

    @property
    def known_hosts(self) -> Path:
        return self.folder.parent / "known_hosts"

    @property
    def entry(self) -> dict[str, object]:
        """As an inventory has it, for a host without systemd."""
        restart = ["systemctl", "restart", "rsyslog"]
        return {
            "address": self.address,
            "service": {"restart": restart, "pid_file": "/run/rsyslogd.pid"},
        }

    @property
    def conf(self) -> Path:
        return self.path("/etc/rsyslog.conf")

    @property
    def pid(self) -> int:
        """The number of its rsyslogd there."""
        return int(self.path("/run/rsyslogd.pid").read_text(encoding="ascii"))

    @property
    def restarts(self) -> int:
        log = self.path("/run/restarts")
        return len(log.read_text(encoding="ascii").splitlines()) if log.exists() else 0

    @property
    def deployed(self) -> Path:
        """What apply keeps there."""
        return self.path("/var/lib/rsyslog-tune/deploy")

    def path(self, path: str) -> Path:
        """Where a file there is seen from outside."""
        return Path(f"/proc/{self.first}/root{path}")

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Put a file there."""
        there = self.path(path)
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_text(text, encoding="utf-8")
        there.chmod(mode)

    def program(self, name: str, text: str) -> None:
        """A program that the host finds first."""
        self.write(f"/usr/local/sbin/{name}", f"#!/bin/sh\n{text}", 0o755)

    def at_step(self, number: int, flag: Path, also: str = ":") -> None:
        """When it has noted a step of an apply for the Nth time, it makes a file, waits until that
        is gone, and does something."""
        self.program("sync", _SYNC.format(at=number, flag=flag, also=also))

    def with_timers(self) -> None:
        """It has `systemd-run`."""
        self.program("systemd-run", _SYSTEMD_RUN)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """What a command did there, as root; it ends with the host."""
        done = _entered(self.first, "--mount", "--pid", "--net", "--uts", *command)
        return subprocess.run(done, capture_output=True, text=True, check=False)

    def is_alive(self, pid: int) -> bool:
        """Whether a process is there."""
        return self.run("kill", "-0", str(pid)).returncode == 0

    def processes(self) -> dict[int, str]:
        """What runs there but rsyslogd and sshd: the command lines, by their numbers here."""
        space = Path(f"/proc/{self.first}/ns/pid").stat().st_ino
        found = {}
        for one in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                is_inside = Path(f"/proc/{one.pid}/ns/pid").stat().st_ino == space
                command = " ".join(one.cmdline())
                if is_inside and one.pid != self.first and command:
                    found[one.pid] = command
        own = ("sshd", "rsyslogd", "/usr/sbin/rsyslogd")
        return {pid: command for pid, command in found.items() if not command.startswith(own)}

    def require_quiet(self) -> None:
        """Soon nothing runs there but its daemons."""
        assert wait_until(lambda: not self.processes(), 60), self.processes()

    def cut(self) -> None:
        """Pull its cable."""
        self._cable("down")

    def heal(self) -> None:
        """Plug it in again."""
        self._cable("up")

    def _cable(self, state: str) -> None:
        passed(_run(_entered(self.switch, "--net", "ip", "link", "set", self.name, state)))

    @contextlib.contextmanager
    def sees(self, url: str) -> Iterator[None]:
        """What listens on our loopback at `url` is on that of the host, too."""
        port = urlsplit(url).port
        ways = ["-o", "ExitOnForwardFailure=yes", "-R", f"{port}:127.0.0.1:{port}"]
        config = str(self.folder.parent / "ssh_config")
        with subprocess.Popen(["ssh", "-N", "-F", config, *ways, f"root@{self.ip}"]) as forward:
            try:
                listens = ("ss", "-Hltn", f"sport = :{port}")
                assert wait_until(lambda: bool(self.run(*listens).stdout), _PATIENCE_S)
                yield
            finally:
                forward.terminate()

    def is_pending(self) -> bool:
        return (self.deployed / "pending").exists()

    def require_restored(self, before: Tree, patience_s: float = _PATIENCE_S) -> float:
        """By its own timer it comes to what it was before; how many seconds after the timer's end
        that was done, all by its own record."""
        assert wait_until(lambda: not self.is_pending(), patience_s), "no timer restored it"
        assert self.tree() == before
        asked_s, armed = map(float, self.path("/run/armed").read_text().split())
        due = float(self.path("/run/due").read_text())
        assert due - armed >= asked_s, "its timer came too early"
        done = self.deployed.stat().st_mtime
        assert done >= due, "it was not its timer that restored it"
        return done - armed - asked_s

    def tree(self) -> Tree:
        """Bytes, mode and owner of all that rsyslogd reads."""
        found = {}
        for path in (self.conf, *sorted(self.path("/etc/rsyslog.d").rglob("*"))):
            about = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            found[str(path)] = (about.st_mode, about.st_uid, about.st_gid, content)
        return found


def inventory(path: Path, **hosts: SshHost) -> Path:
    """hosts.yaml; JSON is YAML."""
    text = json.dumps({"hosts": {name: one.entry for name, one in hosts.items()}}, indent=1)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


@contextlib.contextmanager
def hosts(folder: Path, *names: str) -> Iterator[list[SshHost]]:
    """Hosts of these names (14 letters at most), each with rsyslogd and sshd running; what else is
    left running on one fails the test."""
    folder.mkdir(exist_ok=True)
    _make_key(folder / "id")
    (folder / "ssh_config").write_text(_CLIENT.format(folder=folder), encoding="utf-8")
    with contextlib.ExitStack() as stack:
        up = "ip link add switch type bridge && ip link set switch up"
        switch = stack.enter_context(_namespaces("--net", script=up))
        net = _network(switch)
        every = []
        for number, name in enumerate(names, start=2):
            first = stack.enter_context(_namespaces(
                "--mount", "--pid", "--net", "--uts", "--mount-proc",
                script=_furnished(folder / name, name),
            ))  # fmt: skip
            one = SshHost(name, f"{net}.{number}", f"{net}.1", first, switch, folder / name)
            _begin(one)
            every.append(one)
        yield every
        for one in every:
            one.require_quiet()


def passed(done: subprocess.CompletedProcess[str]) -> str:
    """What a command said, which must have succeeded."""
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextlib.contextmanager
def _namespaces(*kinds: str, script: str) -> Iterator[int]:
    """New namespaces, furnished by a script, and the process that holds them: it ends with us.

    Where it is the first process of the namespace, it leaves no zombies: the kernel removes the
    children of who ignores SIGCHLD (wait(2)).
    """
    whole = f"set -e\n{script}\necho up\nexec env --ignore-signal=CHLD cat"
    command = ["unshare", *kinds, "--fork", "--kill-child", "sh", "-c", whole]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"up\n", "no namespaces: are you root?"
            children = Path(f"/proc/{holder.pid}/task/{holder.pid}/children")
            yield int(children.read_text(encoding="ascii").split()[0])
        finally:
            holder.kill()


def _furnished(folder: Path, name: str) -> str:
    """What makes a host of its namespaces: layers over the folders that are its own, and process
    ids that no other host's are likely to be.  They share /tmp, where files of a JVM have its id in
    their names: Elasticsearch's agent went to a JVM of another host, and its own did not start.
    """
    begin = f"echo {random.randrange(1000, 30_000)} >/proc/sys/kernel/ns_last_pid"
    lines = [begin, f"hostname {name}"]
    for path in _OWN:
        above, work = f"{folder}/written{path}", f"{folder}/work{path}"
        Path(above).mkdir(parents=True)
        Path(work).mkdir(parents=True)
        lines.append(
            f"mount -t overlay own -o lowerdir={path},upperdir={above},workdir={work} {path}"
        )
    return "\n".join([*lines, _EMPTY, "ip link set lo up"])


def _network(switch: int) -> str:
    """The first three numbers of a network that is free, of those for tests (RFC 2544); its first
    address is ours.  Who makes the device has the network."""
    for number in random.sample(range(512), 512):
        link = ["ip", "link", "add", f"tune{number}", "type", "veth"]
        if _run([*link, "peer", "name", "test", "netns", str(switch)]).returncode == 0:
            net = f"198.{18 + number // 256}.{number % 256}"
            passed(_run(["ip", "address", "add", f"{net}.1/24", "dev", f"tune{number}"]))
            passed(_run(["ip", "link", "set", f"tune{number}", "up"]))
            plug = ["ip", "link", "set", "test", "master", "switch", "up"]
            passed(_run(_entered(switch, "--net", *plug)))
            return net
    raise AssertionError("no network is free: ip link")


def _begin(one: SshHost) -> None:
    """Plug it in, and start its daemons."""
    _make_key(one.folder / "host_key")
    key = (one.folder / "host_key.pub").read_text(encoding="ascii")
    with one.known_hosts.open("a", encoding="ascii") as known:
        known.write(f"{one.ip} {key}")
    one.write("/etc/rsyslog.conf", _RSYSLOG_CONF, 0o640)
    shutil.chown(one.conf, "root", "adm")
    one.path("/etc/rsyslog.d").mkdir()
    one.program("systemctl", _SYSTEMCTL)
    one.program("sleep", _SLEEP)
    server = _SERVER.format(folder=one.folder.parent, name=one.name)
    one.write("/etc/ssh/sshd_config", server)
    link = ["ip", "link", "add", one.name, "netns", str(one.switch), "type", "veth"]
    passed(_run([*link, "peer", "name", "eth0", "netns", str(one.first)]))
    plug = ["ip", "link", "set", one.name, "master", "switch", "up"]
    passed(_run(_entered(one.switch, "--net", *plug)))
    passed(one.run("sh", "-ec", f"""
        ip address add {one.ip}/24 dev eth0
        ip link set eth0 up
        mkdir -p /run/sshd /var/spool/rsyslog
        {_SSHD} -E {one.folder}/sshd.log
        systemctl restart rsyslog
        rm /run/restarts
    """))  # fmt: skip


def _make_key(path: Path) -> None:
    passed(_run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)]))


def _entered(first: int, *command: str) -> list[str]:
    return ["nsenter", "--target", str(first), *command]


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)

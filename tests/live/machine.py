"""A machine of its own: namespaces, with a layer over the folders that belong to a host."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# What a host keeps to itself; what is written there lands below the machine's folder.
_OWN = ("/etc", "/usr/local", "/var/log", "/run")
_SYSTEMCTL = """\
#!/bin/sh
# A service manager with one service.
pid=/run/rsyslogd.pid
case $1 in
restart)
    [ ! -e $pid ] || kill "$(cat $pid)"
    while [ -e $pid ]; do sleep 0.1; done
    rsyslogd -f /etc/rsyslog.conf -i $pid ;;
is-active) [ -e $pid ] && kill -0 "$(cat $pid)" ;;
show) cat $pid ;;
esac
"""
_RSYSLOG_CONF = """\
module(load="imuxsock" SysSock.Use="off")
$WorkDirectory /var/log
$IncludeConfig /etc/rsyslog.d/*.conf
*.* /var/log/syslog
"""


@dataclass(frozen=True)
class Machine:
    """Its first process, and the folder that holds what it wrote."""

    pid: int
    folder: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """What a command did there, as root; it ends with the machine."""
        inside = ["nsenter", "--target", str(self.pid), "--mount", "--pid", "--net", *command]
        return subprocess.run(inside, capture_output=True, text=True, check=False)

    def path(self, path: str) -> Path:
        """Where a file that was written there is seen from outside."""
        return self.folder / "written" / path.lstrip("/")

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Put a file there."""
        there = self.path(path)
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_text(text, encoding="utf-8")
        there.chmod(mode)


@contextmanager
def machine(folder: Path) -> Iterator[Machine]:
    """A machine with rsyslogd as its one service, and no network but loopback."""
    written = [f"{folder}/written{path}" for path in _OWN]
    work = [f"{folder}/work{path}" for path in _OWN]
    for one in (*written, *work):
        Path(one).mkdir(parents=True)
    there = Machine(0, folder)
    there.write("/usr/local/sbin/systemctl", _SYSTEMCTL, 0o755)
    there.write("/etc/rsyslog.conf", _RSYSLOG_CONF)
    there.path("/etc/rsyslog.d").mkdir()
    layers = [
        f"mount -t overlay layer -o lowerdir={path},upperdir={above},workdir={below} {path}"
        for path, above, below in zip(_OWN, written, work, strict=True)
    ]
    script = " && ".join([*layers, "ip link set lo up", "echo up", "exec sleep infinity"])
    command = ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--mount-proc"]
    with subprocess.Popen([*command, "sh", "-c", script], stdout=subprocess.PIPE) as first:
        try:
            assert first.stdout is not None
            assert first.stdout.readline() == b"up\n", "no machine: are you root?"
            yield Machine(_child_of(first.pid), folder)
        finally:
            first.kill()


def _child_of(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return int(children.split()[0])


def passed(done: subprocess.CompletedProcess[str]) -> str:
    """What a command said, which must have succeeded."""
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout

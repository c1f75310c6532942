"""The name that rsyslogd gives a host's own events, which advice (RT430) depends on."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from tuner.host.process import wait_until
from tuner.host.programs import rsyslogd
from tuner.lab.entrances import free_port

pytestmark = [
    pytest.mark.live,
    pytest.mark.each_rsyslogd("documents"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a host another name"),
    pytest.mark.usefixtures("nothing_left_behind"),
]
HOST = "collector.paris.example"
# The name of the host is looked up: a file of ours stands for /etc/hosts.
NAMED = 'mount --bind hosts /etc/hosts && hostname "$0" && exec "$@"'
CONFIG = """\
{written}
module(load="imuxsock" sysSock.use="off")
module(load="imfile")
module(load="imudp")
input(type="imuxsock" socket="{socket}")
input(type="imfile" file="{file}" tag="app")
input(type="imudp" port="{port}" address="127.0.0.1")
template(name="name" type="string" string="%hostname% %msg:::drop-last-lf%\\n")
action(type="omfile" file="{out}" template="name")
"""


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("", "collector"),
        ('global(preserveFQDN="on")', HOST),
        ("$PreserveFQDN on", HOST),
        ('global(localHostname="web1.rome.example")', "web1.rome.example"),
    ],
    ids=["default", "object", "directive", "own"],
)
def test_own_events_lose_the_domain_and_those_of_senders_keep_it(
    written: str, name: str, tmp_path: Path
) -> None:
    (tmp_path / "hosts").write_text(f"127.0.0.1 localhost\n127.0.1.1 {HOST} collector\n")
    path, read, out = (tmp_path / part for part in ("socket", "read", "out"))
    read.write_text("read\n")
    port = free_port()
    (tmp_path / "rsyslog.conf").write_text(
        CONFIG.format(written=written, socket=path, file=read, port=port, out=out)
    )
    named = ["unshare", "--uts", "--mount", "sh", "-c", NAMED, HOST]
    daemon = subprocess.Popen(
        [*named, rsyslogd(), "-n", "-f", tmp_path / "rsyslog.conf", "-i", tmp_path / "pid"],
        cwd=tmp_path,
    )
    try:
        assert wait_until(path.exists, 20)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as local:
            local.sendto(b"<13>Nov 30 12:00:00 app: said", str(path))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            head = b"<13>1 2026-11-30T12:00:00Z web1.paris.example app - - - "
            # It may listen there only after it made the socket.
            assert wait_until(lambda: sent(sender, head, port, out), 20, 0.1)
    finally:
        daemon.terminate()
        daemon.wait(20)
    lines = {tuple(line.split()) for line in out.read_text().splitlines()}
    assert lines == {(name, "said"), (name, "read"), ("web1.paris.example", "sent")}


def sent(sender: socket.socket, head: bytes, port: int, out: Path) -> bool:
    """Send the message; whether one of each source came."""
    sender.sendto(head + b"sent", ("127.0.0.1", port))
    return out.is_file() and len(set(out.read_text().splitlines())) == 3

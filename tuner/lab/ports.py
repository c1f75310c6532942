"""TCP ports of this machine."""

from __future__ import annotations

import socket
from pathlib import Path

from tuner.errors import JobFailed
from tuner.host.usage import listener_on

_LISTEN = "0A"


def free_port() -> int:
    """A loopback port nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_listening(port: int) -> bool:
    """Whether anybody listens on the port, from /proc/net/tcp (proc(5)); costs no connection."""
    wanted = f":{port:04X}"
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text(encoding="ascii").splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            if state == _LISTEN and local.endswith(wanted):
                return True
    return False


def require_free(port: int) -> None:
    """Raise JobFailed naming the process when somebody listens on `port` already."""
    if is_listening(port):
        raise JobFailed(f"port {port} is in use by {listener_on(port) or 'an unknown process'}")

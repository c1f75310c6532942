"""Which hosts may be flooded: this machine, and those that its administrator or user has listed."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import platformdirs

from tuner.errors import BadUsage, Refused
from tuner.reading import content
from tuner.schema.scalars import is_loopback

_SYSTEM_LIST = Path("/etc/rsyslog-tune/allow-targets")


def lists() -> tuple[Path, ...]:
    """The files that list allowed hosts, one a line; each machine has its own."""
    return (_SYSTEM_LIST, platformdirs.user_config_path("rsyslog-tune") / "allow-targets")


def require_allowed(url: str) -> None:
    """Raise Refused unless the host of `url` is a loopback address or on an allow list."""
    host = host_of(url)
    require_allowed_host(host)


def require_allowed_host(host: str) -> None:
    """Raise Refused unless `host` is a loopback address or on an allow list."""
    if is_loopback(host) or host in _allowed():
        return
    raise Refused(
        f"{host} is not local and not in allow-targets. If it may be flooded, add its name as a "
        f"line of {_SYSTEM_LIST}"
    )


def host_of(url: str) -> str:
    """The host in the URL of an engine; raises BadUsage if it is not such a URL."""
    parts = urlsplit(url)
    host = parts.hostname
    if parts.username is not None or parts.password is not None:
        raise BadUsage("do not put credentials in the URL; set `auth` in the profile")
    if host is None or parts.scheme not in {"http", "https"} or parts.path not in {"", "/"}:
        raise BadUsage(f"{url} is not a URL such as http://127.0.0.1:9200")
    return host


def _allowed() -> set[str]:
    names: set[str] = set()
    for path in lists():
        if path.exists():
            lines = content(path).decode().splitlines()
            names |= {line.strip() for line in lines if line.strip() and line[0] != "#"}
    return names

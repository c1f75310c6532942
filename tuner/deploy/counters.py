"""The counters of a host's rsyslogd, from the file that its configuration has impstats write; only
reads."""

from __future__ import annotations

import time
from pathlib import PurePath

from tuner.errors import JobFailed
from tuner.host.remote import Host
from tuner.rainerscript.objects import Base, module_address

# A day of rounds every 10 s of a usual configuration has about 100 MB as JSON.
_MOST_BYTES = 64 * 2**20
_READ_LIMIT_S = 600.0


def counters_file(base: Base) -> str | None:
    """Where a configuration has impstats write its counters; None where it writes no file."""
    module = base.objects.get(module_address("impstats"))
    return None if module is None else module.text("log.file")


def counters_text(host: Host, path: PurePath, for_s: float | None) -> str:
    """The end of a file of counters; of the next `for_s` seconds alone where these are given.
    Raises JobFailed where it cannot be read."""
    first = f"-{_MOST_BYTES}"
    if for_s is not None:
        first = f"+{_size(host, path) + 1}"
        time.sleep(for_s)
    answer = host.run(["tail", "-c", first, "--", str(path)], limit_s=_READ_LIMIT_S)
    if answer.code != 0:
        raise _unread(host, path, answer.err)
    return answer.out.decode(errors="replace")


def _size(host: Host, path: PurePath) -> int:
    answer = host.run(["stat", "-L", "-c", "%s", "--", str(path)])
    text = answer.out.decode(errors="replace").strip()
    if answer.code != 0 or not text.isdecimal():
        raise _unread(host, path, answer.err)
    return int(text)


def _unread(host: Host, path: PurePath, said: str) -> JobFailed:
    why = said.strip().rpartition(": ")[2] or "it cannot be read"
    return JobFailed(f"{host.name}: {path}: {why}")

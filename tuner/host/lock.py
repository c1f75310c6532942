"""One measurement at a time on a machine: two would measure each other."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import platformdirs

from tuner.errors import Locked


def state_folder() -> Path:
    """Where the lock and the record of a standing lab are kept between commands."""
    if os.geteuid() == 0:
        return Path("/var/lib/rsyslog-tune")
    return platformdirs.user_state_path("rsyslog-tune")


@contextlib.contextmanager
def measuring(what: str) -> Iterator[None]:
    """Hold the machine's measurement lock; raises Locked naming the holder.

    The kernel releases flock(2) when the holder dies, so a stale lock cannot exist.
    """
    folder = state_folder()
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    with (folder / "measuring.lock").open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Locked(
                f"another run is measuring on this machine: {_holder(lock.name)}"
            ) from None
        lock.truncate(0)
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        lock.write(json.dumps({"pid": os.getpid(), "what": what, "since": since}))
        lock.flush()
        yield
        lock.truncate(0)


def _holder(path: str) -> str:
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
        return f"{record['what']}, pid {record['pid']}, since {record['since']}"
    except (ValueError, KeyError, OSError):
        return "its record cannot be read"

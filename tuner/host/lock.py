"""One measurement at a time: two would measure each other.

The lock stands in the user's own state folder: two users can still measure at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import platformdirs

from tuner.errors import Locked


def state_folder() -> Path:
    """Where the lock and the record of a standing lab are kept between commands: in XDG_STATE_HOME
    where it is set, for root else among the system's own state."""
    if os.geteuid() == 0 and not os.environ.get("XDG_STATE_HOME"):
        return Path("/var/lib/rsyslog-tune")
    return platformdirs.user_state_path("rsyslog-tune")


def measuring(what: str) -> contextlib.AbstractContextManager[None]:
    """Hold this user's measurement lock; raises Locked naming the holder."""
    folder = state_folder()
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    return holding(folder / "measuring.lock", what, "another run is measuring on this machine")


@contextlib.contextmanager
def holding(path: Path, what: str, busy: str) -> Iterator[None]:
    """Hold the lock file at `path`, gone afterwards; raises Locked: `busy`, and the holder.

    The kernel releases flock(2) when the holder dies, so a stale lock cannot exist.
    """
    lock = locked(path)
    if lock is None:
        raise Locked(f"{busy}: {_holder(path)}")
    with lock:
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        lock.truncate(0)
        lock.write(json.dumps({"pid": os.getpid(), "what": what, "since": since}))
        lock.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def locked(path: Path) -> TextIO | None:
    """The file at `path`, made where there is none, locked until it is closed; None when another
    process holds it."""
    while True:
        lock = path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return None
        if _is_at(lock, path):
            return lock
        lock.close()


def _is_at(lock: TextIO, path: Path) -> bool:
    """Whether a file is still the one at `path`: its last holder may just have removed it."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    return False


def _holder(path: Path) -> str:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return f"{record['what']}, pid {record['pid']}, since {record['since']}"
    except (ValueError, KeyError, OSError):
        return "its record cannot be read"

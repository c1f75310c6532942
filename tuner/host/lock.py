"""The lock that allows one measurement at a time, as two would disturb each other.

The lock file is in the user's own state folder, so two users can still measure at once.
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
    """The folder of the lock and of the running lab's record: below XDG_STATE_HOME if that is set,
    else /var/lib for root and ~/.local/state for others."""
    if os.geteuid() == 0 and not os.environ.get("XDG_STATE_HOME"):
        return Path("/var/lib/rsyslog-tune")
    return platformdirs.user_state_path("rsyslog-tune")


def measuring(holder: str) -> contextlib.AbstractContextManager[None]:
    """Hold this user's measurement lock; raises Locked naming the holder."""
    folder = state_folder()
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    return holding(folder / "measuring.lock", holder, "another run is measuring on this machine")


@contextlib.contextmanager
def holding(path: Path, holder: str, busy: str) -> Iterator[None]:
    """Hold the lock file at `path` and then remove it; raises Locked with `busy` and the holder.

    The kernel releases flock(2) when the holder dies, so a stale lock cannot exist.
    """
    lock = locked(path)
    if lock is None:
        raise Locked(f"{busy}: {_holder(path)}")
    with lock:
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        lock.truncate(0)
        lock.write(json.dumps({"pid": os.getpid(), "what": holder, "since": since}))
        lock.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def locked(path: Path) -> TextIO | None:
    """Open the file at `path`, creating it if needed, and lock it until it is closed; None when
    another process holds the lock."""
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
    """Whether the open file is still the one at `path`: its last holder may have removed it."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    return False


def _holder(path: Path) -> str:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return f"{record['what']}, pid {record['pid']}, since {record['since']}"
    except (ValueError, KeyError, OSError):
        return "its record cannot be read"

"""The folder that the daemons of a lab live in; removed with everything in it."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tuner.host.lock import locked, state_folder
from tuner.host.process import unprivileged_user

LONGEST_SOCKET = 107
"""Bytes of the longest path that a socket may have (`sun_path` of unix(7))."""

_PREFIX = "rsyslog-tune-lab-"
_POLL_S = 0.01
_SOCKET = "trial-learning-0a1b-longest/20000.sock"


@contextlib.contextmanager
def scratch(parent: Path, *, holds_sockets: bool = False) -> Iterator[Path]:
    """A new folder below `parent` for the folders of our daemons, gone afterwards.

    When we are root the daemons run as another user, who may only pass through it; where that user
    cannot reach `parent` (as under /root), or where the paths of sockets in the folder would be
    longer than they may be, it is made in the system's temporary folder instead.  It is on record
    until it is gone, so that `remove_abandoned` finds it after a SIGKILL.
    """
    name = f"{_PREFIX}{secrets.token_hex(4)}"
    reachable = unprivileged_user() is None or is_reachable(parent)
    longest = os.fsencode(parent.resolve() / name / _SOCKET)
    fits = not holds_sockets or len(longest) <= LONGEST_SOCKET
    base = parent.resolve() if reachable and fits else Path(tempfile.gettempdir())
    folder = base / name
    with _on_record(folder):
        try:
            make_passage(folder)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned() -> tuple[Path, ...]:
    """Remove the scratch folders whose owners were killed; those that were there.

    An owner holds a lock on its record for as long as it lives, which no other process that was
    given its pid can do.
    """
    removed = []
    for path in sorted(_records().glob("*.json")):
        lock = locked(path)
        if lock is None:
            continue
        with lock:
            folder = _recorded(path)
            if folder is not None and folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder, ignore_errors=True)
                removed.append(folder)
            path.unlink(missing_ok=True)
    return tuple(removed)


@contextlib.contextmanager
def _on_record(folder: Path) -> Iterator[None]:
    """Keep a locked record of `folder`."""
    _records().mkdir(mode=0o755, parents=True, exist_ok=True)
    path = _records() / f"{folder.name}.json"
    # Another process that looks for what is abandoned may have it for a moment.
    while (record := locked(path)) is None:
        time.sleep(_POLL_S)
    with record:
        record.write(json.dumps({"folder": str(folder)}))
        record.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _records() -> Path:
    return state_folder() / "scratch"


def _recorded(path: Path) -> Path | None:
    """The folder that a record names; None when it could not be one of ours."""
    try:
        folder = Path(json.loads(path.read_text(encoding="utf-8"))["folder"])
    except (ValueError, KeyError, TypeError):
        return None
    is_ours = folder.is_absolute() and folder.name == path.stem and path.stem.startswith(_PREFIX)
    return folder if is_ours else None


def subfolder(parent: Path, name: str) -> Path:
    """A new folder below a scratch folder, ours until a daemon starts in it."""
    folder = parent / name
    folder.mkdir(mode=0o700)
    return folder


def make_passage(folder: Path) -> None:
    """Make a folder that stays ours: daemons have their own folders in it, and no more than the
    right to pass, so that they cannot put a link in the place of one."""
    folder.mkdir(mode=0o700)
    if unprivileged_user() is not None:
        folder.chmod(0o711)


def is_reachable(folder: Path) -> bool:
    """Whether any user may pass through `folder` and all its parents."""
    resolved = folder.resolve()
    return all(path.stat().st_mode & stat.S_IXOTH for path in (resolved, *resolved.parents))

"""The folder that the daemons of a lab live in; removed with everything in it."""

from __future__ import annotations

import contextlib
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tuner.host.process import give_to_daemons, unprivileged_user


@contextlib.contextmanager
def scratch(parent: Path) -> Iterator[Path]:
    """A new folder below `parent` that our daemons may write to, gone afterwards.

    When we are root the daemons run as another user; where that user cannot reach `parent`
    (as under /root), the folder is made in the system's temporary folder instead.
    """
    reachable = unprivileged_user() is None or is_reachable(parent)
    base = parent.resolve() if reachable else Path(tempfile.gettempdir())
    folder = Path(tempfile.mkdtemp(prefix="rsyslog-tune-lab-", dir=base))
    try:
        give_to_daemons(folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def subfolder(parent: Path, name: str) -> Path:
    """A folder below a scratch folder that our daemons may write to."""
    folder = parent / name
    folder.mkdir(mode=0o700)
    give_to_daemons(folder)
    return folder


def is_reachable(folder: Path) -> bool:
    """Whether any user may pass through `folder` and all its parents."""
    resolved = folder.resolve()
    return all(path.stat().st_mode & stat.S_IXOTH for path in (resolved, *resolved.parents))

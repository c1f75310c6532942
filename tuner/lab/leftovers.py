"""What killed runs left in engines that outlive them.

A run on such an engine holds a lock on its record for as long as it lives, and removes the record
with all it created.  A record that nobody holds is that of a run which was killed.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from tuner.engine.client import EngineClient
from tuner.engine.owned import Owner, created, remove
from tuner.errors import Locked
from tuner.host.lock import locked, state_folder

_RUN_ID = re.compile("[0-9a-f]{8}")


@contextlib.contextmanager
def alive(run_id: str) -> Iterator[None]:
    """Keep the record of a run for as long as it lives."""
    path = _record(run_id)
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    lock = locked(path)
    if lock is None:
        raise Locked(f"another run has the number {run_id}: start again")
    with lock:
        yield


def forget(run_id: str) -> None:
    """Remove the record of a run that has removed everything it had created."""
    _record(run_id).unlink(missing_ok=True)


def remove_left(client: EngineClient) -> Iterator[str]:
    """Remove what killed runs of this user, on this machine, left in an engine; a line for each
    run, also for those of others, which may live."""
    for run_id, paths in created(client).items():
        is_dead = _is_dead(run_id)
        if is_dead:
            owner = Owner(run_id)
            remove(client, owner, owner.prefix)
            forget(run_id)
            yield f"removed {', '.join(paths)} from {client.url}, left by a killed run"
        elif is_dead is None:
            commands = "; ".join(f"curl -X DELETE {client.url}{path}" for path in paths)
            yield (
                f"{client.url} holds objects of another run, {run_id}, which this machine does not "
                f"know; if it runs nowhere, remove them: {commands}"
            )


def _is_dead(run_id: str) -> bool | None:
    """Whether a run was killed; None for one of another machine or user."""
    if _RUN_ID.fullmatch(run_id) is None or not _record(run_id).exists():
        return None
    lock = locked(_record(run_id))
    if lock is None:
        return False
    lock.close()
    return True


def _record(run_id: str) -> Path:
    return state_folder() / "runs" / run_id

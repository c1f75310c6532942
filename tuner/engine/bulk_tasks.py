"""The bulk requests that an engine works on at a moment, for engines that keep no histogram."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.engine.client import EngineClient
from tuner.engine.path import at, number_at

_ACTION = "indices:data/write/bulk"
_FIELDS = "nodes.*.tasks.*.action,nodes.*.tasks.*.running_time_in_nanos"


@dataclass(frozen=True)
class BulkTask:
    """One bulk request under way, and for how many seconds."""

    task_id: str
    running_s: float


def bulk_tasks(client: EngineClient, timeout_s: float | None = None) -> tuple[BulkTask, ...]:
    """The bulk requests that all nodes work on, each once: of its tasks only the one that
    coordinates it, not those of its shards."""
    # This may be asked during a window: a node answers from the list of its tasks in memory and
    # opens no shard, so it is no search, and the refresh of a shard that is idle stays off.
    path = f"/_tasks?actions={_ACTION}&detailed=false&filter_path={_FIELDS}"
    return tasks_of(client.get(path, timeout_s))


def tasks_of(answer: object) -> tuple[BulkTask, ...]:
    """Read an answer to `_tasks`."""
    nodes = at(answer, "nodes")
    return tuple(
        BulkTask(str(task_id), number_at(task, "running_time_in_nanos") / 1e9)
        for node in (nodes.values() if isinstance(nodes, dict) else ())
        for task_id, task in _members(at(node, "tasks"))
        if at(task, "action") == _ACTION
    )


def _members(found: object) -> tuple[tuple[object, object], ...]:
    return tuple(found.items()) if isinstance(found, dict) else ()

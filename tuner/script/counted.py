"""The names that rsyslogd's counters and threads have for a configuration's actions and queues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tuner.script.script import (
    BUILT_IN,
    Block,
    LegacyAction,
    ScriptObject,
    ScriptPosition,
    Statement,
    is_enabled,
    objects_in,
    walk,
)

MAIN = "main Q"
"""The name of the main queue."""
_SHELL = "builtin-shell"  # The only module whose name has no colon there (tools/omshell.c).
_LONGEST_THREAD = 15  # The kernel cuts longer names (TASK_COMM_LEN, less the terminating byte).


def worker_thread(queue: str) -> str:
    """The name of the worker threads of a queue, cut as the kernel cuts it."""
    return f"rs:{queue}:Reg"[:_LONGEST_THREAD]


OF_ACTION = " queue"
"""The suffix of the name of an action's queue."""


def queue_of_action(action: str) -> str:
    """The name of the queue of an action, by the action's name in counters."""
    return f"{action}{OF_ACTION}"


class CountedAction(NamedTuple):
    """The name of an action in counters, on releases before 8.2608 and since."""

    before: str
    since: str


UNCOUNTED_SINCE = 2608
"""The first release that gives no number to a disabled action (config.enabled)."""


def counted_actions(block: Block, modern: Block) -> Mapping[ScriptPosition, CountedAction]:
    """The counter names of the actions, by position, of a configuration that was read as `block`;
    `modern` is the same without the legacy format, so that its actions have names and types.

    rsyslogd numbers all actions from 0 in the order of the text, `~` included.  An action without a
    name is called action-NUMBER-MODULE (actionConstruct() of action.c, 8.2102 to 8.2608; seen on
    8.2302, 8.2504 and 8.2610).
    """
    before: dict[ScriptPosition, int] = {}
    since: dict[ScriptPosition, int] = {}
    enabled = 0
    for number, action in enumerate(filter(_is_action, walk(block))):
        before.setdefault(action.origin, number)
        since.setdefault(action.origin, enabled)
        enabled += not isinstance(action, ScriptObject) or is_enabled(action) is not False
    return {
        action.origin: CountedAction(
            *(_counter_name(action, numbers[action.origin]) for numbers in (before, since))
        )
        for action in objects_in(modern, "action")
        if action.origin in before
    }


def _is_action(statement: Statement) -> bool:
    is_object = isinstance(statement, ScriptObject) and statement.kind == "action"
    return is_object or isinstance(statement, LegacyAction)


def _counter_name(action: ScriptObject, number: int) -> str:
    if action.get("name") is not None:
        return action.name
    kind = action.type
    if kind in BUILT_IN:
        kind = _SHELL if kind == "omshell" else f"builtin:{kind}"
    return f"action-{number}-{kind}"


def distinct_names(
    actions: Mapping[ScriptPosition, str], queues: Iterable[str]
) -> Mapping[ScriptPosition, str]:
    """A distinct name for each action, even as the cut name of a worker thread and beside those of
    `queues`: its own, or its own with the action's number in front."""
    threads = Counter(worker_thread(queue_of_action(name)) for name in actions.values())
    threads.update(map(worker_thread, queues))
    return {
        origin: name if threads[worker_thread(queue_of_action(name))] == 1 else f"{number}.{name}"
        for number, (origin, name) in enumerate(actions.items(), 1)
    }

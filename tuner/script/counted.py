"""What rsyslogd's counters and threads call the actions and queues of a configuration."""

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
"""The main queue."""
_SHELL = "builtin-shell"  # Of all modules the only one that is spelled so (tools/omshell.c).
_LONGEST_THREAD = 15  # The kernel cuts what is longer (TASK_COMM_LEN, less the byte that ends it).


def worker_thread(queue: str) -> str:
    """The worker threads of a queue, cut as the kernel cuts it."""
    return f"rs:{queue}:Reg"[:_LONGEST_THREAD]


OF_ACTION = " queue"
"""How the name of an action's queue ends."""


def queue_of_action(action: str) -> str:
    """The queue of an action that counters call so."""
    return f"{action}{OF_ACTION}"


class CountedAction(NamedTuple):
    """What counters call an action on releases before 8.2608, and since."""

    before: str
    since: str


UNCOUNTED_SINCE = 2608
"""The first release that gives no number to an action that is switched off."""


def counted_actions(block: Block, modern: Block) -> Mapping[ScriptPosition, CountedAction]:
    """The actions of a configuration that was read as `block`, each by its place, with the names
    that stand in its `modern` form.

    rsyslogd numbers all from 0 in the order of the text, `~` too, and calls one without a name
    action-NUMBER-MODULE (actionConstruct() of action.c, 8.2102 to 8.2608; seen on 8.2302, 8.2504
    and 8.2610).
    """
    before: dict[ScriptPosition, int] = {}
    since: dict[ScriptPosition, int] = {}
    live = 0
    for number, action in enumerate(filter(_is_action, walk(block))):
        before.setdefault(action.origin, number)
        since.setdefault(action.origin, live)
        live += not isinstance(action, ScriptObject) or is_enabled(action) is not False
    return {
        action.origin: CountedAction(
            *(_called(action, numbers[action.origin]) for numbers in (before, since))
        )
        for action in objects_in(modern, "action")
        if action.origin in before
    }


def _is_action(statement: Statement) -> bool:
    is_object = isinstance(statement, ScriptObject) and statement.kind == "action"
    return is_object or isinstance(statement, LegacyAction)


def _called(action: ScriptObject, number: int) -> str:
    if action.get("name") is not None:
        return action.name
    kind = action.type
    if kind in BUILT_IN:
        kind = _SHELL if kind == "omshell" else f"builtin:{kind}"
    return f"action-{number}-{kind}"


def told_apart(
    actions: Mapping[ScriptPosition, str], queues: Iterable[str]
) -> Mapping[ScriptPosition, str]:
    """A name for each of these actions which no other one and no other of `queues` has as a counter
    or, cut, as a thread: its own, or that behind its place among them."""
    threads = Counter(worker_thread(queue_of_action(name)) for name in actions.values())
    threads.update(map(worker_thread, queues))
    return {
        key: name if threads[worker_thread(queue_of_action(name))] == 1 else f"{place}.{name}"
        for place, (key, name) in enumerate(actions.items(), 1)
    }

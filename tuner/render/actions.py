"""What becomes of an event: repairs, parsing, and the outputs with their filters and failovers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.output import Output
from tuner.modules.queue import Queue, QueueType
from tuner.modules.registry import AnyOutput
from tuner.profile.model import Profile
from tuner.profile.placement import PlacedQueue, action_queue
from tuner.render.bulk import bulk_parameters, source_of
from tuner.render.condition import condition
from tuner.render.other_actions import other_parameters
from tuner.render.parsing import parse_action
from tuner.render.queues import queue_parameters
from tuner.render.rainerscript import Branch, Node, Statement, Value, call, statement

_DIRECT = Queue(type=QueueType.DIRECT)


def actions(profile: Profile) -> Iterator[Node]:
    """What becomes of an event, in order."""
    repaired = repaired_for(profile)
    if repaired is not None:
        name = f"{repaired.name}-utf8"
        yield statement("action", {"name": name, "type": "mmutf8fix", "queue.type": "Direct"})
    yield from parse_action(profile)
    for group in _groups(profile):
        yield from _filtered(profile.outputs[group[0]], _delivery(profile, group))


def repaired_for(profile: Profile) -> Output | None:
    """The first output that needs valid UTF-8, as JSON does, if any; `mmutf8fix` may say no."""
    return next(
        (
            output
            for output in profile.outputs
            if (
                output.mmutf8fix
                if isinstance(output, OmelasticsearchOutput)
                else output.document is not None
            )
        ),
        None,
    )


def failover_rulesets(profile: Profile) -> Iterator[Statement]:
    """One ruleset for each output with a queue that others stand in for.

    Its queue is the output's: an action that has one itself always accepts, and is never seen as
    suspended by what follows (action.c, doSubmitToActionQ).
    """
    for group in _groups(profile):
        leader = action_queue(profile, group[0])
        if _is_failover(group, leader):
            name = _ruleset(profile.outputs[group[0]])
            parameters = {"name": name, **queue_parameters(leader.resolved)}
            yield statement("ruleset", parameters, tuple(_members(profile, group)))


def _groups(profile: Profile) -> Iterator[tuple[int, ...]]:
    """The numbers of the outputs: each with those that stand in for it, in order."""
    group: list[int] = []
    for number, output in enumerate(profile.outputs):
        if group and not output.exec_only_when_previous_is_suspended:
            yield tuple(group)
            group = []
        group.append(number)
    yield tuple(group)


def _is_failover(group: Sequence[int], leader: PlacedQueue) -> bool:
    return len(group) > 1 and not leader.is_direct


def _ruleset(output: Output) -> str:
    return f"failover.{output.name}"


def _delivery(profile: Profile, group: tuple[int, ...]) -> tuple[Node, ...]:
    leader = action_queue(profile, group[0])
    if _is_failover(group, leader):
        return (call(_ruleset(profile.outputs[group[0]])),)
    first = _action(profile, group[0], leader.resolved)
    return (first, *_stand_ins(profile, group))


def _members(profile: Profile, group: tuple[int, ...]) -> Iterator[Node]:
    """The actions of a failover: the first needs no queue, its ruleset has it."""
    yield _action(profile, group[0], _DIRECT)
    yield from _stand_ins(profile, group)


def _stand_ins(profile: Profile, group: tuple[int, ...]) -> Iterator[Node]:
    for number in group[1:]:
        action = _action(profile, number, action_queue(profile, number).resolved)
        yield from _filtered(profile.outputs[number], (action,))


def _filtered(output: Output, body: tuple[Node, ...]) -> Iterator[Node]:
    if output.filter is None:
        yield from body
    else:
        yield Branch(condition(output.filter), body)


def _action(profile: Profile, number: int, queue: Queue) -> Statement:
    output = profile.outputs[number]
    stands_in = True if output.exec_only_when_previous_is_suspended else None
    suspended: dict[str, Value] = {"action.execOnlyWhenPreviousIsSuspended": stands_in}
    parameters = _parameters(profile, output) | suspended | queue_parameters(queue)
    return statement("action", parameters)


def _parameters(profile: Profile, output: AnyOutput) -> dict[str, Value]:
    if isinstance(output, OmelasticsearchOutput):
        return bulk_parameters(profile, output, source_of(output))
    return other_parameters(output)

"""Lint for several outputs: names that clash, failovers that never take over."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tuner.lint.rule import error, warning
from tuner.profile.model import Profile, Tier
from tuner.profile.placement import action_queue, working_queue
from tuner.rule import Complaint

_SUSPENDED = "action.execOnlyWhenPreviousIsSuspended"


def _first_stands_in(profile: Profile) -> Iterator[Complaint]:
    if profile.outputs[0].exec_only_when_previous_is_suspended:
        yield Complaint(
            ("outputs", 0, _SUSPENDED),
            "there is no output before this one that could be suspended: "
            "put the one that it stands in for first",
        )


def _never_suspended(profile: Profile) -> Iterator[Complaint]:
    """action.c, actionDoRetry: an action that retries for ever never counts as suspended."""
    for number, (before, after) in enumerate(pairwise(profile.outputs)):
        takes_over = after.exec_only_when_previous_is_suspended
        if takes_over and before.action_resume_retry_count == -1:
            yield Complaint(
                ("outputs", number, "action.resumeRetryCount"),
                f"this output is retried for ever, so {after.name} never takes over: "
                "set action.resumeRetryCount to 0 or a few",
            )


def _queue_between(profile: Profile) -> Iterator[Complaint]:
    """action.c, doSubmitToActionQ: an action with a queue accepts always."""
    for number, (before, after) in enumerate(pairwise(profile.outputs)):
        both = (
            before.exec_only_when_previous_is_suspended
            and after.exec_only_when_previous_is_suspended
        )
        if both and not action_queue(profile, number).is_direct:
            yield Complaint(
                ("outputs", number, "queue"),
                f"an output with a queue accepts everything, so {after.name} never takes over: "
                "let this one have no queue; that of the first output serves them all",
            )


def _same_name(profile: Profile) -> Iterator[Complaint]:
    seen: set[str] = set()
    for number, output in enumerate(profile.outputs):
        if output.name in seen:
            yield Complaint(
                ("outputs", number, "name"),
                f"another output is called {output.name}: rename one, the name is that of its "
                "queue, its templates and its files",
            )
        seen.add(output.name)


def _same_index(profile: Profile) -> Iterator[Complaint]:
    seen: dict[str, str] = {}
    for number, output in profile.enumerated:
        other = seen.setdefault(output.index.target, output.name)
        if other != output.name:
            yield Complaint(
                ("outputs", number, "index"),
                f"{other} writes to {output.index.target} too, and the template of one would "
                "replace that of the other: give each its own index",
            )


def _lost_at_the_change(profile: Profile) -> Iterator[Complaint]:
    """Seen on 8.2302 with omelasticsearch: what goes away takes the batches under way with it,
    with resumeRetryCount 0 and 1 alike; nothing before or after, and nothing twice."""
    if profile.guardrails.tier is not Tier.DURABLE:
        return
    queue = working_queue(profile)
    for number, (before, after) in enumerate(pairwise(profile.outputs)):
        if not before.exec_only_when_previous_is_suspended:
            own = action_queue(profile, number)
            queue = working_queue(profile) if own.is_direct else own
        if after.exec_only_when_previous_is_suspended:
            yield Complaint(
                ("outputs", number + 1, _SUSPENDED),
                f"when {before.name} goes away, the batches under way, up to "
                f"{queue.copies * queue.workers * queue.batch} events, are lost before "
                f"{after.name} takes over, against the durable tier: to keep them remove "
                f"{after.name}, and give {before.name} a queue with a filename and "
                "action.resumeRetryCount -1",
            )


RULES = (
    error("RT250", _first_stands_in),
    error("RT251", _never_suspended),
    error("RT252", _queue_between),
    error("RT253", _same_name),
    error("RT254", _same_index),
    warning("RT255", _lost_at_the_change),
)

"""Lint for several outputs: names that clash, failovers that never take over."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.profile.documents import fields_of, mapping_of
from tuner.profile.model import Profile, Tier
from tuner.profile.placement import action_queue, working_queue
from tuner.rule import Complaint, error, loss

_SUSPENDED = "action.execOnlyWhenPreviousIsSuspended"

_LEADER = {
    "name": "logs",
    "type": "omelasticsearch",
    "servers": ["http://127.0.0.1:9200"],
    "indexTimeout": 60_000,
    "index": {"name": "syslog"},
}
_GIVES_UP = {"action.resumeRetryCount": 0}
_FILE = {"name": "file", "type": "omfile", "file": "/var/log/all.log"}
_STANDS_IN = {**_FILE, _SUSPENDED: True}


@error(
    "RT250",
    why="A failover output never runs if there is no output before it.",
    source="rsyslog action.c",
    bad={f"outputs[logs].{_SUSPENDED}": True},
    good={f"outputs[logs].{_SUSPENDED}": False},
)
def _first_stands_in(profile: Profile) -> Iterator[Complaint]:
    if profile.outputs and profile.outputs[0].exec_only_when_previous_is_suspended:
        yield Complaint(
            ("outputs", 0, _SUSPENDED),
            "there is no output before this one that could be suspended: "
            "put the one that it takes over from first",
        )


@error(
    "RT251",
    why="An action that is retried forever never counts as suspended, so nothing takes over.",
    source="rsyslog action.c, actionDoRetry",
    bad={"guardrails.tier": "relaxed", "outputs": [_LEADER, _STANDS_IN]},
    good={"outputs[logs].action.resumeRetryCount": 0},
)
def _never_suspended(profile: Profile) -> Iterator[Complaint]:
    for number, (before, after) in enumerate(pairwise(profile.outputs)):
        takes_over = after.exec_only_when_previous_is_suspended
        if takes_over and before.action_resume_retry_count == -1:
            yield Complaint(
                ("outputs", number, "action.resumeRetryCount"),
                f"this output is retried forever, so {after.name} never takes over: set "
                "action.resumeRetryCount to 0 or a few",
            )


@error(
    "RT252",
    why="An action with a queue accepts everything and never counts as suspended.",
    source="rsyslog action.c, doSubmitToActionQ",
    bad={
        "guardrails.tier": "relaxed",
        "outputs": [
            {**_LEADER, **_GIVES_UP},
            {**_STANDS_IN, **_GIVES_UP, "queue": {"type": "LinkedList"}},
            {**_STANDS_IN, "name": "last", "file": "/var/log/last.log"},
        ],
    },
    good={"outputs[file].queue": None},
)
def _queue_between(profile: Profile) -> Iterator[Complaint]:
    for number, (before, after) in enumerate(pairwise(profile.outputs)):
        both = (
            before.exec_only_when_previous_is_suspended
            and after.exec_only_when_previous_is_suspended
        )
        if both and not action_queue(profile, number).is_direct:
            yield Complaint(
                ("outputs", number, "queue"),
                f"an output with a queue accepts everything, so {after.name} never takes over: "
                "remove this queue; the first output's queue serves them all",
            )


@error(
    "RT253",
    why="Templates, queue and files are named after the output: two of one name would share them.",
    source="rsyslog-tune's own: docs/profiles.md",
    bad={"outputs": [_LEADER, {**_FILE, "name": "logs"}]},
    good={"outputs[1].name": "file"},
)
def _same_name(profile: Profile) -> Iterator[Complaint]:
    names: set[str] = set()
    for number, output in enumerate(profile.outputs):
        if output.name in names:
            yield Complaint(
                ("outputs", number, "name"),
                f"another output is called {output.name}: rename one, because queues, templates "
                "and files are named after their output",
            )
        names.add(output.name)


@error(
    "RT254",
    why="One index has one template: that of the second output would replace the first, unless "
    "they are the same.",
    source="Elasticsearch, index templates",
    bad={"outputs": [_LEADER, {**_LEADER, "name": "copy", "document": "logstash"}]},
    good={"outputs[copy].document": "ecs"},
    at="outputs[copy].index",
)
def _same_index(profile: Profile) -> Iterator[Complaint]:
    writers: dict[str, OmelasticsearchOutput] = {}
    for number, output in profile.enumerated:
        other = writers.setdefault(output.index.target, output)
        if (other.index, _mapped(other)) != (output.index, _mapped(output)):
            yield Complaint(
                ("outputs", number, "index"),
                f"{other.name} writes to {output.index.target} too, and the template of one would "
                "replace that of the other: give each its own index, or both the same index and "
                "fields",
            )


def _mapped(output: OmelasticsearchOutput) -> dict[str, object]:
    """The mapping of each field by its name."""
    return {field.name: mapping_of((field,)) for field in fields_of(output)}


@loss(
    "RT255",
    why="When a target goes down, the batches in flight are lost: nothing retries them, and the "
    "failover output gets only what comes later.",
    source="rsyslog action.c; seen on 8.2302 with omelasticsearch",
    bad={"outputs": [{**_LEADER, **_GIVES_UP}, _STANDS_IN]},
    good={"guardrails.tier": "relaxed"},
    at=f"outputs[file].{_SUSPENDED}",
)
def _lost_at_the_change(profile: Profile) -> Iterator[Complaint]:
    """Seen on 8.2302 with omelasticsearch: when a target goes down, the batches in flight are lost,
    with resumeRetryCount 0 and 1 alike; nothing before or after, and nothing twice."""
    if profile.guardrails.tier is not Tier.DURABLE:
        return
    queue = working_queue(profile)
    for number, (before, after) in enumerate(pairwise(profile.outputs)):
        if not before.exec_only_when_previous_is_suspended:
            own = action_queue(profile, number)
            queue = working_queue(profile, number) if own.is_direct else own
        if after.exec_only_when_previous_is_suspended:
            yield Complaint(
                ("outputs", number + 1, _SUSPENDED),
                f"when {before.name} goes down, the batches in flight, up to "
                f"{queue.copies * queue.workers * queue.batch} events, are lost before "
                f"{after.name} takes over, which the durable tier forbids: to keep them remove "
                f"{after.name}, and give {before.name} a queue with a filename and "
                "action.resumeRetryCount -1",
            )

"""The actions of a profile: what is decided of each, and which stand in for which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tuner.modules.omelasticsearch import TYPE_CAN_GO, TYPE_GONE, OmelasticsearchOutput
from tuner.modules.output import Lines
from tuner.modules.queue import Queue, QueueType
from tuner.profile.model import Profile
from tuner.profile.placement import action_queue, failovers
from tuner.render.document import Step
from tuner.render.modules import Parameters, own_parameters
from tuner.render.statements import condition
from tuner.script.quoting import Emitted

DIRECT = Queue(type=QueueType.DIRECT)

_HAS_INDEX_TIMEOUT = 2204


class BulkAction(NamedTuple):
    """An action that sends bulks to the engine of `output`: the names of its templates and of the
    ruleset that takes what the engine refuses, and what follows from the release."""

    output: OmelasticsearchOutput
    name: str
    document: str
    document_id: str
    index_template: str | None
    pipeline: str | None
    retry_ruleset: str
    search_type: str | None
    write_operation: str | None
    timeout: str | None
    index_timeout: int | None
    queue: Queue
    stands_in: bool = False
    condition: Emitted | None = None


class LineAction(NamedTuple):
    """An action of any other output, with its module's own parameters."""

    output: Lines
    template: str
    parameters: Parameters
    queue: Queue
    stands_in: bool
    condition: Emitted | None


class ActionGroup(NamedTuple):
    """An output and those that stand in for it; with a queue they have a ruleset of their own.
    The steps come first: a ruleset with a queue gets a copy of the event."""

    actions: tuple[BulkAction | LineAction, ...]
    condition: Emitted | None
    ruleset: str | None
    queue: Queue
    steps: tuple[Step, ...] = ()


def deliveries(
    profile: Profile, stream: str | None, steps: Mapping[str, tuple[Step, ...]]
) -> Iterator[ActionGroup]:
    """The outputs of a stream in their order, each with those that stand in for it; `steps` are
    what the documents of each need."""
    for leader, *standins in failovers(profile, stream):
        queue = action_queue(profile, leader).resolved
        output = profile.outputs[leader]
        ruleset = f"failover.{output.name}" if standins and queue != DIRECT else None
        yield ActionGroup(
            actions=(
                _action(profile, leader, queue if ruleset is None else DIRECT),
                *(
                    _action(profile, number, action_queue(profile, number).resolved)
                    for number in standins
                ),
            ),
            condition=condition(output.filter),
            ruleset=ruleset,
            queue=queue,
            steps=tuple(
                step
                for number in (leader, *standins)
                for step in steps[profile.outputs[number].name]
            ),
        )


def bulk(
    profile: Profile, output: OmelasticsearchOutput, stem: str, retry_ruleset: str, queue: Queue
) -> BulkAction:
    """The action that sends the documents of the templates whose names begin with `stem`."""
    release = profile.release.rsyslog_number
    # F15: Elasticsearch 8 refuses _type.  Releases that leave it out warn about the parameter.
    search_type = "_doc" if release < TYPE_CAN_GO else "" if release < TYPE_GONE else None
    return BulkAction(
        output=output,
        name=stem,
        document=f"{stem}-document",
        document_id=f"{stem}-id",
        index_template=f"{stem}-index" if output.index.varies else None,
        pipeline=f"{stem}-pipeline" if output.dyn_pipeline_name else output.pipeline_name,
        retry_ruleset=retry_ruleset,
        search_type=search_type,
        write_operation="create" if output.creates else output.writeoperation,
        timeout=output.url_timeout,
        index_timeout=output.index_timeout if release >= _HAS_INDEX_TIMEOUT else None,
        queue=queue,
        stands_in=output.exec_only_when_previous_is_suspended,
        condition=condition(output.filter),
    )


def retry_name(output: OmelasticsearchOutput) -> str:
    """What the ruleset of an output's refused documents is called: a dot is in no other name."""
    return f"retry.{output.name}"


def _action(profile: Profile, number: int, queue: Queue) -> BulkAction | LineAction:
    output = profile.outputs[number]
    if isinstance(output, OmelasticsearchOutput):
        return bulk(profile, output, output.name, retry_name(output), queue)
    parameters = {**dict(own_parameters(output)), **output.spelled()}
    return LineAction(
        output=output,
        template=_format(output),
        # What a section says, its output has spelled.
        parameters=tuple(pair for pair in parameters.items() if not isinstance(pair[1], dict)),
        queue=queue,
        stands_in=output.exec_only_when_previous_is_suspended,
        condition=condition(output.filter),
    )


def _format(output: Lines) -> str:
    """The template of an event: rsyslog's own, or one of the output's."""
    if output.line is not None:
        return f"{output.name}-line"
    return output.format if output.document is None else f"{output.name}-document"

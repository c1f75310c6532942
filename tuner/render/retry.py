"""What becomes of documents that the engine refuses inside a bulk that it answers with 200.

With retryfailures omelasticsearch hands every item of such a bulk, those that were indexed too, to
another ruleset.  There an event has no properties but `$!`, its document, and `$.omes`, its id and
what the engine said (omelasticsearch's manual, "How Retries Are Handled").  `retry.NAME` drops
what was indexed, writes what never will be to a file, and sends the rest again under its own id.

What is refused once more goes to `again.NAME`, which waits and hands it back.  That one is needed:
retries are full-delay messages, which wait while their queue is above its fullDelayMark, and a
worker that waits for its own queue waits for ever.  `retry.NAME` makes the output's workers wait
at its mark and has room above it for all that `again.NAME` can hold, so neither waits for good.
"""

from __future__ import annotations

from collections.abc import Iterator

from tuner.engines.index import Rotate
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.queue import Queue, QueueType
from tuner.modules.queue_defaults import Place, resolve
from tuner.profile.model import Profile
from tuner.profile.placement import action_queue, working_queue
from tuner.render.bulk import Source, bulk_parameters, id_name, pipeline_name, retry_ruleset
from tuner.render.queues import queue_parameters
from tuner.render.quoting import Emitted, constant
from tuner.render.rainerscript import STOP, Branch, Node, Statement, call, statement

_LEAST = 4000
_DAY_MS = 86_400_000
_SHUTDOWN_MS = 10_000
_WAIT_US = 1_000_000

_INDEXED = Emitted("$.omes!status == 200 or $.omes!status == 201 or $.omes!status == 409")
# A write block is lifted, a rejection passes, a shard comes back; nothing else heals by itself.
_FOR_GOOD = Emitted(
    "not ($.omes!status == 429 or $.omes!status >= 500 or "
    '($.omes!status == 403 and $.omes!error!type == "cluster_block_exception"))'
)


def id_template(output: OmelasticsearchOutput) -> Statement:
    """An id for each event, which rsyslog keeps with it through queues and retries."""
    return _template(id_name(output), ({"name": "uuid"},))


def pipeline_template(output: OmelasticsearchOutput) -> Statement:
    """The name of the ingest pipeline by a property of the event, which goes into JSON."""
    prop = {"name": output.pipeline_name or "", "format": "json"}
    return _template(pipeline_name(output), (prop,))


def retry_templates(output: OmelasticsearchOutput) -> Iterator[Statement]:
    """The templates that read a refused event: its document, id, index and what was said."""
    source = _source(output)
    yield _template(source.document, ({"name": "$!all-json-plain"},))
    yield _template(source.document_id, ({"name": "$.omes!_id"},))
    if output.index.rotate is Rotate.DAILY:
        yield _template(source.index, ({"name": "$.omes!_index"},))
    if output.dyn_pipeline_name:
        yield _template(source.pipeline, ({"name": "$.omes!pipeline", "format": "json"},))
    yield statement(
        "template",
        {"name": _refused_name(output), "type": "list"},
        (
            statement("constant", {"value": constant('{"omes":')}),
            statement("property", {"name": "$.omes"}),
            statement("constant", {"value": constant(',"document":')}),
            statement("property", {"name": "$!all-json-plain"}),
            statement("constant", {"value": constant("}\n")}),
        ),
    )


def retry_rulesets(profile: Profile, number: int) -> Iterator[Statement]:
    """The rulesets of the output with that number, in the order in which they name each other."""
    output = profile.outputs[number]
    if not isinstance(output, OmelasticsearchOutput) or output.retryfailures is None:
        return
    retry, again = _queues(profile, number)
    resend = {**bulk_parameters(profile, output, _source(output)), "queue.type": "Direct"}
    rejected = {
        "name": f"{output.name}-rejected",
        "type": "omfile",
        "file": output.retryfailures.file,
        "template": _refused_name(output),
        "queue.type": "Direct",
    }
    body: tuple[Node, ...] = (
        Branch(_INDEXED, (STOP,)),
        Branch(_FOR_GOOD, (statement("action", rejected), STOP)),
        statement("action", resend),
    )
    name = retry_ruleset(output)
    yield statement("ruleset", {"name": name, **queue_parameters(retry)}, body)
    back = (Branch(_INDEXED, (STOP,)), call(name))
    yield statement("ruleset", {"name": _again(output), **queue_parameters(again)}, back)


def _template(name: str, properties: tuple[dict[str, str], ...]) -> Statement:
    body = tuple(statement("property", one) for one in properties)
    return statement("template", {"name": name, "type": "list"}, body)


def _source(output: OmelasticsearchOutput) -> Source:
    """The templates of what is sent again."""
    return Source(
        name=f"{output.name}-retry",
        document=f"{output.name}-retry-document",
        document_id=f"{output.name}-retry-id",
        index=f"{output.name}-retry-index",
        pipeline=f"{output.name}-retry-pipeline",
        retry_ruleset=_again(output),
    )


def _again(output: OmelasticsearchOutput) -> str:
    return f"again.{output.name}"


def _refused_name(output: OmelasticsearchOutput) -> str:
    return f"{output.name}-rejected"


def _queues(profile: Profile, number: int) -> tuple[Queue, Queue]:
    """The queues of `retry` and `again`; their files, if any, are those of the output's queue."""
    action = action_queue(profile, number)
    feeding = working_queue(profile) if action.is_direct else action
    batch, workers = feeding.batch, feeding.workers * feeding.copies
    waiting = max(_LEAST, 4 * batch)
    mark = max(_LEAST, 2 * workers * batch)
    common: dict[str, object] = {
        "type": QueueType.LINKED_LIST,
        "light_delay_mark": 0,
        "timeout_enqueue": _DAY_MS,
        "timeout_shutdown": _SHUTDOWN_MS,
    }
    retry = {
        "size": mark + waiting + 2 * workers * batch,
        "full_delay_mark": mark,
        "dequeue_batch_size": batch,
    }
    again = {
        "size": waiting,
        "dequeue_batch_size": waiting // 2,
        "dequeue_slow_down": _WAIT_US,
    }
    return (
        _queue(action.resolved, "retry", common | retry),
        _queue(action.resolved, "again", common | again),
    )


def _queue(written: Queue, name: str, parameters: dict[str, object]) -> Queue:
    if written.filename is not None:
        parameters |= {
            "filename": f"{written.filename}-{name}",
            "spool_directory": written.spool_directory,
            "max_disk_space": written.max_disk_space,
            "max_file_size": written.max_file_size,
            "checkpoint_interval": written.checkpoint_interval,
            "sync_queue_files": written.sync_queue_files,
            "save_on_shutdown": written.save_on_shutdown,
        }
    return resolve(Queue.model_validate(parameters, by_name=True), Place.MAIN)

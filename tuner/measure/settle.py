"""After the last event was sent: drain, make durable, let merges end, check delivery; and after the
loss of a node what became of every event."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tuner.engine.delivery import check_by_counters
from tuner.engine.numbering import SentEvents
from tuner.engine.sampled import NOT_COMPARED, Content
from tuner.engine.status import (
    SILENCE_S,
    IndexCounters,
    count,
    index_counters,
    indexed,
    lost_shards,
    make_durable,
    merges_under_way,
    node_counters,
)
from tuner.host.process import wait_until
from tuner.host.usage import Usage
from tuner.lab.rsyslogd import await_round, read
from tuner.measure.measurement import Delivery, Failure, FailureKind
from tuner.measure.watch import Watch
from tuner.modules.pstats import Snapshot

_END_S = 2.0
_PROMOTION_S = 10.0
_POLL_S = 0.5


@dataclass(frozen=True)
class Settled:
    """When everything sent was indexed, durable (refreshed and flushed) and merged (monotonic
    seconds; None when merges did not end), and the delivery check.

    `engine_cpu_ms` is what the engine had used by then since it started, `snapshots` are all rounds
    of rsyslogd's own counters; `complaint` is what it said of a request that failed, None when it
    said nothing.  `documents` are those that should have come, None where that is not known of each
    event; `content` is of a sample of the documents, where all are there.
    """

    drained_at_s: float
    durable_at_s: float
    merged_at_s: float | None
    engine_cpu_ms: int
    shipper: Usage
    index: IndexCounters
    delivery: Delivery
    snapshots: tuple[Snapshot, ...]
    complaint: str | None
    documents: int | None = None
    content: Content = NOT_COMPARED


def settle(
    watch: Watch, sent: SentEvents, *, merges_s: float = 0.0, await_counters: bool = False
) -> Settled:
    """Wait for all that was sent and account for every event; rsyslogd is ended meanwhile.

    Merges get `merges_s` seconds to end.
    """
    client, pattern = watch.pipe.client, watch.pipe.pattern
    drained_at = watch.drain(sent)
    # What was waited for although nothing came any more is no work of the pipeline's.
    waited_s = time.monotonic() - drained_at
    drained_epoch_s = time.time()
    make_durable(client, pattern)
    durable_at = time.monotonic() - waited_s
    is_merged = wait_until(lambda: merges_under_way(client, pattern) == 0, merges_s)
    merged_at = time.monotonic() - waited_s if is_merged else None
    engine_cpu_ms = node_counters(client, SILENCE_S).cpu_ms
    if await_counters:
        # A round of rsyslogd's counters that was begun after all had come.
        await_round(watch.pipe.stats, drained_epoch_s)
    shipper = watch.pipe.rsyslogd.usage()
    # As long as rsyslogd runs it may repeat a batch that is counted already.
    complaint = watch.pipe.rsyslogd.finish(_END_S)
    delivery, expectation = _delivery(watch, sent), watch.pipe.expectation
    return Settled(
        drained_at_s=drained_at,
        durable_at_s=durable_at,
        merged_at_s=merged_at,
        engine_cpu_ms=engine_cpu_ms,
        shipper=shipper,
        index=index_counters(client, pattern),
        delivery=delivery,
        snapshots=read(watch.pipe.stats),
        complaint=complaint,
        documents=expectation.documents(sent) if expectation.is_sure else None,
        content=_content(watch, sent) if delivery.exact else NOT_COMPARED,
    )


def _content(watch: Watch, sent: SentEvents) -> Content:
    """What a sample of the documents holds, against what was learnt of the same messages."""
    pipe = watch.pipe
    documents = pipe.lab.engine.sampled(pipe.pattern, sent.total)
    run, senders = watch.flood.spec.stamped_run, len(sent.counts)
    return pipe.prepared.learnt.documents.content(documents, run, senders)


def _delivery(watch: Watch, sent: SentEvents) -> Delivery:
    """The delivery check of all events, once no more can come, by what is expected of each.

    `indexed` and `found` are events where all is well.  Where of some messages nothing is expected,
    their documents are in no count.
    """
    pipe, total = watch.pipe, sent.total
    arrived, searched = _counted(watch, pipe.pattern)
    expected = pipe.expectation.documents(sent)
    if pipe.lab.engine.tells_apart(pipe.profile):
        run = watch.flood.spec.stamped_run
        check = pipe.lab.engine.check_delivery(pipe.pattern, sent, run, pipe.expectation)
    else:
        check = check_by_counters(expected, arrived, searched)
    if not pipe.expectation.is_sure:
        accounted = total - check.lost + check.duplicated
        return Delivery(total, accounted, accounted, **vars(check))
    beyond = total - expected
    return Delivery(total, arrived + beyond, searched + beyond, **vars(check))


def _counted(watch: Watch, pattern: str) -> tuple[int, int]:
    """The documents that the engine has indexed, and those that a search finds."""
    client = watch.pipe.client
    make_durable(client, pattern)
    return indexed(client, pattern, SILENCE_S), count(client, pattern)


def after_loss(watch: Watch, loss: str, sent: SentEvents) -> Failure:
    """Why a run in which the engine lost a node has no number, with the account of the events: from
    copies on other nodes, and from rsyslogd, which goes on to the other servers.

    A request to a shard without a copy waits for a minute, and rsyslogd behind it: then what the
    other shards have indexed is the account, and what is not there counts as lost.
    """
    client, pattern = watch.pipe.client, watch.pipe.pattern
    red = lost_shards(client, pattern, _PROMOTION_S)
    if red is None:
        _await_empty_queues(watch)
        return loss_of(loss, settle(watch, sent).delivery)
    arrived, total = watch.indexed(), sent.total
    lost, duplicated = max(0, total - arrived), max(0, arrived - total)
    delivery = Delivery(total, arrived, arrived, lost, duplicated)
    account = (
        f"of {total} events sent {arrived} are in its other shards, the rest is lost with the node "
        "or waits in rsyslog for its shard"
    )
    return loss_of(f"{loss}; {red}", delivery, account)


def loss_of(loss: str, delivery: Delivery, account: str = "") -> Failure:
    """The failure of a run in which the engine lost a node, with the account in words."""
    return Failure.of(FailureKind.ENGINE_DOWN, f"{loss}; {account or delivery}", delivery)


def _await_empty_queues(watch: Watch) -> None:
    """Wait until rsyslogd holds no event: an action whose server was gone first waits for
    `action.resumeInterval`."""
    resumes_s = max(output.action_resume_interval for output in watch.pipe.profile.outputs)
    since = time.time()

    def empty() -> bool:
        return any(
            snapshot.at > since and all(queue.size == 0 for queue in snapshot.queues.values())
            for snapshot in read(watch.pipe.stats)[-1:]
        )

    wait_until(empty, resumes_s + watch.stall_s, _POLL_S)

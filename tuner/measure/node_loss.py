"""After the loss of a node: what became of every event."""

from __future__ import annotations

import time

from tuner.engine.counters import indexed
from tuner.engine.numbering import SentEvents
from tuner.engine.probe import SILENCE_S, lost_shards
from tuner.host.process import wait_until
from tuner.lab.impstats import read
from tuner.measure.measurement import Delivery, Failure, FailureKind
from tuner.measure.settle import settle
from tuner.measure.watch import STALL_S, Watch

_PROMOTION_S = 10.0
_POLL_S = 0.5


def after_loss(watch: Watch, loss: str, sent: SentEvents) -> Failure:
    """Why a run in which the engine lost a node has no number, with the account of the events: from
    copies on other nodes, and from rsyslogd, which goes on to the other servers.

    A request to a shard without a copy waits for a minute, and rsyslogd behind it: then what the
    other shards have indexed is the account, and what is not there counts as lost.
    """
    client, pattern = watch.lab.client, watch.pipe.pattern
    red = lost_shards(client, pattern, _PROMOTION_S)
    if red is None:
        _await_empty_queues(watch)
        return loss_of(loss, settle(watch, sent).delivery)
    left, total = indexed(client, pattern, SILENCE_S), sent.total
    lost, duplicated = max(0, total - left), max(0, left - total)
    delivery = Delivery(total, left, left, lost, duplicated)
    account = (
        f"of {total} events sent {left} are in its other shards, the rest is lost with the node or "
        "waits in rsyslog for its shard"
    )
    return loss_of(f"{loss}; {red}", delivery, account)


def loss_of(loss: str, delivery: Delivery, account: str = "") -> Failure:
    """The failure of a run in which the engine lost a node, with the account in words."""
    reason = f"{loss}; {account or delivery}"
    return Failure(
        FailureKind.ENGINE_DOWN, reason, delivery.sent, delivery.indexed, delivery=delivery
    )


def _await_empty_queues(watch: Watch) -> None:
    """Wait until rsyslogd holds no event: an action whose server was gone first waits for
    `action.resumeInterval`."""
    resumes_s = max(output.action_resume_interval for output in watch.profile.outputs)
    since = time.time()

    def empty() -> bool:
        return any(
            one.at > since and all(queue.size == 0 for queue in one.queues.values())
            for one in read(watch.pipe.stats)[-1:]
        )

    wait_until(empty, resumes_s + STALL_S, _POLL_S)

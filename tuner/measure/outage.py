"""An outage of the engine within a trial: it hangs while traffic goes on, and what waits drains."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

from tuner.engine.status import answers
from tuner.errors import Refused
from tuner.host.process import suspended, wait_until
from tuner.measure.measurement import TrialPlan
from tuner.measure.watch import POLL_S, Stalled, Watch
from tuner.measure.window import Poll

# An engine that hung for long has much to do before it answers.
_ANSWERS_S = 60.0
# What is on its way at any moment, in seconds of traffic, beside what was so before the outage.
_ON_ITS_WAY_S = 0.25
# A backlog that lasts this many times the outage is not drained, at the rate that is offered.
_MOST_OUTAGES = 30.0


def outage(watch: Watch, lasts_s: float) -> None:
    """Let the engine hang for so many seconds.  Raises Refused where it is not ours, Stalled where
    it does not answer again."""
    lab = watch.pipe.lab
    if not lab.engine.processes:
        raise Refused("an outage needs an engine that the lab started: leave --elasticsearch out")
    until_s = time.monotonic() + lasts_s
    with suspended(lab.engine.processes):
        while (left_s := until_s - time.monotonic()) > 0:
            watch.pipe.rsyslogd.check()
            time.sleep(min(POLL_S, left_s))
    if not wait_until(lambda: answers(lab.client), _ANSWERS_S):
        raise Stalled(f"the engine did not answer {_ANSWERS_S:.0f} s after an outage")


def drained(watch: Watch, usual: Sequence[Poll], plan: TrialPlan) -> tuple[Poll, ...]:
    """The polls since the engine goes on, up to when no more waits than `usual` before it hung.
    Raises Stalled where that does not come."""
    on_its_way = statistics.median(poll.backlog for poll in usual)
    on_its_way += _ON_ITS_WAY_S * (plan.offered or 0.0)
    longest_s = _MOST_OUTAGES * plan.outage_s
    polls = watch.follow(longest_s, lambda _: None, lambda polls: polls[-1].backlog <= on_its_way)
    if polls[-1].backlog > on_its_way:
        raise Stalled(
            f"{polls[-1].backlog:,} events still waited {longest_s:.0f} s after an outage of "
            f"{plan.outage_s:g} s"
        )
    return polls

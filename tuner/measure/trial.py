"""The trial runner: one profile on real components, measured or refused."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from tuner.engine.bulk_times import BulkWatch, bulk_tasks
from tuner.engine.client import EngineRefused
from tuner.engine.owned import remove
from tuner.engine.status import SILENCE_S, NodeSilent, answers, node_counters, unfinished
from tuner.errors import JobFailed, Refused, TuneError, Unreachable
from tuner.flood.flood import Flood
from tuner.flood.pace import fixed
from tuner.flood.spec import FloodProgress
from tuner.host.process import suspended, wait_until
from tuner.lab.copy import FILES
from tuner.lab.lab import Lab
from tuner.lab.nodes import NodeRefused
from tuner.lab.rsyslogd import RsyslogdDied
from tuner.lab.written import refusal_in, written_files
from tuner.measure.counters import Window
from tuner.measure.freshness import Freshness
from tuner.measure.measurement import (
    DoubtKind,
    Failure,
    FailureKind,
    Measurement,
    Outcome,
    RunFigures,
    StageClock,
    TrialPart,
    TrialPlan,
)
from tuner.measure.pipeline import Pipeline, pipeline
from tuner.measure.prepared import PreparedTrial
from tuner.measure.settle import after_loss, loss_of, settle
from tuner.measure.summary import Observed, summarise
from tuner.measure.watch import POLL_S, NodeLost, Stalled, Watch, saturate
from tuner.measure.window import MARK_S, Mark, Poll, is_flat, is_losing, kept_up, steadiness
from tuner.profile.model import Profile
from tuner.profile.objective import Objective
from tuner.profile.placement import backlog_marks

_FINISH_S = 10.0
_BLAME_S = 1.0
_IDLE_S = 5.0
# What is reported waits for its merges; of the many trials of a search none may take so long.
_MERGES_S = 120.0
_MERGES_OF_A_SEARCH_S = 15.0

R = TypeVar("R", bound=RunFigures)
Tell = Callable[[str], None]
Steer = Callable[[Sequence[Poll]], None]
"""What is done after each poll."""


def run_trial(prepared: PreparedTrial, plan: TrialPlan, tell: Tell) -> Outcome:
    """Measure what was prepared, on a fresh index.

    Whatever goes wrong with the candidate is a Failure; an engine that is gone raises Unreachable,
    because no further trial can succeed.
    """
    return in_pipeline(prepared, tell, lambda pipe, stages: _saturated(pipe, plan, stages))


def in_pipeline(
    prepared: PreparedTrial, tell: Tell, measure: Callable[[Pipeline, StageClock], R | Failure]
) -> R | Failure:
    """What `measure` gives in the pipeline of a trial, with the time that it took."""
    lab = prepared.lab
    lab.check()
    stages = StageClock(tell, prepared.since_s)
    outcome: R | Failure
    try:
        with pipeline(prepared) as pipe, stages.stopping():
            outcome = _with_words(measure(pipe, stages), pipe)
    except (JobFailed, Refused, Unreachable) as error:
        outcome = failure_of(error, lab, prepared.name)
    spent = stages.spent()
    return replace(outcome, total_s=spent.total_s, spent=spent)


def _with_words(outcome: R | Failure, pipe: Pipeline) -> R | Failure:
    """With the engine's own words, where events were lost because it refused them."""
    if not isinstance(outcome, Failure) or outcome.kind is not FailureKind.DELIVERY:
        return outcome
    refusal = refusal_in(pipe.stats.parent)
    words = "" if refusal is None else f"; the engine refused some: {refusal}"
    return replace(outcome, reason=f"{outcome.reason}{words}")


def _saturated(pipe: Pipeline, plan: TrialPlan, stages: StageClock) -> Outcome:
    """Flood the pipeline as fast as it takes it, and account for every event.

    The window goes from one refresh under load to another: an engine that refreshes seldom puts off
    the making of segments, and a short window would see little of it.
    """
    lab, client, profile = pipe.lab, pipe.client, pipe.profile
    is_idle = wait_until(lambda: not unfinished(client), _IDLE_S)
    carried = None if is_idle else str(unfinished(client))
    stores = lab.engine.stand_in is None
    begun_cpu_ms = node_counters(client, SILENCE_S).cpu_ms if stores else None
    with Flood(pipe.spec, lab.loads()) as flood:
        watch, freshness = Watch(pipe, flood), _freshness(pipe, plan)
        if freshness is not None:
            # It has a whole interval between refreshes.
            plan = replace(plan, window_s=max(plan.window_s, freshness.interval_s))
        steering = _steering(flood, profile, plan, freshness)
        try:
            stages.begin(TrialPart.WARM_UP, "warm-up")
            usual = watch.follow(plan.warm_up_s, steering)
            watch.refresh(steering)
            if plan.outage_s:
                stages.begin(TrialPart.WARM_UP, "outage")
            else:
                stages.begin(TrialPart.WINDOW, "window")
            # What events cost that come during an outage is part of what they cost.
            before = watch.counters()
            resumed = _outage(watch, usual[-1], plan.outage_s) if plan.outage_s else None
            if resumed is not None:
                stages.begin(TrialPart.WINDOW, "window")
            sampler = BulkWatch() if before.bulk is None else None
            samples = (
                _window(watch, plan, steering, sampler, stages)
                if resumed is None
                else (resumed, *_drained(watch, usual, plan))
            )
            # A refresh of ours would show events before those of the engine do.
            paying = watch.refresh(steering) if freshness is None else ()
            after = watch.counters()
            stages.begin(TrialPart.DRAIN, "drain")
            timeline = None if freshness is None else flood.timeline()
            final = finish(watch)
            if isinstance(final, Failure):
                return final
            if freshness is not None:
                freshness.await_all(watch, final)
            sampled = None if sampler is None else sampler.latency()
            merges_s = _MERGES_S if plan.awaits_counters else _MERGES_OF_A_SEARCH_S
            settled = settle(
                watch, final.events, merges_s=merges_s, await_counters=plan.awaits_counters
            )
            stages.begin(TrialPart.SETTLE, at_s=settled.drained_at_s)
            if (loss := watch.loss()) is not None:
                return loss_of(loss, settled.delivery)
        except (NodeLost, NodeSilent, Stalled, EngineRefused):
            wait_until(lambda: lab.loss() is not None, _BLAME_S)
            if (loss := watch.loss()) is None:
                raise
            stages.begin(TrialPart.DRAIN, "drain, after the loss of a node")
            final = finish(watch)
            return final if isinstance(final, Failure) else after_loss(watch, loss, final.events)
        window = Window(before, after, samples, paying, settled.snapshots, sampled)
        written = pipe.stats.parent / FILES
        observed = Observed(
            window=window,
            final=final,
            settled=settled,
            begun_cpu_ms=begun_cpu_ms,
            carried_over=carried,
            files=written_files(profile, written) if plan.reads_files else (),
            fresh=None if freshness is None else freshness.between(samples, timeline, final),
        )
        outcome = summarise(observed, pipe.prepared)
        return (
            outcome
            if isinstance(outcome, Failure)
            else for_objective(outcome, plan, kept_up(samples))
        )


# An engine that hung for long has much to do before it answers.
_ANSWERS_S = 60.0
# What is on its way at any moment, in seconds of traffic, beside what was so before the outage.
_ON_ITS_WAY_S = 0.25
# A backlog that lasts this many times the outage is not drained, at the rate that is offered.
_MOST_OUTAGES = 30.0


def _outage(watch: Watch, last: Poll, lasts_s: float) -> Poll:
    """Let the engine hang for so many seconds; what was indexed by the `last` poll before, and what
    was sent when it went on.  It works from then on, though it answers only later.  Raises Refused
    where it is not ours, Stalled where it does not answer again."""
    lab = watch.pipe.lab
    if not lab.engine.processes:
        raise Refused("an outage needs an engine that the lab started: leave --elasticsearch out")
    until_s = time.monotonic() + lasts_s
    with suspended(lab.engine.processes):
        while (left_s := until_s - time.monotonic()) > 0:
            watch.pipe.rsyslogd.check()
            time.sleep(min(POLL_S, left_s))
    resumed = Poll(time.monotonic(), last.indexed, watch.flood.progress().sent)
    if not wait_until(lambda: answers(lab.client), _ANSWERS_S):
        raise Stalled(f"the engine did not answer {_ANSWERS_S:.0f} s after an outage")
    return resumed


def _drained(watch: Watch, usual: Sequence[Poll], plan: TrialPlan) -> tuple[Poll, ...]:
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


_CARRIED = 0.95
# What a window at a rate of ours brings with it: one that lasts until a backlog is gone begins fast
# and ends when it ends, and one interval between refreshes shows how long events wait.
_EXPECTED = {
    Objective.DRAIN: {
        DoubtKind.SENDER_LIMITED, DoubtKind.UNSTEADY, DoubtKind.FEW_SAMPLES, DoubtKind.SHORT_WINDOW,
        DoubtKind.PACE_MISSED,
    },
    Objective.FRESHNESS: {DoubtKind.SENDER_LIMITED, DoubtKind.SHORT_WINDOW},
}  # fmt: skip


def for_objective(run: Measurement, plan: TrialPlan, per_second: float) -> Outcome:
    """The measurement as one of what its plan was for; a failure where it did not carry what was
    offered, but so many events `per_second`, or none of it was found."""
    objective = plan.objective
    made = replace(run, objective=objective)
    if plan.offered is None:
        return made
    if per_second < _CARRIED * plan.offered:
        reason = f"it carries {per_second:,.0f} of {plan.offered:,.0f} events per second"
        failure = Failure.of(FailureKind.GUARDRAIL, reason, run.delivery)
        return replace(failure, verdict=run.verdict)
    if objective is Objective.FRESHNESS and run.fresh_p99_s is None:
        return Failure.of(FailureKind.STALLED, "no search found its events", run.delivery)
    expected = _EXPECTED.get(objective, {DoubtKind.SENDER_LIMITED})
    doubts = (doubt for doubt in run.doubts if doubt.kind not in expected)
    return replace(made, doubts=tuple(doubts))


def _freshness(pipe: Pipeline, plan: TrialPlan) -> Freshness | None:
    """What shows when events are found, for a plan that is about that.  Raises JobFailed where
    nothing shows it."""
    if plan.objective is not Objective.FRESHNESS or plan.offered is None:
        return None
    freshness = Freshness(pipe, plan.offered)
    if not freshness.is_seen:
        raise JobFailed("nothing shows when its events are found: its index is never refreshed")
    return freshness


def _steering(
    flood: Flood, profile: Profile, plan: TrialPlan, freshness: Freshness | None
) -> Steer:
    """What to do after each poll: nothing to a pace that waits for nobody, but to look for what is
    found."""
    rate = plan.offered or profile.workload.rate
    if rate == "max":
        return saturate(flood, backlog_marks(profile))
    flood.follow(fixed(float(rate)))
    return (lambda _: None) if freshness is None else lambda _: freshness.look()


def _window(
    watch: Watch, plan: TrialPlan, steering: Steer, sampler: BulkWatch | None, stages: StageClock
) -> tuple[Poll, ...]:
    """The window: cut short where it is lost or the engine is warm, if the plan says so, and once
    longer where that makes it steady."""
    client, marks = watch.pipe.client, list[Mark]()

    def after_poll(samples: Sequence[Poll]) -> None:
        steering(samples)
        if sampler is not None:
            sampler.add(time.monotonic(), bulk_tasks(client, SILENCE_S))

    def enough(samples: Sequence[Poll]) -> bool:
        latest = samples[-1]
        if not plan.until_flat:
            return plan.loses_below is not None and is_losing(samples, plan.loses_below)
        if marks and latest.at_s - marks[-1].at_s < MARK_S:
            return False
        marks.append(Mark(latest.at_s, latest.indexed, node_counters(client, SILENCE_S).cpu_ms))
        return is_flat(marks)

    samples = watch.follow(plan.window_s, after_poll, enough)
    if plan.extension_s > 0 and not steadiness(samples).steady:
        stages.begin(TrialPart.WINDOW, "window, extended because the rate is not steady")
        samples += watch.follow(plan.extension_s, after_poll)
    return samples


_CUT_SHORT = (
    "a message was cut short: the receiver did not take the rest of it within seconds of the end"
)


def finish(watch: Watch) -> FloodProgress | Failure:
    """End the flood: how far it came, or why it cannot be trusted."""
    final = watch.flood.finish(_FINISH_S)
    if final.error is not None:
        watch.blame(final.error)
    if final.truncated:
        return Failure(FailureKind.FLOOD, _CUT_SHORT, sent=final.sent)
    return final


_KINDS: Mapping[type[TuneError], FailureKind] = {
    RsyslogdDied: FailureKind.RSYSLOGD,
    EngineRefused: FailureKind.ENGINE,
    NodeRefused: FailureKind.ENGINE_DOWN,
    NodeLost: FailureKind.ENGINE_DOWN,
    Stalled: FailureKind.STALLED,
    Unreachable: FailureKind.STALLED,
}


def failure_of(error: JobFailed | Refused | Unreachable, lab: Lab, name: str) -> Failure:
    """What went wrong with the candidate that ran as `name`.  An engine that is gone, and a profile
    that a lab refuses, are no fault of the candidate's: then it raises that again."""
    if isinstance(error, Refused):
        lab.check()
        raise error
    if isinstance(error, Unreachable):
        if not answers(lab.client):
            wait_until(lambda: lab.engine.ending() is not None, _BLAME_S)
            lab.check()
            raise error
        with contextlib.suppress(EngineRefused):
            remove(lab.client, lab.owner, f"{lab.owner.prefix}{name}-")
    return Failure(_KINDS.get(type(error), FailureKind.FLOOD), str(error))

"""The trial runner: one profile on real components, measured or refused."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from tuner.engine.bulk_sampling import BulkWatch, bulk_tasks
from tuner.engine.client import EngineRefused
from tuner.engine.counters import node_counters, unfinished
from tuner.engine.owned import remove
from tuner.engine.probe import SILENCE_S, answers
from tuner.errors import JobFailed, Refused, Unreachable
from tuner.flood.schedule import fixed
from tuner.flood.spec import FloodProgress
from tuner.flood.spread import Traffic, traffic
from tuner.flood.workload import flood_spec
from tuner.host.process import wait_until
from tuner.lab.lab import Lab
from tuner.lab.nodes import NodeRefused
from tuner.lab.rsyslogd import RsyslogdDied
from tuner.lab.written import WrittenFile, written_files
from tuner.measure.bottleneck import verdict_of
from tuner.measure.counters import Window
from tuner.measure.effective import effective
from tuner.measure.measurement import Failure, FailureKind, Outcome, RunFigures, TrialPlan
from tuner.measure.pipeline import Pipeline, pipeline
from tuner.measure.settle import after_loss, loss_of, settle
from tuner.measure.spent import StageClock, TrialPart
from tuner.measure.summary import Observed, core_use, summarise
from tuner.measure.watch import NodeLost, Stalled, Watch, saturate
from tuner.measure.window import MARK_S, Mark, Poll, is_flat, is_losing, steadiness
from tuner.profile.backlog import backlog_marks
from tuner.profile.model import Profile

_FINISH_S = 10.0
_BLAME_S = 1.0
_IDLE_S = 5.0
# What is reported waits for its merges; of the many trials of a search none may take so long.
_MERGES_S = 120.0
_MERGES_OF_A_SEARCH_S = 15.0

Tell = Callable[[str], None]
T = TypeVar("T")
Figures = TypeVar("Figures", bound=RunFigures)


def run_trial(lab: Lab, profile: Profile, plan: TrialPlan, name: str, tell: Tell) -> Outcome:
    """Measure `profile` in `lab` on a fresh index, under the name `name` (unique in the run).

    Whatever goes wrong with the candidate is a Failure; an engine that is gone raises Unreachable,
    because no further trial can succeed.
    """
    return measured(
        lab, profile, name, tell,
        lambda pipe, bound, stages: _SaturatedRun(lab, pipe, bound, plan, stages).measure(),
    )  # fmt: skip


def measured(
    lab: Lab,
    profile: Profile,
    name: str,
    tell: Tell,
    course: Callable[[Pipeline, Profile, StageClock], Figures | Failure],
) -> Figures | Failure:
    """What `course` measures, as in `guarded`, with the time that each of its stages took."""
    stages = StageClock(tell)

    def timed(pipe: Pipeline, bound: Profile) -> Figures | Failure:
        try:
            return course(pipe, bound, stages)
        finally:
            stages.begin(TrialPart.STOP)

    outcome = guarded(lab, profile, name, timed)
    spent = stages.spent()
    return replace(outcome, total_s=spent.total_s, spent=spent)


def guarded(
    lab: Lab, profile: Profile, name: str, course: Callable[[Pipeline, Profile], T]
) -> T | Failure:
    """What `course` makes of the running pipeline of `profile` and the profile as bound, or the
    Failure that ended it; the errors are those of `run_trial`."""
    lab.check()
    try:
        lab.engine.run_with(profile)
        bound = lab.bind(profile, name).profile
        with pipeline(lab, bound, name) as pipe:
            return course(pipe, bound)
    except Unreachable as error:
        if not answers(lab.client):
            wait_until(lambda: lab.engine.ending() is not None, _BLAME_S)
            lab.check()
            raise
        with contextlib.suppress(EngineRefused):
            remove(lab.client, lab.owner, f"{lab.owner.prefix}{name}-")
        return Failure(FailureKind.STALLED, str(error))
    except Refused:
        lab.check()
        raise
    except JobFailed as error:
        return Failure(_KINDS.get(type(error), FailureKind.FLOOD), str(error))


_KINDS: Mapping[type[JobFailed], FailureKind] = {
    RsyslogdDied: FailureKind.RSYSLOGD,
    EngineRefused: FailureKind.ENGINE,
    NodeRefused: FailureKind.ENGINE_DOWN,
    NodeLost: FailureKind.ENGINE_DOWN,
    Stalled: FailureKind.STALLED,
}


def finish(watch: Watch) -> FloodProgress | Failure:
    """End the flood: how far it came, or why it cannot be trusted."""
    final = watch.flood.finish(_FINISH_S)
    if final.error is not None:
        watch.blame(final.error)
    if final.truncated:
        return Failure(FailureKind.FLOOD, "a message was cut short", sent=final.sent)
    return final


@dataclass
class _SaturatedRun:
    """The course of one trial: warm-up, window, drain, delivery check.

    The window goes from one refresh under load to another: an engine that refreshes seldom puts off
    the making of segments, and a short window would see little of it.
    """

    lab: Lab
    pipe: Pipeline
    profile: Profile
    plan: TrialPlan
    stages: StageClock

    def measure(self) -> Outcome:
        """Flood the pipeline and account for every event."""
        load = self.profile.workload
        spec = flood_spec(self.profile, secrets.token_hex(4))
        carried = self._carried_over()
        stores = self.lab.engine.stand_in is None
        begun_cpu_ms = node_counters(self.lab.client, SILENCE_S).cpu_ms if stores else None
        with traffic(spec, self.lab.loads()) as flood:
            watch = Watch(self.lab, self.pipe, self.profile, flood)
            if load.rate != "max":
                flood.follow(fixed(float(load.rate)))
            try:
                return self._followed(watch, begun_cpu_ms, carried)
            except (NodeLost, Stalled, EngineRefused):
                wait_until(lambda: self.lab.loss() is not None, _BLAME_S)
                loss = watch.loss()
                if loss is None:
                    raise
            self.stages.begin(TrialPart.DRAIN, "drain, after the loss of a node")
            final = finish(watch)
            return final if isinstance(final, Failure) else after_loss(watch, loss, final.events)

    def _followed(self, watch: Watch, begun_cpu_ms: int | None, carried: str | None) -> Outcome:
        """The course of the flood that `watch` follows."""
        steering = self._steering(watch.flood)
        self.stages.begin(TrialPart.WARM_UP, "warm-up")
        watch.follow(self.plan.warm_up_s, steering)
        watch.refresh(steering)
        self.stages.begin(TrialPart.WINDOW, "window")
        before = watch.counters()
        sampler = BulkWatch() if before.bulk is None else None
        samples = self._window(watch, sampler)
        paying = watch.refresh(steering)
        after = watch.counters()
        self.stages.begin(TrialPart.DRAIN, "drain")
        final = finish(watch)
        if isinstance(final, Failure):
            return final
        sampled = sampler.latency() if sampler is not None else None
        window = Window(before, after, samples, paying, (), sampled)
        return self._account(watch, window, final, begun_cpu_ms, carried)

    def _window(self, watch: Watch, sampler: BulkWatch | None) -> tuple[Poll, ...]:
        """The window, once longer where that makes it steady."""
        steering = self._steering(watch.flood)

        def each(samples: Sequence[Poll]) -> None:
            steering(samples)
            if sampler is not None:
                sampler.see(time.monotonic(), bulk_tasks(self.lab.client, SILENCE_S))

        below = self.plan.loses_below
        marks: list[Mark] = []

        def enough(samples: Sequence[Poll]) -> bool:
            if self.plan.until_flat:
                return self._is_warm(samples[-1], marks)
            return below is not None and is_losing(samples, below)

        samples = watch.follow(self.plan.window_s, each, enough)
        if self.plan.extension_s > 0 and not steadiness(samples).steady:
            self.stages.begin(TrialPart.WINDOW, "window, extended because the rate is not steady")
            samples += watch.follow(self.plan.extension_s, each)
        return samples

    def _is_warm(self, latest: Poll, marks: list[Mark]) -> bool:
        """Whether the engine is warm, by the marks so far; makes another when it is time."""
        if marks and latest.at_s - marks[-1].at_s < MARK_S:
            return False
        cpu_ms = node_counters(self.lab.client, SILENCE_S).cpu_ms
        marks.append(Mark(latest.at_s, latest.indexed, cpu_ms))
        return is_flat(marks)

    def _steering(self, flood: Traffic) -> Callable[[Sequence[Poll]], None]:
        """What to do after each poll: nothing to a pace that waits for nobody."""
        if self.profile.workload.rate != "max":
            return lambda _: None
        return saturate(flood, backlog_marks(self.profile))

    def _carried_over(self) -> str | None:
        """What the engine still does for others, after it had `_IDLE_S` to end it."""
        client = self.lab.client
        if wait_until(lambda: not unfinished(client), _IDLE_S):
            return None
        return str(unfinished(client))

    def _account(
        self,
        watch: Watch,
        polled: Window,
        final: FloodProgress,
        begun_cpu_ms: int | None,
        carried: str | None,
    ) -> Outcome:
        thorough = self.plan.awaits_counters
        merges_s = _MERGES_S if thorough else _MERGES_OF_A_SEARCH_S
        settled = settle(watch, final.events, merges_s=merges_s, await_counters=thorough)
        self.stages.begin(TrialPart.SETTLE, at_s=settled.drained_at_s)
        if (loss := watch.loss()) is not None:
            return loss_of(loss, settled.delivery)
        window = replace(polled, snapshots=settled.snapshots)
        observed = Observed(
            window=window,
            final=final,
            settled=settled,
            effective=effective(window, self.profile),
            core_use=core_use(window, self.lab),
            begun_cpu_ms=begun_cpu_ms,
            carried_over=carried,
            verdict=verdict_of(window, self.lab, self.profile),
            files=self._files(watch.flood.spec.run_id),
        )
        return summarise(observed, self.profile)

    def _files(self, run_id: str) -> tuple[WrittenFile, ...]:
        """What outputs wrote into files, if the plan asks for it."""
        return written_files(self.profile, f"run={run_id} ") if self.plan.reads_files else ()

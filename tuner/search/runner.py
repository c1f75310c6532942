"""The trials that a search makes, one at a time on each machine."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from tuner.measure.measurement import Failure, FailureKind, TrialPlan
from tuner.profile.objective import Objective
from tuner.search import notes
from tuner.search.budget import check_rate
from tuner.search.calibration import required
from tuner.search.farm import DroppedMachine, LostTrial, Machines, Setup, Task, Work
from tuner.search.forecast import Forecast
from tuner.search.study import BASELINE, Asked, Changes, Note, Phase, Step, Trial

_DEADLY = Failure(
    FailureKind.ENGINE_DOWN, "the search ended twice while it was measured: it is not tried again"
)
_DEADLY_TO_MACHINES = Failure(
    FailureKind.ENGINE_DOWN, "two machines were lost while it was measured: it is not tried again"
)
_MOST_LOST = 2
# A machine that carries less than this part of what the others do is left out.
_TOO_SLOW = 3.0


@dataclass
class Runner:
    """Makes trials, and keeps them with those of the sessions before."""

    setup: Setup
    trials: list[Trial] = field(default_factory=list, init=False)
    machines: Machines = field(init=False)
    forecast: Forecast = field(init=False)
    _lost: Counter[Changes] = field(init=False)
    _next: int = field(init=False)

    def __post_init__(self) -> None:
        setup = self.setup
        self._lost = Counter(setup.record.lost)
        self.machines = Machines(
            setup.farm,
            setup.used_s,
            lambda asked: setup.candidates.profile(
                setup.candidates.repairs if asked.repaired else asked.changes
            ),
            setup.begins,
            setup.ended,
            self._refusal,
            self._longest_s,
        )
        self.forecast = Forecast(setup, self.trials, self.machines)
        for trial in setup.record.study.trials:
            self.forecast.learn(trial)
        # The first trial after the warm-up of each machine is 0.
        numbers = [trial.number for trial in setup.record.study.trials]
        self._next = max(numbers) + 1 if numbers else -len(self.machines.names)

    @property
    def is_repaired(self) -> bool:
        """Whether the baseline is the profile with its repairs: as written, it lost events."""
        return bool(self.setup.candidates.repairs) and any(
            trial.lost_as_written for trial in self.trials
        )

    @property
    def baseline(self) -> str:
        """What candidates are compared with."""
        return "the profile with its repairs" if self.is_repaired else "the profile as written"

    @property
    def under_way(self) -> tuple[Changes, ...]:
        """The points of the trials that have not ended."""
        return tuple(asked.changes for asked in self.machines.under_way)

    def of(self, phase: Phase) -> list[Trial]:
        """The trials of a phase, of whatever session."""
        return [trial for trial in self.trials if trial.phase is phase]

    def run(
        self,
        next_task: Callable[[str], Task | None],
        *,
        again: bool = True,
        until_s: Callable[[], float] = lambda: math.inf,
    ) -> Iterator[Step]:
        """Keep every machine busy, as `Machines.run` does: what ended, as it ends, and what to say
        of it."""
        for event in self.machines.run(next_task, again=again, until_s=until_s):
            match event:
                case Trial():
                    self.forecast.learn(event)
                    yield event
                case Note():
                    yield event
                case LostTrial():
                    self._lost[event.asked.changes] += 1
                    yield self.note(notes.lost(event))
                case DroppedMachine():
                    yield self._dropped(event)

    def note(self, text: str) -> Note:
        """Something to say at this moment."""
        return Note(text, self.machines.now_s())

    def _dropped(self, event: DroppedMachine) -> Note:
        return self.note(notes.dropped(event, len(self.machines.names)))

    def trial(self, asked: Asked) -> Work:
        """Make a trial, under a number of its own."""
        number, self._next = self._next, self._next + 1
        asked = replace(asked, plan=self._for_objective(asked))
        repaired = asked.changes == BASELINE and self.is_repaired
        return (yield replace(asked, number=number, repaired=repaired))

    def _for_objective(self, asked: Asked) -> TrialPlan:
        """The plan of a trial that is to show what the search is for; those that get a machine
        warm, and both sides of a check, have rates of their own."""
        options = self.setup.header.options
        objective = options.objective
        if asked.phase in {Phase.WARM_UP, Phase.CHECK}:
            return asked.plan
        outage_s = options.outage_s if objective is Objective.DRAIN else 0.0
        offered = self.rate if objective.facts.at_rate else None
        losing = asked.plan.loses_below if objective is Objective.EPS else None
        return replace(
            asked.plan,
            objective=objective,
            offered=offered,
            loses_below=losing,
            outage_s=outage_s,
        )

    @property
    def rate(self) -> float:
        """The events per second at which settings are compared: what was asked for, else well below
        what the profile as written carried on each machine while it got warm."""
        begun = next((trial.plan.offered for trial in self.trials if trial.plan.offered), None)
        warm = [trial.measurement for trial in self.of(Phase.WARM_UP)]
        carried = [run.eps_paid for run in warm if run is not None]
        return self.setup.header.options.rate or begun or check_rate(carried)

    def persistently(self, ask: Callable[[], Asked]) -> Work:
        """Make a trial, and once more where it failed in passing, or with its repairs where the
        profile lost events as written; returns the last."""
        asked = ask()
        trial = yield from self.trial(asked)
        if trial.is_transient:
            yield self.note(notes.repeating(trial))
            trial = yield from self.trial(replace(asked, why=f"{asked.why}, repeated"))
        if trial.lost_as_written and self.is_repaired:
            yield self.note(notes.repaired(trial))
            trial = yield from self.persistently(ask)
        return trial

    def required(self, phase: Phase, plan: TrialPlan, machine: str) -> Work:
        """The baseline, which must be measured: a machine that fails to, or is far slower than the
        others, is dropped, unless it is the only one."""

        def ask() -> Asked:
            why = "warm-up, not scored" if phase is Phase.WARM_UP else self.baseline
            return Asked(0, phase, BASELINE, why, plan)

        trial = yield from self.persistently(ask)
        reason = self._slowness(machine)
        if isinstance(trial.outcome, Failure):
            reason = f"cannot measure {self.baseline}: {trial.outcome}"
        if reason is not None and len(self.machines.names) > 1:
            yield self._dropped(self.machines.drop(machine, reason))
        else:
            required(trial)
        return trial

    def _slowness(self, machine: str) -> str | None:
        """How much slower a machine runs the baseline than those that are used beside it; None
        where that is no reason to leave it out."""
        rates: dict[str, list[float]] = {}
        for trial in self.trials:
            if trial.phase in {Phase.WARM_UP, Phase.CALIBRATE} and trial.measurement is not None:
                rates.setdefault(trial.machine, []).append(trial.measurement.eps_paid)
        medians = {name: statistics.median(machine_rates) for name, machine_rates in rates.items()}
        rate = medians.pop(machine, None)
        beside = [rate for name, rate in medians.items() if name in self.machines.names]
        if rate is None or not beside or (usual := statistics.median(beside)) < _TOO_SLOW * rate:
            return None
        return (
            f"it carries {rate:,.0f} EPS where the others carry {usual:,.0f}, and would hold them "
            "up"
        )

    def until_late_s(self, phase: Phase) -> float:
        """Until when by the clock the machines that are done with a phase wait for the others: half
        of them at least, for as long as the longest of its trials took."""
        busy = {asked.machine for asked in self.machines.under_way}
        idle = [name for name in self.machines.names if name not in busy]
        done = [trial for trial in self.of(phase) if trial.machine in idle]
        if not done or len(idle) < len(busy):
            return math.inf
        longest_s = max(trial.ended_s - trial.at_s for trial in done)
        return max(trial.ended_s for trial in done) + longest_s

    def _longest_s(self, asked: Asked) -> float:
        return self.forecast.longest_s(asked)

    def _refusal(self, asked: Asked) -> Failure | None:
        """Why a point is not measured any more; of one that was measured it is known that it costs
        no machine."""
        if asked.changes in self.setup.record.deadly:
            return _DEADLY
        if self._lost[asked.changes] < _MOST_LOST or asked.changes == BASELINE:
            return None
        measured = any(
            trial.changes == asked.changes and not isinstance(trial.outcome, Failure)
            for trial in self.trials
        )
        return None if measured else _DEADLY_TO_MACHINES

    def pair_order(
        self, phase: Phase, before: Changes, after: Changes, machine: str
    ) -> list[Changes]:
        """Which side of the next pair runs first: by chance; where the engine must restart between
        the sides, the one that ran last, so that each follows a restart as often as the other."""
        order = [before, after]
        self.setup.rng.shuffle(order)
        ran = [trial for trial in self.trials if trial.machine == machine]
        if ran and ran[-1].phase is phase:
            last = self.setup.candidates.node_part(ran[-1].changes)
            order.sort(key=lambda side: self.setup.candidates.node_part(side) != last)
        return order

    def pairing(self, winner: Changes) -> tuple[str, ...]:
        """The machines that measure the pairs of a point."""
        return self.machines.names[: self.forecast.at_once(winner)]

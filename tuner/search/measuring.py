"""The trials that a search makes, one at a time on each machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tuner.measure.measurement import Failure, FailureKind, Measurement, TrialPlan
from tuner.profile.model import Profile
from tuner.search import notes
from tuner.search.budget import trial_seconds
from tuner.search.crew import Crew, DroppedMachine, Piece, Work
from tuner.search.farm import LostTrial
from tuner.search.guardrails import check_plan
from tuner.search.setup import Setup
from tuner.search.study import BASELINE, Asked, Changes, Note, Phase, Step, Trial
from tuner.space.knob import Cost

_DEADLY = Failure(
    FailureKind.ENGINE_DOWN, "the search ended twice while it was measured: it is not tried again"
)
_DEADLY_TO_MACHINES = Failure(
    FailureKind.ENGINE_DOWN, "two machines were lost while it was measured: it is not tried again"
)
_MOST_LOST = 2


@dataclass
class Measuring:
    """Makes trials, and keeps them with those of the sessions before."""

    setup: Setup
    trials: list[Trial] = field(init=False)
    crew: Crew = field(init=False)
    _lost: Counter[Changes] = field(init=False)
    _next: int = field(init=False)
    _overheads_s: list[tuple[bool, float]] = field(default_factory=list)
    _restarts_s: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        setup = self.setup
        self.trials, self._lost = [], Counter(setup.lost)
        for trial in setup.known:
            self._keep(trial)
        self.crew = Crew(
            setup.farm, setup.clock, self._candidate, setup.begins, setup.ended, self._refusal
        )
        # The first trial after the warm-up of each machine is 0.
        numbers = [one.number for one in setup.known]
        self._next = max(numbers) + 1 if numbers else -len(self.machines)

    @property
    def is_repaired(self) -> bool:
        """Whether the baseline is the profile with its repairs: as written, it lost events."""
        return bool(self.setup.repairs) and any(one.lost_as_written for one in self.trials)

    @property
    def baseline(self) -> str:
        """What candidates are compared with."""
        return "the profile with its repairs" if self.is_repaired else "the profile as written"

    @property
    def machines(self) -> tuple[str, ...]:
        """Those that take trials."""
        return self.crew.machines

    @property
    def under_way(self) -> tuple[Changes, ...]:
        """The points of the trials that have not ended."""
        return tuple(one.changes for one in self.crew.under_way)

    def spread(self, take: Callable[[str], Piece | None], *, again: bool = True) -> Iterator[Step]:
        """Keep every machine busy with the pieces of work that it can `take`, until none is left; a
        piece that is lost is done `again`."""
        for event in self.crew.spread(take, again=again):
            match event:
                case Trial():
                    self._keep(event)
                    yield event
                case Note():
                    yield event
                case LostTrial():
                    self._lost[event.asked.changes] += 1
                    yield self.note(notes.lost(event))
                case DroppedMachine():
                    yield self.note(notes.dropped(event, len(self.machines)))

    def dropped(self, machine: str, reason: str) -> Note:
        """Use a machine no more; raises Unreachable where it was the last."""
        return self.note(notes.dropped(self.crew.drop(machine, reason), len(self.machines)))

    def trial(
        self, phase: Phase, changes: Changes, plan: TrialPlan, why: str, pair: int | None = None
    ) -> Work:
        """Measure a point."""
        repaired = changes == BASELINE and self.is_repaired
        return (yield Asked(self._number(), phase, changes, why, plan, pair, repaired=repaired))

    def persistently(self, run: Callable[[str], Work]) -> Work:
        """Run, and once more where the first run failed in passing, or with its repairs where the
        profile lost events as written; returns the last.  `run` is given what to add to why it is
        made."""
        trial = yield from run("")
        if trial.is_transient:
            yield self.note(notes.repeating(trial))
            trial = yield from run(", repeated")
        if trial.lost_as_written and self.is_repaired:
            yield self.note(notes.repaired(trial))
            trial = yield from self.persistently(run)
        return trial

    def check(self, changes: Changes, per_second: float, why: str) -> Work:
        """Run a point at a fixed rate (events a second)."""
        plan = check_plan(self.setup.candidate(changes))
        repaired = changes == BASELINE and self.is_repaired
        number = self._number()
        return (
            yield Asked(
                number, Phase.CHECK, changes, why, plan, per_second=per_second, repaired=repaired
            )
        )

    def note(self, text: str) -> Note:
        """Something to say at this moment."""
        return Note(text, self.crew.now_s())

    def _candidate(self, asked: Asked) -> Profile:
        return self.setup.candidate(self.setup.repairs if asked.repaired else asked.changes)

    def _number(self) -> int:
        self._next += 1
        return self._next - 1

    def _refusal(self, asked: Asked) -> Failure | None:
        """Why a point is not measured any more; of one that was measured it is known that it costs
        no machine."""
        if asked.changes in self.setup.deadly:
            return _DEADLY
        if self._lost[asked.changes] < _MOST_LOST or asked.changes == BASELINE:
            return None
        measured = any(
            one.changes == asked.changes and not isinstance(one.outcome, Failure)
            for one in self.trials
        )
        return None if measured else _DEADLY_TO_MACHINES

    def of(self, phase: Phase) -> list[Trial]:
        """The trials of a phase, of whatever session."""
        return [trial for trial in self.trials if trial.phase is phase]

    def _keep(self, trial: Trial) -> None:
        """Keep a trial, what it took beside its warm-up and window, with whether it was of the
        profile as written, and what the restart before it took."""
        if (overhead_s := self.own_overhead_s(trial)) is not None:
            self._overheads_s.append((trial.changes == BASELINE, overhead_s))
        turns = self._node_part(self._last_on(trial.machine)) != self._node_part(trial.changes)
        spent, failed = trial.outcome.spent, isinstance(trial.outcome, Failure)
        # Each session starts an engine of its own, and one that refused was started twice.
        if turns and trial.phase is not Phase.WARM_UP and spent is not None and not failed:
            self._restarts_s.append(spent.restart_s)
        self.trials.append(trial)

    def own_overhead_s(self, trial: Trial) -> float | None:
        """What a whole trial took beside its warm-up and window; None of others."""
        if not isinstance(trial.outcome, Measurement) or trial.plan.loses_below is not None:
            return None
        return max(0.0, trial.outcome.total_s - trial_seconds(trial.plan, 0.0, self.setup.pace))

    def _last_on(self, machine: str) -> Changes:
        """What a machine measured last."""
        return next((t.changes for t in reversed(self.trials) if t.machine == machine), BASELINE)

    def _node_part(self, changes: Changes) -> Changes:
        restarting = {knob.path for knob in self.setup.knobs if knob.cost is Cost.NODE_RESTART}
        return tuple(one for one in changes if one[0] in restarting)

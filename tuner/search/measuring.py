"""The trials that a search makes, one at a time on each machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tuner.measure.measurement import Failure, Measurement, TrialPlan
from tuner.profile.model import Profile
from tuner.search import notes
from tuner.search.budget import trial_seconds
from tuner.search.crew import Crew, DroppedMachine, Piece, Work
from tuner.search.farm import LostTrial
from tuner.search.guardrails import check_plan
from tuner.search.setup import Setup
from tuner.search.study import BASELINE, Asked, Changes, Note, Phase, Step, Trial
from tuner.space.knob import Cost


@dataclass
class Measuring:
    """Makes trials, and keeps what they took."""

    setup: Setup
    trials: list[Trial] = field(default_factory=list)
    crew: Crew = field(init=False)
    _started: int = 0
    _first_number: int | None = None
    _overheads_s: list[tuple[bool, float]] = field(default_factory=list)
    _restarts_s: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.crew = Crew(self.setup.evaluator, self._candidate)

    @property
    def is_repaired(self) -> bool:
        """Whether the baseline is the profile with its repairs: as written, it lost events."""
        made = (*self.setup.prior, *self.trials)
        return bool(self.setup.repairs) and any(one.lost_as_written for one in made)

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
        trial = yield Asked(self._number(), phase, changes, why, plan, pair, repaired=repaired)
        if isinstance(trial.outcome, Measurement) and plan.loses_below is None:
            planned_s = trial_seconds(plan, 0.0, self.setup.pace)
            overhead_s = max(0.0, trial.outcome.total_s - planned_s)
            self._overheads_s.append((changes == BASELINE, overhead_s))
        return trial

    def persistently(self, run: Callable[[str], Work]) -> Work:
        """Run, and once more where a hiccup made the first run fail, or with its repairs where the
        profile lost events as written; returns the last.  `run` is given what to add to why it is
        made."""
        trial = yield from run("")
        if trial.is_hiccup:
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
        return Note(text, self.setup.clock())

    def _candidate(self, asked: Asked) -> Profile:
        return self.setup.candidate(self.setup.repairs if asked.repaired else asked.changes)

    def _number(self) -> int:
        """Numbers count up, so that the first trial after the warm-up of each machine is 0."""
        if self._first_number is None:
            known = [one.number for one in self.setup.prior]
            self._first_number = max(known) + 1 if known else -len(self.machines)
        self._started += 1
        return self._first_number + self._started - 1

    def _keep(self, trial: Trial) -> None:
        turns = self._node_part(self._last_on(trial.machine)) != self._node_part(trial.changes)
        # An engine that refused was started twice.
        if turns and trial.outcome.spent is not None and not isinstance(trial.outcome, Failure):
            self._restarts_s.append(trial.outcome.spent.restart_s)
        self.trials.append(trial)

    def _last_on(self, machine: str) -> Changes:
        """What a machine measured last."""
        return next((t.changes for t in reversed(self.trials) if t.machine == machine), BASELINE)

    def _node_part(self, changes: Changes) -> Changes:
        restarting = {knob.path for knob in self.setup.knobs if knob.cost is Cost.NODE_RESTART}
        return tuple(one for one in changes if one[0] in restarting)

"""Resuming a search: the trials of its journal are taken over, those after them are measured.

A search decides by its seed, the outcomes of its trials and the time.  The time it is shown stands
still between trials, so that the journal holds all it ever saw: from the same it decides the same,
and a search that was ended continues where it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tuner.errors import JobFailed
from tuner.measure.measurement import Failure, FailureKind
from tuner.measure.metrics import Result
from tuner.profile.model import Profile
from tuner.search.journal import Journal
from tuner.search.record import Record, RecordedTrial
from tuner.search.study import BASELINE, Asked, Ending, Note, Phase, Session, Study, Trial

_DEADLY = Failure(
    FailureKind.ENGINE_DOWN, "the search ended twice while it was measured: it is not tried again"
)


class Diverged(RuntimeError):
    """A resumed search asks for another trial than it did before, as after an upgrade of numpy."""


@dataclass
class Replay:
    """What a search asks for trials and for the time; everything measured goes into the journal.

    `measure` runs a trial and `clock` gives the seconds used, those of earlier sessions included.
    With `warms` a session that resumes begins with the search's own warm-up, which it does not see.
    """

    record: Record
    journal: Journal
    session: Session
    measure: Callable[[Asked, Profile], Result]
    clock: Callable[[], float]
    warms: bool = True
    _taken: int = 0
    _is_live: bool = False
    _seen_s: float = 0.0
    _first: tuple[Asked, Profile] | None = None
    _phase: Phase | None = None
    _trials: list[Trial] = field(init=False)
    _notes: list[Note] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._trials = list(self.record.study.trials)
        self._seen_s = self.record.began_s or 0.0

    @property
    def is_taking_over(self) -> bool:
        """Whether the next trial is one of the journal."""
        return self._taken < len(self.record.steps)

    def now_s(self) -> float:
        """The time as the search sees it: when its last trial ended, or when this session was ready
        to continue from there."""
        self._be_ready()
        return self._seen_s

    def evaluate(self, asked: Asked, profile: Profile) -> Trial:
        """The trial asked for; raises Diverged where the journal holds another one."""
        if self.is_taking_over:
            if self._first is None:
                self._first = asked, profile
            elif asked.changes == BASELINE:
                self._first = replace(self._first[0], repaired=asked.repaired), profile
            return self._take_over(self.record.steps[self._taken], asked)
        self._be_ready()
        if asked.phase is not self._phase:
            self.journal.phase(asked.phase, self.clock())
            self._phase = asked.phase
        trial = self._measured(asked, profile)
        self.journal.trial(trial)
        self._trials.append(trial)
        self._seen_s = trial.ended_s
        return trial

    def note(self, note: Note) -> None:
        """Keep a note of the search; those from before are in the journal already."""
        if not self.is_taking_over:
            self._be_ready()
            self.journal.note(note)
        self._notes.append(note)

    def begin_anew(self) -> None:
        """Give up to repeat the decisions of the journal: its trials are what a search that begins
        now, with what is left of the budget, learns from."""
        self.record = self.record.anew()
        study = self.record.study
        self.session = replace(self.session, anew=True)
        self._taken, self._first, self._phase = 0, None, None
        self._trials, self._notes = list(study.trials), list(study.notes)

    def require_all_taken(self) -> None:
        """Raise Diverged where the search ended before the journal does."""
        if self.is_taking_over:
            after = self.record.steps[self._taken].trial
            raise Diverged(f"the resumed search ends where the journal holds {after.asked}")

    def study(self, ending: Ending, reason: str = "") -> Study:
        """All that is known, with how it ended and, if it failed, why."""
        before = replace(self.record.study, ending=ending, reason=reason)
        if not self._is_live:
            return before
        return replace(
            before,
            trials=tuple(self._trials),
            notes=tuple(self._notes),
            sessions=(*before.sessions, self.session),
        )

    def _take_over(self, step: RecordedTrial, asked: Asked) -> Trial:
        if asked != step.trial.asked:
            raise Diverged(
                f"the resumed search asks for {asked}, {asked.plan}, where the journal holds "
                f"{step.trial.asked}, {step.trial.plan}"
            )
        self._taken += 1
        self._seen_s = step.seen_s
        self._phase = asked.phase
        return step.trial

    def _be_ready(self) -> None:
        """Begin to measure, once nothing is left to take over."""
        if self._is_live or self.is_taking_over:
            return
        self._is_live = True
        self._seen_s = self.clock()
        taken_over = self._taken + len(self.record.prior)
        self.session = replace(self.session, taken_over=taken_over, at_s=self._seen_s)
        self.journal.session(self.session)
        if self.warms and self._first is not None and self._first[0].phase is Phase.WARM_UP:
            self._warm_up(*self._first)

    def _warm_up(self, first: Asked, profile: Profile) -> None:
        trial = self._measured(replace(first, why="warm-up after resuming, not scored"), profile)
        self.journal.warmed(trial)
        self._trials.append(trial)
        self._seen_s = trial.ended_s
        # One that lost events made the engine warm as well, and the runs that count will show it.
        if isinstance(trial.outcome, Failure) and trial.outcome.kind is not FailureKind.DELIVERY:
            raise JobFailed(f"the profile can no longer be measured: {trial.outcome}")

    def _measured(self, asked: Asked, profile: Profile) -> Trial:
        self.journal.intent(asked, self.clock())
        is_deadly = asked.changes in self.record.deadly
        outcome = _DEADLY if is_deadly else self.measure(asked, profile)
        return Trial.of(asked, outcome, self._seen_s, self.clock())

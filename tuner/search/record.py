"""What the lines of a journal say: the study so far, and all that its search needs to continue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tuner.search.study import (
    BASELINE,
    Asked,
    Changes,
    Ending,
    Header,
    Note,
    Phase,
    Session,
    Study,
    Trial,
)


@dataclass(frozen=True)
class Began:
    """The search enters a phase."""

    phase: Phase
    at_s: float


@dataclass(frozen=True)
class Intent:
    """A trial is about to run."""

    asked: Asked
    at_s: float


@dataclass(frozen=True)
class Warmed:
    """A run of the first trial again, which got the engine warm in a session that resumed."""

    trial: Trial


@dataclass(frozen=True)
class Ended:
    """The search ended, or a session of it did; `reason` is why it failed, if it did."""

    ending: Ending
    at_s: float
    reason: str = ""


Line = Session | Began | Intent | Trial | Warmed | Note | Ended
"""What follows the header."""


@dataclass(frozen=True)
class RecordedTrial:
    """A trial of the search, and the time it saw afterwards: when it ended, or when a later session
    was ready to continue from there."""

    trial: Trial
    seen_s: float


@dataclass(frozen=True)
class Record:
    """A study with what its search saw: the time at its start (None: it has not begun), the trials,
    and how many seconds of the budget are used.  From `prior` trials it learns, whose decisions it
    could not repeat.  At `deadly` points it ended twice in a row while they were measured."""

    study: Study
    began_s: float | None
    steps: tuple[RecordedTrial, ...]
    spent_s: float
    prior: tuple[Trial, ...] = ()
    deadly: frozenset[Changes] = frozenset()

    def anew(self) -> Record:
        """That of a search that begins anew and learns from all trials so far."""
        trials = tuple(map(_earlier, self.study.trials))
        study = replace(self.study, trials=trials)
        prior = (*self.prior, *(_earlier(step.trial) for step in self.steps))
        return Record(study, None, (), self.spent_s, prior, self.deadly)


def record_of(header: Header, lines: Sequence[Line]) -> Record:
    """The record that the lines of a journal make."""
    so_far = _Lines(header)
    for line in lines:
        so_far.add(line)
    return so_far.record()


@dataclass
class _Lines:
    """The lines of a journal so far."""

    header: Header
    began_s: float | None = None
    spent_s: float = 0.0
    ending: Ending = Ending.INTERRUPTED
    reason: str = ""
    steps: list[RecordedTrial] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    notes_kept: int = 0
    prior: list[Trial] = field(default_factory=list)
    begun: Changes = BASELINE
    deaths: Counter[Changes] = field(default_factory=Counter)

    def add(self, line: Line) -> None:
        match line:
            case Session():
                self._session(line)
            case Trial():
                self.begun = BASELINE
                del self.deaths[line.changes]
                self.trials.append(line)
                self.steps.append(RecordedTrial(line, line.ended_s))
                self.notes_kept = len(self.notes)
            case Intent():
                self.begun = line.asked.changes
            case Warmed():
                self.trials.append(line.trial)
                self._saw(line.trial.ended_s)
            case Note():
                self.notes.append(line)
            case Ended():
                self.ending, self.reason = line.ending, line.reason
                if line.ending is Ending.INTERRUPTED:
                    self.begun = BASELINE
            case Began():
                pass
        self.spent_s = max(self.spent_s, _at_s(line))

    def _session(self, session: Session) -> None:
        """Another session decides again what follows the last trial: its notes are void."""
        self.sessions.append(session)
        # The one before it may have ended in a trial, by whatever but a signal to the tool.
        self.deaths[self.begun] += 1
        self.begun = BASELINE
        self.ending, self.reason = Ending.INTERRUPTED, ""
        if session.anew:
            self.prior += [_earlier(step.trial) for step in self.steps]
            self.trials = list(map(_earlier, self.trials))
            self.steps, self.notes_kept = [], len(self.notes)
        del self.notes[self.notes_kept :]
        self._saw(session.at_s)

    def _saw(self, at_s: float) -> None:
        if self.steps:
            self.steps[-1] = RecordedTrial(self.steps[-1].trial, at_s)
        else:
            self.began_s = at_s

    def record(self) -> Record:
        """All of it."""
        deaths = self.deaths + Counter([self.begun])
        study = Study(
            self.header,
            tuple(self.trials),
            self.ending,
            tuple(self.notes),
            tuple(self.sessions),
            self.reason,
        )
        deadly = {point for point, often in deaths.items() if often > 1} - {BASELINE}
        return Record(
            study, self.began_s, tuple(self.steps), self.spent_s, tuple(self.prior),
            frozenset(deadly),
        )  # fmt: skip


def _earlier(trial: Trial) -> Trial:
    """A trial as a search that began anew sees it: no pair of its confirmation, and no choice."""
    is_same = trial.phase in (Phase.WARM_UP, Phase.CHECK)
    return trial if is_same else replace(trial, phase=Phase.EARLIER)


def _at_s(line: Line) -> float:
    match line:
        case Trial():
            return line.ended_s
        case Warmed():
            return line.trial.ended_s
        case _:
            return line.at_s

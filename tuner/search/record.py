"""What the lines of a journal say: the study so far, and all that its search needs to continue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tuner.search.farm import LostTrial
from tuner.search.study import (
    BASELINE,
    HERE,
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


Line = Session | Began | Intent | Trial | LostTrial | Warmed | Note | Ended
"""What follows the header."""


@dataclass(frozen=True)
class RecordedStep:
    """What became of a trial of the search, and what it saw afterwards: the time, its machines, and
    the number of the session.  All are of a later session where one was ready to continue from
    there, because it `was_last` of its own."""

    event: Trial | LostTrial
    seen_s: float
    machines: tuple[str, ...]
    session: int
    was_last: bool = False


@dataclass(frozen=True)
class Record:
    """A study with what its search saw: the time at its start (None: it has not begun) with its
    machines, the trials, and how many seconds of the budget are used.  From `prior` trials it
    learns, whose decisions it could not repeat.  At `deadly` points it ended twice in a row while
    they were measured."""

    study: Study
    began_s: float | None
    machines: tuple[str, ...]
    steps: tuple[RecordedStep, ...]
    spent_s: float
    prior: tuple[Trial, ...] = ()
    deadly: frozenset[Changes] = frozenset()

    @property
    def trials(self) -> tuple[Trial, ...]:
        """The trials that its search takes over."""
        return tuple(step.event for step in self.steps if isinstance(step.event, Trial))

    def anew(self) -> Record:
        """That of a search that begins anew and learns from all trials so far."""
        trials = tuple(map(_earlier, self.study.trials))
        study = replace(self.study, trials=trials)
        prior = (*self.prior, *map(_earlier, self.trials))
        return Record(study, None, self.machines, (), self.spent_s, prior, self.deadly)


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
    machines: tuple[str, ...] = (HERE,)
    spent_s: float = 0.0
    ending: Ending = Ending.INTERRUPTED
    reason: str = ""
    steps: list[RecordedStep] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    notes_kept: int = 0
    prior: list[Trial] = field(default_factory=list)
    begun: dict[int, Changes] = field(default_factory=dict)
    deaths: Counter[Changes] = field(default_factory=Counter)

    def add(self, line: Line) -> None:
        match line:
            case Session():
                self._session(line)
            case Trial():
                del self.deaths[line.changes]
                self.trials.append(line)
                self._step(line, line.number, line.ended_s)
            case LostTrial():
                self._step(line, line.asked.number, line.at_s)
            case Intent():
                self.begun[line.asked.number] = line.asked.changes
            case Warmed():
                self.begun.pop(line.trial.number, None)
                self.trials.append(line.trial)
                self._saw(line.trial.ended_s)
            case Note():
                self.notes.append(line)
            case Ended():
                self.ending, self.reason = line.ending, line.reason
                if line.ending is Ending.INTERRUPTED:
                    self.begun.clear()
            case Began():
                pass
        self.spent_s = max(self.spent_s, _at_s(line))

    def _step(self, event: Trial | LostTrial, number: int, seen_s: float) -> None:
        self.begun.pop(number, None)
        machines = self.sessions[-1].machines if self.sessions else self.machines
        self.steps.append(RecordedStep(event, seen_s, machines, len(self.sessions)))
        self.notes_kept = len(self.notes)

    def _session(self, session: Session) -> None:
        """Another session decides again what follows the last trial: its notes are void."""
        self.sessions.append(session)
        self.deaths.update(self._suspects())
        self.begun.clear()
        self.ending, self.reason = Ending.INTERRUPTED, ""
        if session.anew:
            self.prior += [
                _earlier(one.event) for one in self.steps if isinstance(one.event, Trial)
            ]
            self.trials = list(map(_earlier, self.trials))
            self.steps, self.notes_kept = [], len(self.notes)
        del self.notes[self.notes_kept :]
        self._saw(session.at_s)

    def _suspects(self) -> list[Changes]:
        """The point that may have ended a session: the one under way then, ended by whatever but a
        signal to the tool; of several, on machines of their own, none."""
        return list(self.begun.values()) if len(self.begun) == 1 else []

    def _saw(self, at_s: float) -> None:
        machines = self.sessions[-1].machines
        if self.steps:
            event, session = self.steps[-1].event, len(self.sessions)
            self.steps[-1] = RecordedStep(event, at_s, machines, session, was_last=True)
        else:
            self.began_s, self.machines = at_s, machines

    def record(self) -> Record:
        """All of it."""
        deaths = self.deaths + Counter(self._suspects())
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
            study, self.began_s, self.machines, tuple(self.steps), self.spent_s,
            tuple(self.prior), frozenset(deadly),
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

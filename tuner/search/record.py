"""What the lines of a journal say: the study so far, and all that its search needs to continue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tuner.search.farm import LostTrial
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
class Ended:
    """The search ended, or a session of it did; `reason` is why it failed, if it did."""

    ending: Ending
    at_s: float
    reason: str = ""


Line = Session | Began | Intent | Trial | LostTrial | Note | Ended
"""What follows the header."""


@dataclass(frozen=True)
class Record:
    """A study, and how many seconds of its budget are used.  The points of trials that were `lost`
    with their machines, and the `deadly` ones: while these were measured, it ended twice in a row.
    """

    study: Study
    spent_s: float
    lost: tuple[Changes, ...] = ()
    deadly: frozenset[Changes] = frozenset()


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
    spent_s: float = 0.0
    ending: Ending = Ending.INTERRUPTED
    reason: str = ""
    trials: list[Trial] = field(default_factory=list)
    lost: list[Changes] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    begun: dict[int, Changes] = field(default_factory=dict)
    deaths: Counter[Changes] = field(default_factory=Counter)

    def add(self, line: Line) -> None:
        match line:
            case Session():
                self.sessions.append(line)
                self.deaths.update(self._suspects())
                self.begun.clear()
                self.ending, self.reason = Ending.INTERRUPTED, ""
            case Trial():
                self.begun.pop(line.number, None)
                del self.deaths[line.changes]
                self.trials.append(line)
            case LostTrial():
                self.begun.pop(line.asked.number, None)
                self.lost.append(line.asked.changes)
            case Intent():
                self.begun[line.asked.number] = line.asked.changes
            case Note():
                self.notes.append(line)
            case Ended():
                self.ending, self.reason = line.ending, line.reason
                if line.ending is Ending.INTERRUPTED:
                    self.begun.clear()
            case Began():
                pass
        self.spent_s = max(self.spent_s, line.ended_s if isinstance(line, Trial) else line.at_s)

    def _suspects(self) -> list[Changes]:
        """The point that may have ended a session: the one under way then, ended by whatever but a
        signal to the tool; of several, on machines of their own, none."""
        return list(self.begun.values()) if len(self.begun) == 1 else []

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
        return Record(study, self.spent_s, tuple(self.lost), frozenset(deadly))

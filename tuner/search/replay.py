"""Resuming a search: the trials of its journal are taken over, those after them are measured.

A search decides by its seed, the outcomes of its trials and the time.  The time it is shown stands
still between trials, so that the journal holds all it ever saw: from the same it decides the same,
and a search that was ended continues where it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tuner.errors import JobFailed
from tuner.measure.measurement import Failure, FailureKind
from tuner.profile.model import Profile
from tuner.search.farm import Event, Farm, LostTrial, TimedFarm
from tuner.search.journal import Journal
from tuner.search.record import Record
from tuner.search.study import (
    BASELINE,
    Asked,
    Changes,
    Ending,
    Note,
    Phase,
    Session,
    Study,
    Trial,
)

_DEADLY = Failure(
    FailureKind.ENGINE_DOWN, "the search ended twice while it was measured: it is not tried again"
)
_DEADLY_TO_MACHINES = Failure(
    FailureKind.ENGINE_DOWN, "two machines were lost while it was measured: it is not tried again"
)
_MOST_LOST = 2


class Diverged(RuntimeError):
    """A resumed search asks for another trial than it did before, as after an upgrade of numpy."""


@dataclass
class Replay:
    """What a search asks for trials and for the time; everything measured goes into the journal.

    The `farm` measures and `clock` gives the seconds used, those of earlier sessions included.
    What was under way where the journal ends is begun again.  With `warms` a session that resumes
    begins with the search's own warm-up on each machine, which it does not see.
    """

    record: Record
    journal: Journal
    session: Session
    farm: Farm
    clock: Callable[[], float]
    warms: bool = True
    _taken: int = 0
    _is_live: bool = False
    _seen_s: float = 0.0
    _first: tuple[Asked, Profile] | None = None
    _phase: Phase | None = None
    _machines: tuple[str, ...] = ()
    _session_number: int = 0
    _timed: TimedFarm = field(init=False)
    _under_way: dict[int, tuple[Asked, Profile]] = field(default_factory=dict)
    _known: list[Event] = field(default_factory=list)
    _lost: Counter[Changes] = field(default_factory=Counter)
    _measured: set[Changes] = field(default_factory=lambda: {BASELINE})
    _trials: list[Trial] = field(init=False)
    _notes: list[Note] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._trials = list(self.record.study.trials)
        self._seen_s = self.record.began_s or 0.0
        self._machines = self.record.machines
        self._timed = TimedFarm(self.farm, self.clock)

    @property
    def is_taking_over(self) -> bool:
        """Whether the next trial is one of the journal."""
        return self._taken < len(self.record.steps)

    @property
    def machines(self) -> tuple[str, ...]:
        """The machines as the search saw them, of this session once nothing is left to take
        over."""
        self._be_ready()
        return self._machines

    @property
    def session_number(self) -> int:
        """The number of the session, as the search saw it."""
        self._be_ready()
        return self._session_number

    def now_s(self) -> float:
        """The time as the search sees it: when its last trial ended, or when this session was ready
        to continue from there."""
        self._be_ready()
        return self._seen_s

    def start(self, asked: Asked, profile: Profile) -> None:
        """Begin a trial on its machine; one of the journal is only remembered."""
        if self.is_taking_over:
            if self._first is None:
                self._first = asked, profile
            elif asked.changes == BASELINE:
                self._first = replace(self._first[0], repaired=asked.repaired), profile
            self._under_way[asked.number] = (asked, profile)
            self._phase = asked.phase
            return
        self._be_ready()
        self._begin(asked, profile)

    def wait(self) -> tuple[Event, ...]:
        """What ended since; raises Diverged where the journal holds another trial than was asked
        for."""
        if self.is_taking_over:
            return self._take_over()
        self._be_ready()
        events, self._known = self._known or list(self._timed.wait()), []
        for event in events:
            self._learn(event)
            self.journal.trial(event)
            if isinstance(event, Trial):
                self._trials.append(event)
        self._seen_s = max(_ended_s(event) for event in events)
        return tuple(events)

    def drop(self, machine: str) -> None:
        """Give a machine up."""
        if self._is_live:
            self._timed.drop(machine)

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
        self._under_way.clear()
        self._lost.clear()
        self._measured = {BASELINE}
        self._trials, self._notes = list(study.trials), list(study.notes)

    def require_all_taken(self) -> None:
        """Raise Diverged where the search ended before the journal does."""
        if self.is_taking_over:
            after = self.record.steps[self._taken].event.asked
            raise Diverged(f"the resumed search ends where the journal holds {after}")

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

    def _take_over(self) -> tuple[Event, ...]:
        """The next events of the journal: those of which the search learnt at once ended at the
        same time."""
        events: list[Event] = []
        for step in self.record.steps[self._taken :]:
            asked = step.event.asked
            begun = self._under_way.get(asked.number)
            if events and (begun is None or _ended_s(step.event) != _ended_s(events[0])):
                break
            if begun is None or begun[0] != asked:
                raise Diverged(self._otherwise(asked))
            del self._under_way[asked.number]
            self._learn(step.event)
            events.append(step.event)
            self._seen_s, self._machines = step.seen_s, step.machines
            self._session_number = step.session
            if step.was_last:
                break
        self._taken += len(events)
        return tuple(events)

    def _otherwise(self, held: Asked) -> str:
        """How what is under way differs from what the journal holds."""
        under_way = [asked for asked, _ in self._under_way.values()]
        alike = [asked for asked in under_way if asked.number == held.number]
        asks = (alike or under_way)[0]
        return (
            f"the resumed search asks for {asks}, {asks.plan}, where the journal holds "
            f"{held}, {held.plan}"
        )

    def _learn(self, event: Event) -> None:
        """Count the machines that a point may have cost; of one that was measured it is known that
        it costs none."""
        if isinstance(event, LostTrial):
            self._lost[event.asked.changes] += 1
        elif not isinstance(event.outcome, Failure):
            self._measured.add(event.changes)

    def _be_ready(self) -> None:
        """Begin to measure, once nothing is left to take over; what was under way then first."""
        if self._is_live or self.is_taking_over:
            return
        self._is_live = True
        self._seen_s, self._machines = self.clock(), self.farm.machines
        self._session_number = len(self.record.study.sessions) + 1
        taken_over = len(self.record.trials) + len(self.record.prior)
        self.session = replace(
            self.session, taken_over=taken_over, at_s=self._seen_s, machines=self._machines
        )
        self.journal.session(self.session)
        if self.warms and self._first is not None and self._first[0].phase is Phase.WARM_UP:
            self._warm_up(*self._first)
        again, self._under_way = list(self._under_way.values()), {}
        for asked, profile in again:
            if asked.machine in self._machines:
                self._begin(asked, profile)
            else:
                why = "its machine is not part of this session"
                self._known.append(LostTrial(asked, why, self._seen_s, is_gone=True))

    def _warm_up(self, first: Asked, profile: Profile) -> None:
        """Each machine once; raises JobFailed where none of them gets warm."""
        failures = []
        for number, machine in enumerate(self._machines, first.number):
            asked = replace(
                first, number=number, why="warm-up after resuming, not scored", machine=machine
            )
            self.journal.intent(asked, self.clock())
            self._timed.start(asked, profile, self._seen_s)
        pending = len(self._machines)
        while pending:
            events = self._timed.wait()
            pending -= len(events)
            for event in events:
                if isinstance(event, Trial):
                    self.journal.warmed(event)
                    self._trials.append(event)
                    self._seen_s = event.ended_s
                if isinstance(event, LostTrial):
                    failures.append(event.reason)
                elif isinstance(outcome := event.outcome, Failure):
                    # One that lost events made the engine warm as well, and the runs that count
                    # will show it.
                    failures += [str(outcome)] * (outcome.kind is not FailureKind.DELIVERY)
        if len(failures) == len(self._machines):
            raise JobFailed(f"the profile can no longer be measured: {failures[-1]}")

    def _begin(self, asked: Asked, profile: Profile) -> None:
        if asked.phase is not self._phase:
            self.journal.phase(asked.phase, self.clock())
            self._phase = asked.phase
        self.journal.intent(asked, self.clock())
        failure = self._failure(asked)
        if failure is None:
            self._timed.start(asked, profile, self._seen_s)
        else:
            self._known.append(Trial.of(asked, failure, self._seen_s, self._seen_s))

    def _failure(self, asked: Asked) -> Failure | None:
        """Why a point is not measured any more."""
        if asked.changes in self.record.deadly:
            return _DEADLY
        if asked.changes in self._measured or self._lost[asked.changes] < _MOST_LOST:
            return None
        return _DEADLY_TO_MACHINES


def _ended_s(event: Event) -> float:
    """When the search learnt of it."""
    return event.ended_s if isinstance(event, Trial) else event.at_s
